// Curves on linear, logarithmic or time axes, drawn into the boxes that are called like the plots.
"use strict";
const drawPlots = (() => {
  const MARGIN = { left: 66, right: 16, top: 10 };
  const under = (plot) => (plot.across ? 46 : 28); // pixels below the curves
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
  const dash = (curve) => curve.dash || DASHES[curve.kind] || "";
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

  const DAY = 86400;
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];

  // Whole minutes, hours or days, a few of them; all times are UTC.
  function timeTicks([low, high]) {
    const rough = (high - low) / 6;
    const step = STEPS.find((each) => each >= rough) || DAY * Math.ceil(rough / DAY);
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(at);
    return found;
  }

  function clock(seconds, span) {
    const at = new Date(1000 * seconds).toISOString();
    return span > 5 * DAY ? at.slice(5, 10) : at.slice(11, span < 600 ? 19 : 16);
  }

  const ticks = (range, log, time) => (time ? timeTicks : log ? logTicks : evenTicks)(range);
  const across = (plot, value) =>
    (plot.x_time ? clock(value, plot.x_range[1] - plot.x_range[0]) : plain(value));
  const upward = (plot, value) =>
    (plot.percent ? percent(value) : plain(Number(value.toPrecision(4))));

  function axes(svg, plot, x, y, width, height) {
    const bottom = height - under(plot), right = width - MARGIN.right;
    for (const value of ticks(plot.y_range, plot.y_log)) {
      const at = y(value);
      node(svg, "line", { class: "grid", x1: MARGIN.left, x2: right, y1: at, y2: at });
      const place = { x: MARGIN.left - 6, y: at + 4, "text-anchor": "end" };
      node(svg, "text", place, plot.percent ? percent(value) : plain(value));
    }
    const places = ticks(plot.x_range, plot.x_log, plot.x_time);
    const every = Math.ceil((places.length * LABEL) / (right - MARGIN.left));
    places.forEach((value, i) => {
      if (i % every) return;
      const at = x(value);
      node(svg, "line", { class: "grid", x1: at, x2: at, y1: MARGIN.top, y2: bottom });
      node(svg, "text", { x: at, y: bottom + 18, "text-anchor": "middle" }, across(plot, value));
    });
    const middle = (MARGIN.left + right) / 2, half = (MARGIN.top + bottom) / 2;
    node(svg, "text", { x: middle, y: height - 8, "text-anchor": "middle" }, plot.across);
    const turned = { "text-anchor": "middle", transform: `translate(12 ${half}) rotate(-90)` };
    node(svg, "text", turned, plot.up);
  }

  function draw(svg, curve, plot, x, y) {
    const at = (values) => curve.x.map((value, i) => `${x(value).toFixed(1)},${y(values[i]).toFixed(1)}`);
    const shifted = (sign) => curve.y.map((value, i) => value + sign * curve.error[i]);
    const [low, high] = curve.error ? [shifted(-1), shifted(1)] : [curve.low, curve.high];
    if (low && low.some((each, i) => each < high[i])) {
      const points = at(high).concat(at(low).reverse()).join(" ");
      const look = curve.kind === "layer" ? "layer" : "band";
      node(svg, "polygon", { class: look, points }).style.fill = colour(curve);
    }
    if (curve.kind !== "dots") {
      const points = at(curve.y).join(" ");
      const line = { class: "curve", points, "stroke-dasharray": dash(curve), "data-name": curve.name };
      node(svg, "polyline", line).style.stroke = colour(curve);
    }
    if (curve.kind === "dots" || curve.kind === "both")
      curve.x.forEach((value, i) => {
        const place = { cx: x(value).toFixed(1), cy: y(curve.y[i]).toFixed(1), r: 2.5 };
        node(svg, "circle", place).style.fill = colour(curve);
      });
  }

  // A vertical line with a text above or below the curves, on the side that has room for it.
  function mark(svg, plot, x, width, height) {
    const { at, said, high } = plot.mark;
    const bottom = height - under(plot), place = x(at), long = LETTER * said.length + 5;
    node(svg, "line", { class: "goal", x1: place, x2: place, y1: MARGIN.top, y2: bottom });
    let [left, anchor] = [place + 5, "start"];
    if (place + long > width && place - long > MARGIN.left) [left, anchor] = [place - 5, "end"];
    else if (place + long > width) [left, anchor] = [width - MARGIN.right, "end"];
    const y = high ? MARGIN.top + 14 : bottom - 7;
    node(svg, "text", { class: "said", "text-anchor": anchor, x: left, y }, said);
  }

  function picture(box, plot) {
    const width = Math.max(240, box.clientWidth);
    const height = Math.round(Math.min(460, Math.max(240, width * 0.62)));
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    const x = scale(plot.x_range, plot.x_log, MARGIN.left, width - MARGIN.right);
    const y = scale(plot.y_range, plot.y_log, height - under(plot), MARGIN.top);
    axes(svg, plot, x, y, width, height);
    if (plot.level !== undefined) {
      const line = { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(plot.level), y2: y(plot.level) };
      node(svg, "line", { class: "cursor", ...line });
    }
    for (const curve of plot.curves) draw(svg, curve, plot, x, y);
    if (plot.mark) mark(svg, plot, x, width, height);
    const old = box.querySelector("svg.plot");
    svg.classList.add("plot");
    if (old) old.replaceWith(svg);
    else box.append(svg);
    return { svg, x, y };
  }

  // The value along the axis at a place in the box.
  function valueAt(box, plot, left) {
    const inside = box.clientWidth - MARGIN.left - MARGIN.right;
    const part = Math.min(1, Math.max(0, (left - MARGIN.left) / inside));
    const [low, high] = plot.x_range;
    return plot.x_log ? low * (high / low) ** part : low + part * (high - low);
  }

  function icon(curve) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    made.setAttribute("viewBox", "0 0 26 10");
    made.setAttribute("aria-hidden", "true");
    if (curve.kind === "dots") node(made, "circle", { cx: 13, cy: 5, r: 3 }).style.fill = colour(curve);
    else {
      const line = { x1: 0, x2: 26, y1: 5, y2: 5, "stroke-dasharray": dash(curve) };
      const drawn = node(made, "line", line);
      drawn.style.stroke = colour(curve);
      drawn.style.strokeWidth = curve.kind === "layer" ? 8 : 2;
    }
    return made;
  }

  function legend(plot) {
    const place = document.createElement("div");
    place.className = "legend quiet";
    for (const curve of plot.curves.filter((each) => each.name)) {
      const entry = document.createElement("span");
      entry.append(icon(curve), curve.name);
      place.append(entry);
    }
    return place;
  }

  const nearest = (curve, at) =>
    curve.x.reduce((best, value, i) => (Math.abs(value - at) < Math.abs(curve.x[best] - at) ? i : best), 0);

  // Show names and values beside a place in the box, or nothing.
  function tip(box, left, head, rows) {
    const old = box.querySelector(".tip");
    if (old) old.remove();
    if (!rows) return;
    const made = document.createElement("div"), table = document.createElement("table");
    made.className = "tip";
    for (const [name, value] of rows) {
      const line = table.insertRow();
      line.insertCell().textContent = name;
      Object.assign(line.insertCell(), { className: "value", textContent: value });
    }
    made.append(head, table);
    box.append(made);
    const right = left > box.clientWidth / 2;
    made.style.left = Math.max(0, right ? left - made.offsetWidth - 12 : left + 12) + "px";
  }

  // The values of all curves under the pointer; of a layer, how thick it is.
  function hover(box, left) {
    const { plot } = box, at = valueAt(box, plot, left);
    const first = plot.curves.find((each) => each.x.length);
    if (!first) return;
    const rows = plot.curves.map((curve) => {
      const i = nearest(curve, at), name = curve.name.split(",")[0];
      if (curve.kind === "layer") return [name, upward(plot, curve.high[i] - curve.low[i])];
      const ends = curve.low ? ` (${upward(plot, curve.low[i])} to ${upward(plot, curve.high[i])})` : "";
      return [name, upward(plot, curve.y[i]) + ends];
    });
    tip(box, left, across(plot, first.x[nearest(first, at)]), rows);
  }

  // Draw plots, or draw them again with other data.
  function drawPlots(plots) {
    for (const plot of plots) {
      const box = document.getElementById(plot.id), known = Boolean(box.plot);
      box.plot = plot;
      picture(box, plot);
      if (known) continue;
      box.before(legend(plot));
      const again = () => picture(box, box.plot);
      new ResizeObserver(again).observe(box);
      addEventListener("beforeprint", again);
      if (!plot.x_time) continue; // along a logarithmic axis the nearest point is another
      const left = (event) => event.clientX - box.getBoundingClientRect().left;
      box.addEventListener("pointermove", (event) => hover(box, left(event)));
      box.addEventListener("pointerdown", (event) => hover(box, left(event)));
      box.addEventListener("pointerleave", () => tip(box));
    }
  }

  return Object.assign(drawPlots, { node, picture, valueAt, icon, tip });
})();

{
  const { plots } = JSON.parse(document.getElementById("data").textContent);
  if (plots) drawPlots(plots);
}
