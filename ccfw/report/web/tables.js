"use strict";

// Tables sort by a click on a column's head, within each part that a break sets off.
(() => {
  const NUMBER = /[-−+]?\d[\d,]*(?:\.\d+)?/;

  const number = (text) => {
    const found = NUMBER.exec(text);
    return found ? Number(found[0].replace("−", "-").replaceAll(",", "")) : NaN;
  };

  const compared = (a, b, numeric) => {
    if (!numeric) return a.localeCompare(b);
    const [x, y] = [number(a), number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? Number.isNaN(x) - Number.isNaN(y) : x - y;
  };

  const sort = (table, column, numeric, sign) => {
    const missing = (text) => numeric && Number.isNaN(number(text));
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("break"));
      const text = (row) => row.cells[column].textContent.trim();
      rows.sort((a, b) => {
        const way = missing(text(a)) || missing(text(b)) ? 1 : sign;
        return way * compared(text(a), text(b), numeric);
      });
      body.append(...rows);
    }
  };

  for (const table of document.querySelectorAll("table.grid:not(.plain)")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const numeric = head.classList.contains("number");
      head.firstElementChild.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const first = numeric ? "descending" : "ascending";
        const other = numeric ? "ascending" : "descending";
        const now = before === first ? other : first;
        heads.forEach((each) => each.setAttribute("aria-sort", each === head ? now : "none"));
        sort(table, column, numeric, now === "ascending" ? 1 : -1);
      });
    });
  }

  const opened = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const fold = target && target.closest("details");
    if (!fold) return;
    fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", opened);
  opened();

  const folded = [];
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details.table:not([open])")) {
      folded.push(fold);
      fold.open = true;
    }
  });
  addEventListener("afterprint", () => folded.splice(0).forEach((fold) => (fold.open = false)));
})();
