"use strict";

// Tables sort by a click on a column's head, within each part that a break sets off.
(() => {
  const FIGURE = /^<?[-−+]?\d[\d,]*(?:\.\d+)?\s*%?(?=$|\s+of\s)/;

  // A cell is sorted by the number that it was written from; without one, by the number that it shows, if it is one.
  const number = (cell) => {
    if (cell.dataset.key !== undefined) return cell.dataset.key === "" ? NaN : Number(cell.dataset.key);
    const found = FIGURE.exec(cell.textContent.replace(/\s*[[(].*$/s, "").trim());
    return found ? Number(found[0].replace("−", "-").replace(/[<%,\s]/g, "")) : NaN;
  };
  const said = (cell) => cell.textContent.trim();

  const compared = (a, b) => {
    const [x, y] = [number(a), number(b)];
    return Number.isNaN(x) && Number.isNaN(y) ? said(a).localeCompare(said(b), "en", { numeric: true }) : x - y;
  };

  const sort = (table, column, numeric, sign) => {
    const missing = (cell) => numeric && Number.isNaN(number(cell));
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("break"));
      rows.sort((one, other) => {
        const [a, b] = [one.cells[column], other.cells[column]];
        if (missing(a) !== missing(b)) return missing(a) - missing(b);
        return numeric ? sign * compared(a, b) : sign * said(a).localeCompare(said(b), "en", { numeric: true });
      });
      body.append(...rows);
    }
  };

  const OTHER = { ascending: "descending", descending: "ascending" };
  for (const table of document.querySelectorAll("table.grid:not(.plain)")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.firstElementChild.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const now = before === head.dataset.first ? OTHER[before] : head.dataset.first;
        heads.forEach((each) => each.setAttribute("aria-sort", each === head ? now : "none"));
        sort(table, column, head.classList.contains("number"), now === "ascending" ? 1 : -1);
      });
    });
  }

  // Whatever is wider than its frame says so, as a bar to scroll by may be hidden until somebody scrolls.
  const SLACK = 2;
  const mark = (inner) => {
    const hidden = inner.scrollWidth - inner.clientWidth;
    const { classList } = inner.parentElement;
    classList.toggle("wide", hidden > SLACK);
    classList.toggle("right", hidden - inner.scrollLeft > SLACK);
    classList.toggle("left", inner.scrollLeft > SLACK);
  };
  const resized = new ResizeObserver((entries) => entries.forEach((each) => mark(each.target)));
  for (const inner of document.querySelectorAll(".scroller > .frame, .scroller > .paper")) {
    inner.addEventListener("scroll", () => mark(inner), { passive: true });
    resized.observe(inner);
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
