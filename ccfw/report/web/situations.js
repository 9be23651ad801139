"use strict";

// Shows the situations that hold every word of the search, of one culture and one state if these are chosen.
(() => {
  const form = document.querySelector(".sieve");
  const shown = form.querySelector("output");
  const every = [...document.querySelectorAll(".situation")];
  const sift = () => {
    const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [culture, state] = [form.elements.culture.value, form.elements.state.value];
    let count = 0;
    for (const each of every) {
      const { found, culture: own, state: is } = each.dataset;
      const fits = words.every((word) => found.includes(word)) && (!culture || own === culture) && (!state || is.includes(state));
      each.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} of ${every.length}`;
  };
  form.hidden = false;
  form.addEventListener("input", sift);
  form.addEventListener("submit", (event) => event.preventDefault());
  sift();
  const open = () => {
    const aimed = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (aimed) { aimed.open = true; aimed.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();
})();
