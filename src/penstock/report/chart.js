// Curves by memory, read from the page's own data: hover, hide a policy, move the target.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  // One picture of what the target counts, and for a join one beside it of what is not its goal.
  const charts = [
    { box: document.getElementById("chart"), of: (c) => c, what: data.what, main: true },
    { box: document.getElementById("beside"), of: (c) => c.beside, what: data.beside, main: false },
  ].filter((each) => each.box);
  const slider = document.getElementById("target");
  const DASHES = ["", "7 4", "2 3", "10 3 2 3"];
  const hidden = new Set();
  let cursor = null; // rows under the pointer
  const bytesOf = (curve, rows) => Math.max(0, curve.fixed_bytes + rows * curve.row_bytes);

  // Twelve colours, and dashes after half of them, so that forty-eight curves differ.
  const style = (i) => ({ colour: i % 12, dash: DASHES[Math.floor(i / 6) % 4] });
  const whole = (n) => Math.round(n).toLocaleString("en-US");
  const percent = (y) => (100 * y).toFixed(1) + " %";
  const shown = () => data.curves.filter((c) => !hidden.has(c.policy));

  function size(bytes) {
    for (const unit of ["B", "kB", "MB"]) {
      if (bytes < 999.5) return (bytes < 10 ? bytes.toFixed(1) : Math.round(bytes)) + " " + unit;
      bytes /= 1000;
    }
    return bytes.toFixed(1) + " GB";
  }

  // Between two points a curve is straight over the logarithm of the memory.
  function valueAt(curve, values, rows) {
    const xs = curve.rows;
    if (rows < xs[0]) return (values[0] * rows) / xs[0];
    for (let i = 1; i < xs.length; i++) {
      if (rows > xs[i]) continue;
      const part = Math.log(rows / xs[i - 1]) / Math.log(xs[i] / xs[i - 1]);
      return values[i - 1] + part * (values[i] - values[i - 1]);
    }
    return values[values.length - 1];
  }

  function rowsFor(curve, goal) {
    let before = null;
    for (let i = 0; i < curve.rows.length; i++) {
      const y = Math.max(curve.share[i], before === null ? 0 : before);
      if (y >= goal - 1e-12) {
        if (before === null) return Math.max(1, (curve.rows[0] * goal) / Math.max(y, goal));
        const [low, high] = [Math.log(curve.rows[i - 1]), Math.log(curve.rows[i])];
        return Math.exp(low + ((goal - before) / (y - before)) * (high - low));
      }
      before = y;
    }
    return null;
  }

  function bestFor(goal) {
    let best = null;
    for (const curve of shown()) {
      const rows = rowsFor(curve, goal);
      if (rows === null) continue;
      const bytes = bytesOf(curve, rows); // with what the policy remembers beside the rows
      if (best === null || bytes < best.bytes) best = { curve, rows, bytes };
    }
    return best;
  }

  const goalOf = (target) => (target > data.most + 1e-9 ? target * data.most : target);

  function answer() {
    const target = Number(slider.value) / 1000;
    const goal = goalOf(target);
    const best = bestFor(goal);
    document.getElementById("target-said").textContent = percent(target);
    slider.setAttribute("aria-valuetext", percent(target) + " " + data.what);
    const place = document.getElementById("answer");
    const code = document.getElementById("code");
    place.replaceChildren();
    if (best === null) {
      place.textContent = "No policy that is shown reaches this.";
      code.textContent = "";
      return null;
    }
    const rows = Math.ceil(best.rows - 1e-9);
    const strong = document.createElement("strong");
    strong.textContent = `${whole(rows)} rows with ${best.curve.policy}`;
    const more = (n) => `${percent(valueAt(best.curve, best.curve.share, n))}`;
    const double = Math.min(data.peak, 2 * rows);
    place.append(
      strong,
      ` (about ${size(bytesOf(best.curve, rows))}): ${percent(goal)} ${data.what}, ` +
        (best.curve.beside
          ? `${percent(valueAt(best.curve, best.curve.beside.share, rows))} ${data.beside}, `
          : "") +
        `with ${percent(rows / data.peak)} of all that there is to hold. ` +
        `Half the memory: ${more(Math.max(1, Math.floor(rows / 2)))}. ` +
        `Twice: ${more(double)}.`
    );
    const gainsNothing = rows > 0.9 * data.peak || bytesOf(best.curve, rows) >= data.exact_bytes;
    const exact = data.problem === "joining" && gainsNothing;
    code.textContent = data.call
      .replace("{budget}", exact ? "None" : String(rows).replace(/\B(?=(\d{3})+$)/g, "_"))
      .replace("{policy}", best.curve.policy);
    return { rows: best.rows, goal, curve: best.curve };
  }

  // What all pictures share; those of `plots.js` draw it.
  function plotOf(chart) {
    const curves = data.curves.map((curve, i) => {
      const { share, error } = chart.of(curve), banded = i < 3 && error.some((e) => e > 0);
      return { name: curve.policy, x: curve.rows, y: share, error: banded ? error : null, ...style(i) };
    });
    return {
      x_log: true, x_range: [Math.min(...data.curves.map((c) => c.rows[0])), data.peak],
      y_range: [0, 1], percent: true, across: "memory in rows", up: "",
      curves: curves.filter((each) => !hidden.has(each.name)),
    };
  }

  function marks({ svg, x, y }, chart, found) {
    const bottom = y(0), { node } = drawPlots;
    if (found !== null) {
      const rows = Math.min(data.peak, found.rows);
      const share = chart.main ? found.goal : valueAt(found.curve, chart.of(found.curve).share, rows);
      const [cx, cy] = [x(rows), y(share)];
      node(svg, "line", { class: "goal", x1: x(chart.plot.x_range[0]), x2: cx, y1: cy, y2: cy });
      node(svg, "line", { class: "goal", x1: cx, x2: cx, y1: cy, y2: bottom });
      node(svg, "circle", { class: "found", cx, cy, r: 6 });
    }
    if (cursor === null) return;
    node(svg, "line", { class: "cursor", x1: x(cursor), x2: x(cursor), y1: y(1), y2: bottom });
  }

  function tip({ x }, { box, of, main }) {
    if (cursor === null) return drawPlots.tip(box);
    const rows = shown()
      .map((c) => [c.policy, valueAt(c, of(c).share, cursor), valueAt(c, of(c).error, cursor)])
      .sort((a, b) => b[1] - a[1])
      .map(([policy, share, error]) =>
        [policy, percent(share) + (error > 0.0005 ? " ± " + (100 * error).toFixed(1) : "")]);
    const head = `${whole(cursor)} rows, about ${size(bytesOf(data.curves[0], cursor))}`;
    drawPlots.tip(box, x(cursor), head, rows);
    if (!main) return;
    const best = rows.length ? rows[0].join(" ") : "";
    document.getElementById("spoken").textContent = `${head}: ${best}`;
  }

  function draw() {
    const found = answer();
    for (const chart of charts) {
      chart.plot = plotOf(chart);
      const drawn = drawPlots.picture(chart.box, chart.plot);
      drawn.svg.setAttribute("role", "img");
      drawn.svg.setAttribute("aria-label", data.title.replace(data.what, chart.what));
      marks(drawn, chart, found);
      tip(drawn, chart);
    }
  }

  function legend() {
    const place = document.getElementById("legend");
    data.curves.forEach((curve, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.append(drawPlots.icon(style(i)), curve.policy);
      button.addEventListener("click", () => {
        const off = hidden.delete(curve.policy) ? false : Boolean(hidden.add(curve.policy));
        button.setAttribute("aria-pressed", String(!off));
        draw();
      });
      place.append(button);
    });
  }

  function point(event) {
    const chart = charts.find((each) => each.box === event.currentTarget);
    const left = event.clientX - chart.box.getBoundingClientRect().left;
    cursor = drawPlots.valueAt(chart.box, chart.plot, left);
    draw();
  }

  function key(event) {
    if (event.key === "Escape") cursor = null;
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const [first, last] = charts[0].plot.x_range, step = (last / first) ** (1 / 40);
      const next = (cursor === null ? last : cursor) * (event.key === "ArrowLeft" ? 1 / step : step);
      cursor = Math.min(last, Math.max(first, next));
    } else return;
    event.preventDefault();
    draw();
  }

  legend();
  slider.addEventListener("input", draw);
  for (const { box } of charts) {
    box.addEventListener("pointermove", point);
    box.addEventListener("pointerdown", point);
    box.addEventListener("pointerleave", () => { cursor = null; draw(); });
    box.addEventListener("keydown", key);
    new ResizeObserver(draw).observe(box);
  }
  addEventListener("beforeprint", () => {
    cursor = null;
    document.querySelectorAll("details").forEach((each) => { each.open = true; });
    draw();
  });
  draw();
})();
