/* Before the first paint, so that no page flashes in the other scheme: the choice of last time, and a mark that scripts run. */
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const chosen = localStorage.getItem("stillhere.theme");
    if (chosen) root.dataset.theme = chosen;
  } catch {
    /* Storage may be forbidden; then the system's scheme holds. */
  }
})();
