/* What a page does beyond showing: every page reads whole without it. */
(() => {
  "use strict";

  // The arrows lead to the unit before and after, but where they scroll what has the focus.
  document.addEventListener("keydown", (event) => {
    const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const at = document.activeElement;
    if (!rel || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    if (at && (at.matches("input, select, textarea") || at.scrollWidth > at.clientWidth && at !== document.body)) return;
    const link = document.querySelector(`.walk a[rel="${rel}"]`);
    if (link) link.click();
  });
})();
