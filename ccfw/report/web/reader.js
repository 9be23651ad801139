"use strict";

// The list of dialogues: filters, pages, keys, and which one is open. The address holds filters and the open one.
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const { setup, find, open } = conversations;
  const { el, show, failed } = conversation;
  const PAGE = 40;
  const [MOST, LEAST] = [5, 1];
  const [list, opened, tally, notice] = ["list", "opened", "tally", "notice"].map((id) => document.getElementById(id));
  const [back, forth, where] = ["back", "forth", "where"].map((id) => document.getElementById(id));
  const names = [...new Set([...form.elements].map((each) => each.name).filter(Boolean))];
  let [from, rows, total, asked, chosen] = [0, [], 0, 0, null];
  let [asking, opening] = [new AbortController(), new AbortController()];

  const count = (number) => number.toLocaleString("en");
  const dialogues = (number) => (number === 1 ? "1 dialogue" : `${count(number)} dialogues`);
  const fill = (name, values, titles) => form.elements[name].append(...values.map((value) => el("option", { value }, titles?.[value] ?? value)));
  for (const [name, values] of Object.entries(setup.known)) {
    fill(name, [""], { "": "any" });
    fill(name, values);
  }
  fill("score", setup.scores, setup.titles);

  const filter = () => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
  const initial = filter();

  const mark = (row, name) => {
    const score = row.scores[setup.scores.indexOf(name)];
    return el("span", { class: "score" }, `${setup.titles[name]} ${score === null ? "–" : score.toFixed(2)}`);
  };

  const line = (row) => {
    const by = form.elements.score.value;
    const button = el("button", { type: "button", "data-n": row.n, "aria-current": row.n === chosen ? "true" : null },
      el("span", { class: "name" }, row.identity),
      el("span", { class: "score-pair" }, mark(row, "3h"), by === "3h" ? null : mark(row, by)),
      el("span", { class: "what" }, `${row.model} · ${row.language} · ${row.tier}`),
      row.clean === 0 ? el("span", { class: "flag bad" }, "✗ not clean") : null,
      row.faults.length ? el("span", { class: "flag warn" }, `⚠ ${row.faults.join("; ")}`) : null);
    button.addEventListener("click", () => choose(row, true));
    return el("li", {}, button);
  };

  const draw = (searched) => {
    list.replaceChildren(...rows.map(line));
    tally.textContent = `${count(total)} of ${dialogues(setup.count)}${searched ? `; ${searched}` : ""}`;
    where.textContent = total ? `${count(from + 1)}–${count(Math.min(from + PAGE, total))}` : "";
    back.disabled = from === 0;
    forth.disabled = from + PAGE >= total;
  };

  // Why nothing is found, where the filter itself is why.
  const why = ({ least, most }) => {
    if (least !== "" && most !== "" && Number(least) > Number(most)) return `No score is at least ${least} and at most ${most}: put the smaller number first.`;
    if (Number(least) > MOST || (most !== "" && Number(most) < LEAST)) return `Scores are from ${LEAST} to ${MOST}.`;
    return "No dialogue meets all of these filters.";
  };
  const nothing = () => {
    chosen = null;
    opening.abort();
    delete opened.dataset.episode;
    const clear = el("button", { type: "button" }, "Clear the filters");
    clear.addEventListener("click", () => form.reset());
    opened.replaceChildren(el("p", { class: "nothing" }, why(filter())), clear);
  };
  const say = (text) => {
    notice.textContent = text;
    notice.hidden = !text;
  };
  const unread = () => ["least", "most"].filter((name) => form.elements[name].validity.badInput);

  const remember = () => {
    const kept = new URLSearchParams(Object.entries(filter()).filter(([name, value]) => value !== initial[name]));
    if (chosen !== null) kept.set("n", chosen);
    const address = kept.toString();
    history.replaceState(null, "", address ? `#${address}` : location.pathname + location.search);
  };

  const ask = async (start, at = null) => {
    const mine = ++asked;
    const told = (done, of) => (tally.textContent = `searched ${count(done)} of ${count(of)} …`);
    asking.abort();
    asking = new AbortController();
    list.setAttribute("aria-busy", "true");
    try {
      const found = await find(filter(), start, PAGE, { at, signal: asking.signal, told });
      if (mine !== asked || found === null) return null;
      [from, rows, total] = [start, found.rows, found.total];
      draw(found.searched);
      list.scrollTop = 0;
      return found;
    } catch (error) {
      if (mine === asked) tally.textContent = `The list could not be had: ${error.message}`;
      return null;
    } finally {
      if (mine === asked) list.removeAttribute("aria-busy");
    }
  };

  // A filter was changed: what is open stays open if it is still among what is listed, on whatever page.
  const filtered = async () => {
    say(unread().length ? "What stands at “from” or “to” is no number, and is left out." : "");
    const found = await ask(0, chosen);
    if (found === null) return;
    if (!rows.length) nothing();
    else if (found.at === null) await choose(rows[0], false);
    remember();
  };

  const choose = async (row, look) => {
    chosen = row.n;
    for (const each of list.querySelectorAll("button")) {
      if (Number(each.dataset.n) === chosen) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
    const tab = opened.querySelector('[role="tab"][aria-selected="true"]')?.dataset.name ?? "judged";
    opening.abort();
    opening = new AbortController();
    try {
      const found = await open(row.n, opening.signal);
      if (chosen !== row.n) return;
      show(opened, setup, row, found, tab);
      opened.scrollTop = 0;
      remember();
      if (look && matchMedia("(max-width: 899px)").matches) {
        opened.scrollIntoView({ block: "start" });
        opened.focus({ preventScroll: true });
      }
    } catch (error) {
      if (chosen === row.n && error.name !== "AbortError") failed(opened, `The dialogue could not be had: ${error.message}`);
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
    waiting = setTimeout(filtered, 200);
  };
  form.addEventListener("input", (event) => (event.target.type === "search" || event.target.type === "number" ? later() : filtered()));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filtered));
  back.addEventListener("click", () => ask(Math.max(0, from - PAGE)));
  forth.addEventListener("click", () => ask(from + PAGE));

  // Fill the form in as the address says, and return what of it there is not.
  const restored = (given) => {
    const foreign = [];
    for (const name of names) {
      const field = form.elements[name];
      field.value = given.get(name) ?? initial[name];
      if (field.value !== (given.get(name) ?? initial[name])) {
        foreign.push(`${name} “${given.get(name)}”`);
        field.value = initial[name];
      }
    }
    return foreign;
  };

  const HASH = /^#[a-z]+=/;
  const follow = async () => {
    const given = new URLSearchParams(HASH.test(location.hash) ? location.hash.slice(1) : "");
    const foreign = restored(given);
    const wanted = /^\d{1,9}$/.test(given.get("n") ?? "") ? Number(given.get("n")) : null;
    const there = wanted !== null && wanted < setup.count;
    if (given.has("n") && !there) foreign.push(`dialogue ${given.get("n")} (they are numbered from 0 to ${setup.count - 1})`);
    let found = await ask(0, there ? wanted : null);
    if (found === null) return;
    const at = found.at ?? 0;
    if (at >= PAGE) found = await ask(Math.floor(at / PAGE) * PAGE, wanted);
    if (found === null) return;
    if (there && found.at === null) foreign.push(`dialogue ${wanted} among those that meet the filters`);
    say(foreign.length ? `The address asks for what is not here: ${foreign.join(", ")}.` : "");
    const row = rows.find((each) => each.n === wanted) ?? rows[0];
    if (row) await choose(row, false);
    else nothing();
    remember();
    if ([...given].length) document.getElementById("conversations").scrollIntoView();
  };
  addEventListener("hashchange", () => HASH.test(location.hash) && follow());

  form.hidden = false;
  document.getElementById("desk").hidden = false;
  follow();
})();
