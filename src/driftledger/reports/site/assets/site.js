/* What a page does beyond showing. Every page reads whole without it; nothing is loaded and nothing is kept. */
(() => {
  "use strict";
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const made = (name, text, attributes = {}) => {
    const element = document.createElement(name);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  /* A link to a unit opens it, and what it stands in. */
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let each = target.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (document.querySelector("details.unit")) reveal();

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

  /* Comparing: two runs of all, their difference, and the command that pairs them; kept in the address. */
  const choice = document.getElementById("compare-choice");
  if (choice) {
    choice.hidden = false;
    const table = document.querySelector("#compared table");
    const command = document.getElementById("compare-command");
    const [a, b] = all("select", choice);
    const runs = [...a.options].slice(1).map((option) => option.value);
    const compare = () => {
      const [left, right] = [runs.indexOf(a.value) + 1, runs.indexOf(b.value) + 1];
      const two = left > 0 && right > 0 && left !== right;
      all(".difference", table).forEach((cell) => cell.remove());
      for (const row of table.rows) {
        if (row.classList.contains("kind")) continue;
        [...row.cells].forEach((cell, place) => { cell.hidden = two && place > 0 && place !== left && place !== right; });
        if (!two) continue;
        if (row.parentElement === table.tHead) {
          row.append(made("th", "B − A", { scope: "col", class: "difference" }));
          continue;
        }
        const [x, y] = [valueOf(row, left), valueOf(row, right)];
        const digits = (row.cells[left].textContent.match(/\.(\d+)/) || ["", ""])[1].length;
        const better = row.dataset.better;
        const ends = [left, right].map((place) => row.cells[place].textContent.match(/\((-?[\d.]+)–(-?[\d.]+)\)/));
        const overlap = ends[0] && ends[1] && +ends[0][1] <= +ends[1][2] && +ends[1][1] <= +ends[0][2];
        const cell = made("td", "–", { class: "difference" });
        if (x !== null && y !== null) {
          const more = (y - x).toFixed(digits);
          cell.textContent = y > x && Number(more) ? `+${more}` : more.replace("-", "−");
          const ahead = y > x === (better === "high") ? "B is ahead" : "A is ahead";
          const told = !better || Number(more) === 0 ? "" : overlap ? "intervals overlap" : ahead;
          cell.append(made("span", ` ${told}`, { class: "more" }));
        }
        row.append(cell);
      }
      if (two) command.textContent = `driftledger compare ${a.value} ${b.value}`;
      const state = new URLSearchParams(Object.entries({ a: a.value, b: b.value }).filter(([, run]) => run));
      history.replaceState(null, "", two || a.value || b.value ? `#${state}` : location.pathname);
    };
    const read = () => {
      const state = new URLSearchParams(location.hash.slice(1));
      for (const [select, side] of [[a, "a"], [b, "b"]]) {
        select.value = runs.includes(state.get(side)) ? state.get(side) : "";
      }
      compare();
    };
    choice.addEventListener("change", compare);
    addEventListener("hashchange", read);
    if (location.hash) read();
  }

  /* A link into what is folded opens it. */
  const unfold = () => {
    const place = document.getElementById(location.hash.slice(1));
    for (let each = place; each; each = each.parentElement) {
      if (each instanceof HTMLDetailsElement) each.open = true;
    }
    place?.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();
})();
