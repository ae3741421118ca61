/* The page of the API is Swagger's, which has its own class for dark. Runs before the first paint, after `theme.js`. */
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const show = () => {
    root.style.colorScheme = root.dataset.theme ?? (system.matches ? "dark" : "light");
    root.classList.toggle("dark-mode", root.style.colorScheme === "dark");
  };
  system.addEventListener("change", show);
  show();
})();
