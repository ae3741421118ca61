/**
 * `/` search, `j` and `k` move through lists, `g p` projects, `u` to the Undo of what was just done, `?` what there is.
 * Enter opens by itself: the rows' titles are links.
 */

const WRITING = "input, textarea, select, [contenteditable]";
let before = "";

function move(step) {
  const titles = [...document.querySelectorAll("main .list .title")];
  if (!titles.length) return;
  const at = titles.indexOf(document.activeElement);
  const next = titles[Math.min(titles.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

const ACTS = {
  "/": () => document.getElementById("search")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  gp: () => document.querySelector(".brand").click(),
  u: () => document.querySelector("[role=status] button:not([hidden])")?.focus(),
  "?": () => document.getElementById("shortcuts")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(WRITING)) return;
  const act = ACTS[before + event.key] ?? ACTS[event.key];
  before = event.key === "g" ? "g" : "";
  if (act) {
    event.preventDefault();
    act();
  }
});
