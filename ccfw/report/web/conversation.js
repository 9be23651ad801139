"use strict";

// One dialogue with what stands beside it. Whatever was said or stored is put in place as text, never as markup.
const conversation = (() => {
  const el = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === true) made.setAttribute(key, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  };
  const spoken = (text, lang) => el("div", { class: "said", dir: "auto", lang: lang || null }, text || "(nothing)");
  const prose = (text) => el("p", { class: "prose", dir: "auto" }, text);
  const words = (name) => name.replaceAll("_", " ");

  const value = (texts, given) =>
    Array.isArray(given)
      ? el("ul", {}, ...given.map((each) => el("li", { dir: "auto" }, texts[each])))
      : prose(texts[given]);
  const fields = (texts, pairs) =>
    el("dl", { class: "fields" }, ...pairs.flatMap(([name, given]) => [el("dt", {}, texts[name]), el("dd", {}, value(texts, given))]));

  const OUTCOMES = { CLEARED: ["✓", "cleared"], OPEN: ["○", "open"], NOT_REACHED: ["–", "not reached"] };
  const DECISIONS = { ADVANCE_NEXT: "satisfied, moves on", CONTINUE_CURRENT: "not satisfied, stays on this shard" };

  const chat = (texts, episode, look) => {
    const phases = new Map(episode.plan.map((shard) => [shard.shard, shard]));
    const lines = [];
    let shard = null;
    episode.turns.forEach((turn, number) => {
      if (turn.shard !== shard) {
        shard = turn.shard;
        const phase = phases.get(shard)?.phase;
        lines.push(el("li", { class: "phase" }, el("span", {}, `Shard ${shard}${phase == null ? "" : `: ${texts[phase]}`}`)));
      }
      lines.push(
        el("li", { class: "bubble user" },
          el("span", { class: "who" }, `User ${number + 1}`),
          spoken(texts[turn.user], episode.lang),
          turn.faults.length ? el("p", { class: "fault" }, `⚠ ${turn.faults.map((each) => words(texts[each])).join(", ")}`) : null),
        el("li", { class: "bubble assistant" },
          el("span", { class: "who" }, `Assistant ${number + 1}`),
          spoken(texts[turn.assistant], episode.lang)),
      );
      const button = el("button", { type: "button", class: "quiet look", "data-turn": number, "aria-pressed": "false" }, "who saw what here");
      button.addEventListener("click", () => look(number));
      lines.push(el("li", { class: "verdict" }, el("span", {}, turn.decision ? `User: ${DECISIONS[turn.decision]}` : "User: was not asked"), button));
    });
    if (!lines.length) lines.push(el("li", { class: "phase" }, el("span", {}, "Nothing was said")));
    return el("ol", { class: "chat", "aria-label": "What was said" }, ...lines);
  };

  const named = (texts, title, given) =>
    given.length ? el("div", { class: "named" }, el("h5", {}, title), value(texts, given)) : null;

  const judged = (texts, episode) => {
    if (!episode.judged.length) return [el("p", { class: "note" }, "Not judged.")];
    const judges = [...new Set(episode.judged.map((each) => texts[each.judge]))];
    const by = (each) => [judges.length > 1 ? `by ${texts[each.judge]}` : "", each.tries > 1 ? `${each.tries} tries` : ""].filter(Boolean).join(", ");
    return [el("p", { class: "note" }, `Judged by ${judges.join(", ")}.`), ...episode.judged.map((each) =>
      el("section", { class: "judgement" },
        el("h4", {},
          el("span", { class: `mark s${each.score ?? 0}` }, each.score ?? "–"),
          ` ${each.metric} `,
          el("span", { class: "by" }, by(each))),
        each.failure === null ? null : el("p", { class: "fault" }, `No score: ${texts[each.failure]}`),
        texts[each.reasoning] ? prose(texts[each.reasoning]) : null,
        named(texts, "Tripwires triggered", each.tripwires),
        named(texts, "Taboos broken", each.taboos),
        each.details.length ? el("details", {}, el("summary", {}, "The rest of its reply"), fields(texts, each.details)) : null))];
  };

  const plan = (texts, episode) =>
    episode.plan.map((shard) => {
      const [sign, word] = OUTCOMES[shard.outcome];
      const turns = shard.turns ? `, ${shard.turns} ${shard.turns === 1 ? "turn" : "turns"}` : "";
      return el("section", { class: `shard ${shard.outcome.toLowerCase()}` },
        el("h4", {}, `${shard.shard}. ${shard.phase === null ? "" : texts[shard.phase]} `, el("span", { class: "outcome" }, `${sign} ${word}${turns}`)),
        shard.fields.length ? fields(texts, shard.fields) : el("p", { class: "note" }, "The dataset no longer has this scenario as it was."));
    });

  const seen = (texts, episode, number) => {
    const turn = episode.turns[number];
    const views = episode.seen[number];
    if (!views) return [el("p", { class: "note" }, episode.turns.length ? "The dataset no longer has this scenario as it was." : "Nothing was said.")];
    const chosen = el("p", { class: "note" }, `Turn ${number + 1} of ${episode.turns.length}; choose another under its bubbles.`);
    const role = (title, text, pairs) =>
      el("section", { class: "role" }, el("h4", {}, title), el("p", { class: "note" }, text), pairs.length ? fields(texts, pairs) : null);
    return [
      chosen,
      role("Assistant", `The chat up to the user’s message ${number + 1} (${views.lines} ${views.lines === 1 ? "line" : "lines"}), ${views.assistant.length ? "and" : "and nothing else."}`, views.assistant),
      role("Simulated user", `The chat up to the assistant’s answer ${number + 1} (${views.lines + 1} lines), and`, views.simulator),
      texts[turn.thinking] ? el("section", { class: "role" }, el("h4", {}, "What it thought"), prose(texts[turn.thinking])) : null,
      el("h4", { class: "apart" }, "Judge, afterwards"),
      ...episode.judge_saw.map((view) =>
        el("details", {}, el("summary", {}, view.metric),
          view.conversation ? el("p", { class: "note" }, "The whole dialogue, and") : null,
          view.fields.length ? fields(texts, view.fields) : el("p", { class: "note" }, "nothing else."))),
    ];
  };

  const about = (texts, episode) => [
    fields(texts, episode.about),
    el("h4", {}, "Faults of the user’s messages"),
    episode.turns.some((turn) => turn.faults.length)
      ? el("ul", {}, ...episode.turns.flatMap((turn, number) => turn.faults.map((each) => el("li", {}, `User ${number + 1}: ${words(texts[each])}`))))
      : el("p", { class: "note" }, "None was found."),
  ];

  const tabs = (panels, start) => {
    const bar = el("div", { class: "tabs", role: "tablist", "aria-label": "Beside the dialogue" });
    const bodies = [];
    const show = (name, focus = false) => {
      for (const tab of bar.children) {
        const on = tab.dataset.name === name;
        tab.setAttribute("aria-selected", on);
        tab.tabIndex = on ? 0 : -1;
        if (on && focus) tab.focus();
      }
      for (const body of bodies) body.hidden = body.dataset.name !== name;
    };
    for (const [name, title, children] of panels) {
      const tab = el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, "data-name": name }, title);
      tab.addEventListener("click", () => show(name));
      bar.append(tab);
      bodies.push(el("div", { class: "panel", role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, "data-name": name, tabindex: 0 }, ...children));
    }
    bar.addEventListener("keydown", (event) => {
      const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!way) return;
      event.preventDefault();
      const all = [...bar.children];
      const next = (all.indexOf(document.activeElement) + way + all.length) % all.length;
      show(all[next].dataset.name, true);
    });
    show(start);
    return { box: el("aside", { class: "beside", "aria-label": "Beside the dialogue" }, bar, ...bodies), show };
  };

  const head = (row) =>
    el("header", { class: "head" },
      el("h3", {}, `${row.identity} `, el("span", { class: "by" }, `${row.language}, ${row.tier}`)),
      el("p", { class: "facts-line" },
        el("span", {}, row.model),
        el("span", { class: `flag${{ 1: "", 0: " bad" }[row.clean] ?? " unknown"}` }, { 1: "✓ clean", 0: "✗ not clean" }[row.clean] ?? "– not known whether clean"),
        el("span", {}, `ended: ${row.ended}`),
        el("span", {}, `${row.turns} ${row.turns === 1 ? "turn" : "turns"}`)));

  const scores = ({ scores: names, titles }, row) =>
    el("dl", { class: "scores" }, ...names.map((name, place) =>
      el("div", {}, el("dt", {}, titles[name]), el("dd", {}, row.scores[place] === null ? "–" : row.scores[place].toFixed(2)))));

  const show = (place, setup, row, { texts, episode }, tab) => {
    let panel = null;
    const look = (number) => {
      for (const each of place.querySelectorAll(".look")) each.setAttribute("aria-pressed", Number(each.dataset.turn) === number);
      const body = place.querySelector("#panel-seen");
      body.replaceChildren(...seen(texts, episode, number).filter((child) => child !== null));
      panel.show("seen");
      body.scrollTop = 0;
      if (matchMedia("(max-width: 899px)").matches) panel.box.scrollIntoView({ block: "start" });
    };
    panel = tabs(
      [
        ["judged", "Judgement", judged(texts, episode)],
        ["plan", "Plan", plan(texts, episode)],
        ["seen", "Who saw what", seen(texts, episode, 0)],
        ["about", "About", about(texts, episode)],
      ].map(([name, title, children]) => [name, title, children.filter((child) => child !== null)]),
      tab);
    place.replaceChildren(head(row), scores(setup, row), el("div", { class: "pair" }, chat(texts, episode, look), panel.box));
    place.dataset.episode = row.id;
  };

  const failed = (place, reason) => place.replaceChildren(el("p", { class: "fault" }, reason));
  return { el, show, failed };
})();
