/* What a page does beyond showing. Every page reads whole without it; nothing is loaded and nothing is kept. */
(() => {
  "use strict";
  const all = (what, where = document) => [...where.querySelectorAll(what)];

  /* A link into what is folded opens it. */
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let each = target; each; each = each.parentElement) {
      if (each instanceof HTMLDetailsElement) each.open = true;
    }
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();

  /* Sorting: a button in each head. Rows stay among those of their kind; what has no number comes last. */
  const sortBy = (table, column, ascending) => {
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("kind"));
      rows.sort((a, b) => {
        const [x, y] = [a, b].map((row) => (column ? parseFloat(row.cells[column].dataset.value) : row.cells[0].textContent));
        const order = column ? x - y : x.localeCompare(y, "en");
        if (column && (Number.isNaN(x) || Number.isNaN(y))) return Number.isNaN(x) - Number.isNaN(y);
        return ascending ? order : -order;
      });
      body.append(...rows);
    }
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      if (place === column) head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  };
  for (const table of all("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        sortBy(table, column, now ? now === "descending" : column === 0 || head.textContent.includes("lower is better"));
      });
    });
  }

  /* A table that is wider than its place shows that it scrolls. */
  for (const box of all(".scroll")) {
    const mark = () => {
      box.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
    };
    box.addEventListener("scroll", mark, { passive: true });
    addEventListener("resize", mark);
    mark();
  }

  /* A click on a command copies it. */
  for (const command of all("code.command")) {
    command.title = "Click to copy";
    command.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command.textContent);
        command.classList.add("copied");
        setTimeout(() => command.classList.remove("copied"), 1500);
      } catch { /* it can be marked by hand */ }
    });
  }
})();
