// The plots of a profile: curves on linear or logarithmic axes, drawn from the page's own data.
"use strict";
(() => {
  const { plots } = JSON.parse(document.getElementById("data").textContent);
  const MARGIN = { left: 66, right: 16, top: 10, bottom: 46 };
  const LABEL = 58; // pixels that a number along the axis takes
  const LETTER = 6.6; // pixels of a letter, on average
  const DASHES = { dashed: "6 4" };

  function node(parent, name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  const colour = (curve) => `var(--c${curve.colour})`;
  const plain = (n) => (n >= 1e6 ? n / 1e6 + " M" : n.toLocaleString("en-US"));
  const percent = (n) => Number((100 * n).toPrecision(6)) + " %";

  function scale([low, high], log, from, to) {
    const place = log ? Math.log : (value) => value;
    const span = place(high) - place(low) || 1;
    const inside = (value) => Math.min(high, Math.max(low, value)); // a cache of 0 rows has no place
    return (value) => from + ((place(inside(value)) - place(low)) / span) * (to - from);
  }

  // Powers of ten, and what lies between them only where there is one power at most.
  function logTicks([low, high]) {
    const found = [[], []];
    for (let power = Math.floor(Math.log10(low)) - 1; 10 ** power <= high; power++)
      for (const lead of [1, 2, 5]) {
        const value = Number(`${lead}e${power}`);
        if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
        found[1].push(value);
        if (lead === 1) found[0].push(value);
      }
    return found[0].length > 1 ? found[0] : found[1];
  }

  function evenTicks([low, high]) {
    const rough = (high - low) / 6;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((lead) => lead * power >= rough);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++)
      found.push(Number((i * step).toPrecision(12)));
    return found;
  }

  const ticks = (range, log) => (log ? logTicks : evenTicks)(range);

  function axes(svg, plot, x, y, width, height) {
    const bottom = height - MARGIN.bottom, right = width - MARGIN.right;
    for (const value of ticks(plot.y_range, plot.y_log)) {
      const at = y(value);
      node(svg, "line", { class: "grid", x1: MARGIN.left, x2: right, y1: at, y2: at });
      const place = { x: MARGIN.left - 6, y: at + 4, "text-anchor": "end" };
      node(svg, "text", place, plot.percent ? percent(value) : plain(value));
    }
    const across = ticks(plot.x_range, plot.x_log);
    const every = Math.ceil((across.length * LABEL) / (right - MARGIN.left));
    across.forEach((value, i) => {
      if (i % every) return;
      const at = x(value);
      node(svg, "line", { class: "grid", x1: at, x2: at, y1: MARGIN.top, y2: bottom });
      node(svg, "text", { x: at, y: bottom + 18, "text-anchor": "middle" }, plain(value));
    });
    const middle = (MARGIN.left + right) / 2, half = (MARGIN.top + bottom) / 2;
    node(svg, "text", { x: middle, y: height - 8, "text-anchor": "middle" }, plot.across);
    const turned = { "text-anchor": "middle", transform: `translate(12 ${half}) rotate(-90)` };
    node(svg, "text", turned, plot.up);
  }

  function draw(svg, curve, plot, x, y) {
    const at = (sign) => (value, i) => {
      const shifted = curve.y[i] + (curve.error ? sign * curve.error[i] : 0);
      return `${x(value).toFixed(1)},${y(shifted).toFixed(1)}`;
    };
    if (curve.error && curve.error.some((each) => each > 0)) {
      const points = curve.x.map(at(1)).concat(curve.x.map(at(-1)).reverse()).join(" ");
      node(svg, "polygon", { class: "band", points, fill: colour(curve) });
    }
    if (curve.kind !== "dots") {
      const points = curve.x.map(at(0)).join(" ");
      const line = { class: "curve", points, "stroke-dasharray": DASHES[curve.kind] || "" };
      node(svg, "polyline", line).style.stroke = colour(curve);
    }
    if (curve.kind === "dots" || curve.kind === "both")
      curve.x.forEach((value, i) => {
        const place = { cx: x(value).toFixed(1), cy: y(curve.y[i]).toFixed(1), r: 2.5 };
        node(svg, "circle", place).style.fill = colour(curve);
      });
  }

  // A vertical line with a text above or below the curves, on the side that has room for it.
  function mark(svg, { at, said, high }, x, width, height) {
    const bottom = height - MARGIN.bottom, place = x(at), long = LETTER * said.length + 5;
    node(svg, "line", { class: "goal", x1: place, x2: place, y1: MARGIN.top, y2: bottom });
    let [left, anchor] = [place + 5, "start"];
    if (place + long > width && place - long > MARGIN.left) [left, anchor] = [place - 5, "end"];
    else if (place + long > width) [left, anchor] = [width - MARGIN.right, "end"];
    const y = high ? MARGIN.top + 14 : bottom - 7;
    node(svg, "text", { class: "said", "text-anchor": anchor, x: left, y }, said);
  }

  function picture(box, plot) {
    const width = Math.max(240, box.clientWidth), height = Math.round(Math.max(240, width * 0.62));
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    const x = scale(plot.x_range, plot.x_log, MARGIN.left, width - MARGIN.right);
    const y = scale(plot.y_range, plot.y_log, height - MARGIN.bottom, MARGIN.top);
    axes(svg, plot, x, y, width, height);
    if (plot.level !== undefined) {
      const line = { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(plot.level), y2: y(plot.level) };
      node(svg, "line", { class: "cursor", ...line });
    }
    for (const curve of plot.curves) draw(svg, curve, plot, x, y);
    if (plot.mark) mark(svg, plot.mark, x, width, height);
    const old = box.querySelector("svg.plot");
    svg.classList.add("plot");
    if (old) old.replaceWith(svg);
    else box.append(svg);
  }

  function legend(box, plot) {
    const place = document.createElement("div");
    place.className = "legend quiet";
    for (const curve of plot.curves.filter((each) => each.name)) {
      const entry = document.createElement("span");
      const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      icon.setAttribute("viewBox", "0 0 26 10");
      if (curve.kind !== "dots") {
        const line = { x1: 0, x2: 26, y1: 5, y2: 5, "stroke-dasharray": DASHES[curve.kind] || "" };
        const drawn = node(icon, "line", line);
        drawn.style.stroke = colour(curve);
        drawn.style.strokeWidth = 2;
      } else node(icon, "circle", { cx: 13, cy: 5, r: 3 }).style.fill = colour(curve);
      entry.append(icon, curve.name);
      place.append(entry);
    }
    box.before(place);
  }

  for (const plot of plots) {
    const box = document.getElementById(plot.id);
    legend(box, plot);
    new ResizeObserver(() => picture(box, plot)).observe(box);
    addEventListener("beforeprint", () => picture(box, plot));
    picture(box, plot);
  }
})();
