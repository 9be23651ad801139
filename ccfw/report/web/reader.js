"use strict";

// The list of conversations: filters, pages, keys, and which one is open.
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const { setup, find, open } = conversations;
  const { el, words } = conversation;
  const PAGE = 40;
  const [list, opened, tally] = ["list", "opened", "tally"].map((id) => document.getElementById(id));
  const [back, forth, where] = ["back", "forth", "where"].map((id) => document.getElementById(id));
  let [from, rows, total, asked, chosen] = [0, [], 0, 0, null];

  const title = (name) => (name === "3h" || name === "tdq" ? name.toUpperCase() : words(name));
  const fill = (name, values, any) => {
    const select = form.elements[name];
    if (any) select.append(el("option", { value: "" }, "any"));
    for (const value of values) select.append(el("option", { value }, name === "ended" ? words(value).toLowerCase() : name === "score" ? title(value) : value));
  };
  for (const [name, values] of Object.entries(setup.known)) fill(name, values, true);
  fill("score", setup.scores, false);

  const filter = () => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));

  const mark = (row, name) => {
    const score = row.scores[setup.scores.indexOf(name)];
    return el("span", { class: "score" }, `${title(name)} ${score === null ? "–" : score.toFixed(2)}`);
  };

  const line = (row) => {
    const by = form.elements.score.value;
    const button = el("button", { type: "button", "data-n": row.n, "aria-current": row.n === chosen ? "true" : null },
      el("span", { class: "name" }, row.identity),
      el("span", { class: "score-pair" }, mark(row, "3h"), by === "3h" ? null : mark(row, by)),
      el("span", { class: "what" }, `${row.model} · ${row.language} · ${row.tier}`),
      el("span", { class: "flags" },
        row.clean === 0 ? el("span", { class: "flag bad" }, "✗ not clean") : null,
        row.faults.length ? el("span", { class: "flag warn", title: row.faults.join(", ") }, `⚠ ${row.faults.length}`) : null));
    button.addEventListener("click", () => choose(row, true));
    return el("li", {}, button);
  };

  const draw = (searched) => {
    list.replaceChildren(...rows.map(line));
    const count = (number) => number.toLocaleString("en");
    tally.textContent = `${count(total)} of ${count(setup.count)} conversations${searched ? `; ${searched}` : ""}`;
    where.textContent = total ? `${count(from + 1)}–${count(Math.min(from + PAGE, total))}` : "";
    back.disabled = from === 0;
    forth.disabled = from + PAGE >= total;
  };

  const ask = async (start) => {
    const mine = ++asked;
    const told = (done, of) => (tally.textContent = `searched ${done.toLocaleString("en")} of ${of.toLocaleString("en")} …`);
    list.setAttribute("aria-busy", "true");
    try {
      const found = await find(filter(), start, PAGE, () => mine === asked, told);
      if (mine !== asked || found === null) return;
      [from, rows, total] = [start, found.rows, found.total];
      draw(found.searched);
      list.scrollTop = 0;
    } catch (error) {
      if (mine === asked) tally.textContent = `The list could not be had: ${error.message}`;
    } finally {
      if (mine === asked) list.removeAttribute("aria-busy");
    }
  };

  const choose = async (row, look) => {
    chosen = row.n;
    for (const each of list.querySelectorAll("button")) {
      if (Number(each.dataset.n) === chosen) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
    const tab = opened.querySelector('[role="tab"][aria-selected="true"]')?.dataset.name ?? "judged";
    try {
      const found = await open(row.n);
      if (chosen !== row.n) return;
      conversation.show(opened, setup.scores, row, found, tab);
      opened.scrollTop = 0;
      history.replaceState(null, "", `#n=${row.n}`);
      if (look && matchMedia("(max-width: 899px)").matches) {
        opened.scrollIntoView({ block: "start" });
        opened.focus({ preventScroll: true });
      }
    } catch (error) {
      conversation.failed(opened, `The conversation could not be had: ${error.message}`);
    }
  };

  const step = async (way) => {
    let place = rows.findIndex((row) => row.n === chosen) + way;
    if (place >= rows.length && from + PAGE < total) {
      await ask(from + PAGE);
      place = 0;
    } else if (place < 0 && from > 0) {
      await ask(from - PAGE);
      place = rows.length - 1;
    }
    const row = rows[Math.max(0, Math.min(place, rows.length - 1))];
    if (!row) return;
    const button = list.querySelector(`[data-n="${row.n}"]`);
    button.focus({ preventScroll: true });
    button.scrollIntoView({ block: "nearest" });
    await choose(row, false);
  };

  list.addEventListener("keydown", (event) => {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    step(way);
  });
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea");
    const way = { j: 1, k: -1 }[event.key];
    if (way && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) step(way);
  });

  let waiting = 0;
  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => ask(0), 200);
  };
  form.addEventListener("input", (event) => (event.target.type === "search" || event.target.type === "number" ? later() : ask(0)));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => ask(0)));
  back.addEventListener("click", () => ask(Math.max(0, from - PAGE)));
  forth.addEventListener("click", () => ask(from + PAGE));

  const begin = async () => {
    form.hidden = false;
    document.getElementById("desk").hidden = false;
    await ask(0);
    const linked = /^#n=(\d+)$/.exec(location.hash);
    if (linked) {
      const place = Number(linked[1]);
      await ask(Math.floor(Math.min(place, setup.count - 1) / PAGE) * PAGE);
      const row = rows.find((each) => each.n === place);
      if (row) {
        await choose(row, false);
        document.getElementById("conversations").scrollIntoView();
      }
    } else if (rows.length) await choose(rows[0], false);
  };
  begin();
})();
