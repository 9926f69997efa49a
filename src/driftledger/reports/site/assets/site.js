/* What a page does beyond showing. Every page reads whole without it; nothing is loaded and nothing is kept. */
(() => {
  "use strict";
<<<<<<< HEAD

  // The arrows lead to the unit before and after, but where they scroll what has the focus.
  document.addEventListener("keydown", (event) => {
    const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const at = document.activeElement;
    if (!rel || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    if (at && (at.matches("input, select, textarea") || at.scrollWidth > at.clientWidth && at !== document.body)) return;
    const link = document.querySelector(`.walk a[rel="${rel}"]`);
    if (link) link.click();
  });
=======
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const made = (name, text, attributes = {}) => {
    const element = document.createElement(name);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  /* Sorting: a button in each head. Rows stay among those of their kind; what has no number comes last. */
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    const number = parseFloat(cell.dataset.value);
    return Number.isNaN(number) ? null : number;
  };
  const sortBy = (table, column, ascending) => {
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("kind"));
      rows.sort((a, b) => {
        if (column === 0) {
          const order = a.cells[0].textContent.localeCompare(b.cells[0].textContent, "en");
          return ascending ? order : -order;
        }
        const [x, y] = [valueOf(a, column), valueOf(b, column)];
        if (x === null || y === null) return (x === null) - (y === null);
        return ascending ? x - y : y - x;
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
      const button = made("button", "", { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const low = head.textContent.includes("lower is better") || column === 0;
        sortBy(table, column, now ? now === "descending" : low);
      });
    });
  }

  /* Filtering rows by their names. */
  for (const field of all("input[data-filters]")) {
    field.closest(".tools").hidden = false;
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      for (const row of all(`[id="${field.dataset.filters}"] tbody tr:not(.kind)`)) {
        row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
      }
    });
  }

  /* Copying a table: a button per format in the place of the fields to copy from. */
  for (const copies of all("details.copies")) {
    const bar = made("p", "", { class: "copying" });
    bar.append("Copy as ");
    for (const label of all("label", copies)) {
      const field = label.querySelector("textarea");
      const name = label.firstChild.textContent.trim();
      const button = made("button", name, { type: "button" });
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(field.value);
          button.textContent = `${name} copied`;
        } catch {
          copies.hidden = false;
          copies.open = true;
          field.focus();
          field.select();
          button.textContent = `${name} selected: press Ctrl+C`;
        }
        setTimeout(() => { button.textContent = name; }, 2500);
      });
      bar.append(button);
    }
    copies.before(bar);
    copies.hidden = true;
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

  /* A link into what is folded opens it. */
  const unfold = () => {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let each = place; each; each = each.parentElement) {
      if (each instanceof HTMLDetailsElement) each.open = true;
    }
    place?.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();
>>>>>>> site
})();
