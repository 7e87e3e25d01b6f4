// The page of running queries: shows what it was given, and asks for more while they run.
"use strict";
(() => {
  const given = JSON.parse(document.getElementById("data").textContent);
  const EVERY = 2000; // milliseconds
  const token = new URLSearchParams(location.search).get("token");
  const place = (id) => document.getElementById(id);
  let chosen = "", drawn = "";

  // Text is always text: names and keys come from data.
  function make(name, text, look) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (look) made.className = look;
    return made;
  }

  function table(head, rows, caption) {
    const made = make("table"), first = made.createTHead().insertRow(), body = made.createTBody();
    if (caption) made.createCaption().textContent = caption;
    head.forEach((name, i) => first.append(make("th", name, i ? "value" : "")));
    for (const row of rows) {
      const line = body.insertRow();
      row.forEach((cell, i) => {
        const made = line.insertCell();
        if (i) made.className = "value";
        made.append(cell);
      });
    }
    const frame = make("div", undefined, "tables");
    frame.append(made);
    return frame;
  }

  function choose(line) {
    const button = make("button", line.name, "choose");
    button.setAttribute("aria-pressed", String(line.place === chosen));
    button.addEventListener("click", () => {
      chosen = line.place;
      if (given.live) ask();
      else show({ ...given, chosen: given.views.find((each) => each.place === chosen) });
    });
    return button;
  }

  function state(line) {
    const said = line.wrong && line.state === "running" ? "needs a person" : line.state;
    return make("span", said, line.wrong ? "bad" : "");
  }

  function overview(queries) {
    const box = place("queries");
    box.replaceChildren();
    if (!queries.length) {
      const waiting = "No query of Penstock has reported yet. One is shown after its first micro-batch.";
      box.append(make("p", waiting, "lead"));
    } else if (queries.length > 1) {
      const rows = queries.map((line) => {
        const [best] = Object.values(line.cards), held = line.cards.held || "";
        return [choose(line), state(line), best || "", held, line.cards["micro-batch"] || "", line.kind];
      });
      box.append(table(["query", "state", "recall or ratio", "held", "micro-batch", "kind"], rows));
    }
  }

  function sentences(view) {
    const box = place("said");
    const said = view.said.map((each) => make("p", upper(each.said) + ".", each.wrong ? "doubt" : "note"));
    if (!said.length) {
      const well = view.state === "running" ? "Nothing needs attention." : `The query has ${view.state}.`;
      said.push(make("p", well, "quiet"));
    }
    const text = said.map((each) => each.textContent).join("\n");
    if (box.dataset.text === text) return; // so that nothing is read out twice
    box.dataset.text = text;
    box.replaceChildren(...said);
  }

  const upper = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

  function cards(view) {
    place("cards").replaceChildren(...view.details.map(([label, value, below]) => {
      const card = make("div", undefined, "card");
      const said = make("dd", below, "quiet");
      card.append(make("dt", label, "quiet"), make("dd", value, "number"), said);
      return card;
    }));
  }

  function plots(view) {
    const key = [view.place, ...view.plots.map((each) => each.id)].join(" ");
    if (key !== drawn) {
      drawn = key;
      place("plots").replaceChildren(...view.plots.map((plot) => {
        const figure = make("figure"), box = make("div", undefined, "chart");
        box.id = plot.id;
        box.setAttribute("role", "img");
        box.setAttribute("aria-label", plot.title);
        figure.append(make("h3", plot.title), box);
        return figure;
      }));
    }
    drawPlots(view.plots);
  }

  function tables(view) {
    place("tables").replaceChildren(...view.tables.map((each) => {
      const made = make("div");
      made.append(make("h3", each.title), table(each.head, each.rows, each.caption));
      return made;
    }));
  }

  function show(data) {
    const view = data.chosen;
    chosen = view ? view.place : "";
    overview(data.queries);
    if (!view) return;
    document.querySelector("h1").textContent = view.name;
    document.title = view.name;
    sentences(view);
    cards(view);
    plots(view);
    tables(view);
    const when = new Date(1000 * view.at).toISOString().slice(0, 19).replace("T", " ");
    const what = view.batch === null ? "No micro-batch had ended" : `Micro-batch ${view.batch} ended`;
    place("stamp").textContent = `${upper(view.kind)}, ${view.state}. ${what} ${when}. All times are UTC.`;
  }

  async function ask() {
    const wanted = new URLSearchParams({ query: chosen, ...(token ? { token } : {}) });
    const lost = place("lost");
    try {
      const answer = await fetch(`data.json?${wanted}`, { cache: "no-store" });
      if (!answer.ok) throw new Error(await answer.text());
      show(await answer.json());
      lost.hidden = true;
    } catch (error) {
      lost.textContent = `The monitor does not answer (${error.message}). The figures are old.`;
      lost.hidden = false;
    }
  }

  show(given.live ? given : { ...given, chosen: given.views[0] });
  if (given.live) {
    ask();
    setInterval(() => { if (!document.hidden) ask(); }, EVERY);
    document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
  }
})();
