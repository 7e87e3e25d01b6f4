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
  const MARGIN = { left: 52, right: 14, top: 12, bottom: 46 };
  const DASHES = ["", "7 4", "2 3", "10 3 2 3"];
  const hidden = new Set();
  let cursor = null; // rows under the pointer
  const bytesOf = (curve, rows) => Math.max(0, curve.fixed_bytes + rows * curve.row_bytes);

  // Twelve colours, and dashes after half of them, so that forty-eight curves differ.
  const style = (i) => ({ colour: `var(--c${i % 12})`, dash: DASHES[Math.floor(i / 6) % 4] });
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

  function node(parent, name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  function scales(width, height) {
    const first = Math.log(Math.min(...data.curves.map((c) => c.rows[0])));
    const last = Math.log(data.peak);
    const inner = width - MARGIN.left - MARGIN.right;
    const tall = height - MARGIN.top - MARGIN.bottom;
    const span = last > first ? last - first : 1;
    return {
      x: (rows) => MARGIN.left + ((Math.log(rows) - first) / span) * inner,
      y: (share) => MARGIN.top + (1 - share) * tall,
      rows: (x) => Math.exp(first + (Math.min(Math.max(x - MARGIN.left, 0), inner) / inner) * span),
      first, last,
    };
  }

  function ticks(first, last, room) {
    const found = [];
    for (let power = Math.floor(first / Math.LN10); power <= last / Math.LN10; power++)
      for (const lead of [1, 2, 5]) {
        const rows = lead * 10 ** power;
        if (Math.log(rows) >= first - 1e-9 && Math.log(rows) <= last + 1e-9) found.push(rows);
      }
    const few = found.length * 62 > room ? found.filter((r) => /^1/.test(String(r))) : found;
    return few.length > 1 ? few : found;
  }

  const short = (n) => (n >= 1e6 ? n / 1e6 + " M" : n >= 1e4 ? n / 1e3 + " k" : whole(n));

  function axes(svg, scale, width, height) {
    for (let i = 0; i <= 5; i++) {
      const y = scale.y(i / 5);
      node(svg, "line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y });
      node(svg, "text", { x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" }, 20 * i + " %");
    }
    const bottom = height - MARGIN.bottom;
    for (const rows of ticks(scale.first, scale.last, width - MARGIN.left - MARGIN.right)) {
      const x = scale.x(rows);
      node(svg, "line", { class: "grid", x1: x, x2: x, y1: bottom, y2: bottom + 5 });
      node(svg, "text", { x, y: bottom + 19, "text-anchor": "middle" }, short(rows));
    }
    const middle = (MARGIN.left + width - MARGIN.right) / 2;
    node(svg, "text", { x: middle, y: height - 8, "text-anchor": "middle" }, "memory in rows");
  }

  function curves(svg, scale, chart) {
    data.curves.forEach((curve, i) => {
      if (hidden.has(curve.policy)) return;
      const { colour, dash } = style(i);
      const { share, error } = chart.of(curve);
      const at = (sign) => (rows, k) => {
        const y = share[k] + sign * error[k];
        return `${scale.x(rows).toFixed(1)},${scale.y(Math.min(1, Math.max(0, y))).toFixed(1)}`;
      };
      const upper = curve.rows.map(at(1)), lower = curve.rows.map(at(-1)).reverse();
      const band = { class: "band", points: upper.concat(lower).join(" "), fill: colour };
      if (i < 3 && error.some((e) => e > 0)) node(svg, "polygon", band);
      const line = node(svg, "polyline", {
        class: "curve", points: curve.rows.map(at(0)).join(" "), "stroke-dasharray": dash,
        "data-policy": curve.policy,
      });
      line.style.stroke = colour;
      node(line, "title", {}, curve.policy);
    });
  }

  function marks(svg, scale, chart, found, height) {
    if (found !== null) {
      const rows = Math.min(data.peak, found.rows);
      const there = valueAt(found.curve, chart.of(found.curve).share, rows);
      const [x, y] = [scale.x(rows), scale.y(chart.main ? found.goal : there)];
      node(svg, "line", { class: "goal", x1: MARGIN.left, x2: x, y1: y, y2: y });
      node(svg, "line", { class: "goal", x1: x, x2: x, y1: y, y2: height - MARGIN.bottom });
      node(svg, "circle", { class: "found", cx: x, cy: y, r: 6 });
    }
    if (cursor !== null) {
      const x = scale.x(cursor);
      const bottom = height - MARGIN.bottom;
      node(svg, "line", { class: "cursor", x1: x, x2: x, y1: MARGIN.top, y2: bottom });
    }
  }

  function tip(scale, chart, width) {
    const { box, of } = chart;
    const old = box.querySelector(".tip");
    if (old) old.remove();
    if (cursor === null) return;
    const made = document.createElement("div");
    made.className = "tip";
    const table = document.createElement("table");
    const rows = shown()
      .map((c) => [c.policy, valueAt(c, of(c).share, cursor), valueAt(c, of(c).error, cursor)])
      .sort((a, b) => b[1] - a[1]);
    for (const [policy, share, error] of rows) {
      const line = table.insertRow();
      line.insertCell().textContent = policy;
      const value = line.insertCell();
      value.className = "value";
      value.textContent = percent(share) + (error > 0.0005 ? " ± " + (100 * error).toFixed(1) : "");
    }
    const head = document.createElement("div");
    head.textContent = `${whole(cursor)} rows, about ${size(bytesOf(data.curves[0], cursor))}`;
    made.append(head, table);
    box.append(made);
    const x = scale.x(cursor);
    const right = x > width / 2;
    made.style.left = Math.max(0, right ? x - made.offsetWidth - 12 : x + 12) + "px";
    if (!chart.main) return;
    const best = rows.length ? `${rows[0][0]} ${percent(rows[0][1])}` : "";
    document.getElementById("spoken").textContent = `${head.textContent}: ${best}`;
  }

  function draw() {
    const found = answer();
    for (const chart of charts) picture(chart, found);
  }

  function picture(chart, found) {
    const { box } = chart;
    const width = Math.max(260, box.clientWidth);
    const height = Math.round(Math.min(460, Math.max(280, width * 0.5)));
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [key, value] of [["viewBox", `0 0 ${width} ${height}`], ["height", height],
      ["role", "img"], ["aria-label", chart.main ? data.title : data.title.replace(data.what, data.beside)]]) svg.setAttribute(key, value);
    const scale = scales(width, height);
    chart.scale = scale;
    axes(svg, scale, width, height);
    curves(svg, scale, chart);
    marks(svg, scale, chart, found, height);
    const old = box.querySelector("svg");
    if (old) old.replaceWith(svg);
    else box.prepend(svg);
    tip(scale, chart, width);
  }

  function legend() {
    const place = document.getElementById("legend");
    data.curves.forEach((curve, i) => {
      const button = document.createElement("button");
      const { colour, dash } = style(i);
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      icon.setAttribute("viewBox", "0 0 26 10");
      icon.setAttribute("aria-hidden", "true");
      const line = node(icon, "line", { x1: 0, x2: 26, y1: 5, y2: 5, "stroke-dasharray": dash });
      line.style.stroke = colour;
      line.style.strokeWidth = 3;
      button.append(icon, curve.policy);
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
    cursor = chart.scale.rows(event.clientX - chart.box.getBoundingClientRect().left);
    draw();
  }

  function key(event) {
    if (event.key === "Escape") cursor = null;
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const { scale } = charts[0];
      const step = (scale.last - scale.first) / 40;
      const at = Math.log(cursor === null ? data.peak : cursor);
      const next = at + (event.key === "ArrowLeft" ? -step : step);
      cursor = Math.exp(Math.min(scale.last, Math.max(scale.first, next)));
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
