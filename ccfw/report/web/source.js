"use strict";

// Where dialogues come from: out of the page, or from its server. Both answer
//   find(filter, from, count, {at, signal, told}) → {total, rows, searched, at}   and   open(n, signal) → {texts, episode}.
// A question that is no longer asked is given up at its signal; at is the place of one dialogue among those found.
const conversations = (() => {
  const holder = document.getElementById("setup");
  const setup = JSON.parse(holder.textContent);
  const slice = 25;
  const breath = () => new Promise((done) => setTimeout(done));

  const served = () => ({
    async find(filter, from, count, { at, signal }) {
      const query = new URLSearchParams({ from, count });
      for (const [name, value] of Object.entries(filter)) if (value !== "") query.set(name, value);
      if (at !== null) query.set("at", at);
      return fetched(`episodes?${query}`, signal);
    },
    async open(n, signal) {
      const { texts, episodes } = await fetched(`episodes/${n}`, signal);
      return { texts, episode: episodes[0] };
    },
  });

  const fetched = async (path, signal) => {
    const answer = await fetch(path, { signal });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  };

  const embedded = () => {
    const { columns, scores, per_chunk: size, count } = setup;
    const chunks = document.querySelectorAll("script.chunk");
    const parsed = new Map();
    let last = { key: null, places: null };

    const chunk = (number) => {
      if (!parsed.has(number)) {
        if (parsed.size >= 8) parsed.delete(parsed.keys().next().value);
        parsed.set(number, JSON.parse(chunks[number].textContent));
      }
      return parsed.get(number);
    };

    const row = (n) => {
      const found = { n, id: columns.episodes[n], turns: columns.turns[n], clean: columns.clean[n] };
      for (const [name, facet] of Object.entries(columns.facets)) found[name] = facet.values[facet.codes[n]];
      found.scores = columns.scores.map((column) => column[n]);
      found.faults = columns.faults[n].map((place) => columns.fault_values[place]);
      return found;
    };

    const tests = (filter) => {
      const found = [];
      for (const [name, { values, codes }] of Object.entries(columns.facets)) {
        if (filter[name]) {
          const code = values.indexOf(filter[name]);
          found.push((n) => codes[n] === code);
        }
      }
      if (filter.fault) {
        const place = columns.fault_values.indexOf(filter.fault);
        found.push((n) => columns.faults[n].includes(place));
      }
      if (filter.clean) {
        const flag = { yes: 1, no: 0, unknown: null }[filter.clean];
        found.push((n) => columns.clean[n] === flag);
      }
      const score = columns.scores[scores.indexOf(filter.score)];
      if (filter.least !== "") found.push((n) => score[n] !== null && score[n] >= Number(filter.least));
      if (filter.most !== "") found.push((n) => score[n] !== null && score[n] <= Number(filter.most));
      return found;
    };

    const ordered = (places, filter) => {
      const sign = { listed: 0, lowest: 1, highest: -1 }[filter.order];
      const score = columns.scores[scores.indexOf(filter.score)];
      const key = (n) => (score[n] === null ? Infinity : sign * score[n]);
      return sign ? places.sort((a, b) => (key(a) === key(b) ? a - b : key(a) < key(b) ? -1 : 1)) : places;
    };

    const said = (needle, places, number) => {
      const { texts, episodes } = chunk(number);
      const hits = new Set();
      texts.forEach((text, place) => text.toLowerCase().includes(needle) && hits.add(place));
      if (!hits.size) return [];
      return places.filter((n) => {
        const { turns } = episodes[n - number * size];
        return turns.some((turn) => hits.has(turn.user) || hits.has(turn.assistant));
      });
    };

    const holding = async (needle, places, signal, told) => {
      const parts = new Map();
      for (const n of places) {
        const number = Math.floor(n / size);
        parts.set(number, [...(parts.get(number) ?? []), n]);
      }
      const found = [];
      let [since, done] = [performance.now(), 0];
      for (const [number, part] of [...parts].sort(([a], [b]) => a - b)) {
        found.push(...said(needle, part, number));
        done += part.length;
        if (performance.now() - since > slice) {
          told(done, places.length);
          await breath();
          if (signal.aborted) return null;
          since = performance.now();
        }
      }
      return found;
    };

    return {
      async find(filter, from, amount, { at, signal, told }) {
        const key = JSON.stringify(filter);
        if (last.key !== key) {
          const all = tests(filter);
          let places = [...Array(count).keys()].filter((n) => all.every((test) => test(n)));
          if (filter.text) places = await holding(filter.text.toLowerCase(), places, signal, told);
          if (places === null) return null;
          last = { key, places: ordered(places, filter) };
        }
        const { places: found } = last;
        const place = at === null ? -1 : found.indexOf(at);
        return { total: found.length, rows: found.slice(from, from + amount).map(row), searched: null, at: place < 0 ? null : place };
      },
      async open(n) {
        const { texts, episodes } = chunk(Math.floor(n / size));
        return { texts, episode: episodes[n % size] };
      },
    };
  };

  return { setup, ...(setup.served ? served() : embedded()) };
})();
