// Before anything is drawn: the theme that was chosen on this machine, so that no page flashes in another one.
(() => {
  "use strict";
  let chosen = null;
  try { chosen = localStorage.getItem("serin-theme"); } catch { /* Storage may be off. */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
