/* The left and right arrows lead to the unit before and after, but where they scroll what has the focus. */
addEventListener("keydown", (event) => {
  const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  const at = document.activeElement;
  if (!rel || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
  if (at && at !== document.body && (at.matches("input, select, textarea") || at.scrollWidth > at.clientWidth)) return;
  document.querySelector(`.walk a[rel="${rel}"]`)?.click();
});
