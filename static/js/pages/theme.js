/* Runs before the first paint, so that no page flashes in the other scheme: applies the last choice and marks that scripts run. */
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const chosen = localStorage.getItem("stillhere.theme");
    if (chosen) root.dataset.theme = chosen;
  } catch {
    /* Storage may be blocked; then the system's scheme applies. */
  }
})();
