  // Plots. uPlot gives axes, zoom and cursor; curves are drawn here, each from its own points, since uPlot wants one
  // sorted list of times for all: it knows neither two values at one instant nor curves over another output.
  const plots = [];
  // Up to this many marks of events in sight are full lines, beyond ticks at the upper edge.
  const FULL_LINES = 60;
  const KINDS = { private: [5, 3], shared: [], time: [1, 3] };

  function curves(panel) {
    return panel.curves.map((c) => {
      const all = numbers(c.data);
      const n = all.length / 2;
      return { ...c, x: all.subarray(0, n), y: all.subarray(n) };
    });
  }

  // The first place of a sorted list whose number is not below `wanted`.
  function place(list, wanted) {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The points of a curve between two ends of the axis, and one beyond each.
  function between(p, c, from, to) {
    if (!p.panel.sorted) return [0, c.x.length];
    return [Math.max(0, place(c.x, from) - 1), Math.min(c.x.length, place(c.x, to) + 2)];
  }

  function valueRange(p, from, to) {
    const { panel } = p;
    if (panel.rows.length) return [-0.5, panel.rows.length - 0.5];
    if (panel.y_range) return panel.y_range;
    if (panel.values.length) return [-0.5, panel.values.length - 0.5];
    let [low, high] = [Infinity, -Infinity];
    p.curves.forEach((c, k) => {
      if (!p.shown[k]) return;
      const [first, end] = between(p, c, from, to);
      for (let i = first; i < end; i += 1) {
        const y = c.y[i];
        if (!Number.isFinite(y) || (panel.log && y <= 0)) continue;
        if (y < low) low = y;
        if (y > high) high = y;
      }
    });
    if (low > high) return panel.log ? [0.1, 1] : [0, 1];
    if (panel.log) {
      const ends = [Math.floor(Math.log10(low) + 1e-9), Math.ceil(Math.log10(high) - 1e-9)];
      return [10 ** ends[0], 10 ** Math.max(ends[1], ends[0] + 1)];
    }
    const size = Math.max(Math.abs(low), Math.abs(high));
    const room = high - low > 1e-9 * size ? 0.06 * (high - low) : 0.1 * size || 1;
    return [low - room, high + room];
  }

  // Labels of ticks with as many digits as tell them apart; beyond some size all have one power of ten.
  function labels(splits) {
    const known = splits.filter((v) => v !== null && v !== undefined);
    const size = Math.max(...known.map(Math.abs), 0);
    if (size === 0) return splits.map((v) => (v === 0 ? "0" : ""));
    const apart = known.slice(1).map((v, i) => v - known[i]).filter((d) => d > 0);
    const power = size >= 1e6 || size < 1e-3 ? Math.floor(Math.log10(size)) : 0;
    const step = Math.min(...apart, size) / 10 ** power;
    const told = (digits) => known.every((v) => Math.abs(v / 10 ** power - Number((v / 10 ** power).toFixed(digits))) < 1e-3 * step);
    let digits = 0;
    while (digits < 12 && !told(digits)) digits += 1;
    return splits.map((v) => {
      if (v === null || v === undefined) return "";
      const text = String(Number((v / 10 ** power).toFixed(digits)) + 0);
      return power && text !== "0" ? `${text}e${power}` : text;
    });
  }
  // On a logarithmic axis each label stands for itself.
  const decades = (splits) => splits.map((v) => (v === null || v === undefined ? "" : brief(v)));

  // Both axes, for the part that is in view. uPlot would ask for the values of the part before.
  function fit(p) {
    if (!p.chart) return;
    const [low, high] = valueRange(p, ...p.view);
    p.chart.batch(() => {
      p.chart.setScale("x", { min: p.view[0], max: p.view[1] });
      p.chart.setScale("y", { min: low, max: high });
    });
  }

  // Shows a part of the axis, in its own unit; plots over time go along.
  function look(p, from, to) {
    if (!(to > from)) return;
    for (const other of p.panel.timed ? plots.filter((o) => o.panel.timed) : [p]) {
      const share = p.panel.unit / other.panel.unit;
      other.view = [from * share, to * share];
      fit(other);
    }
  }

  // The part that a person has chosen with the mouse; what `look` has set comes back here, too.
  function chosen(p, { min, max }) {
    const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.abs(p.view[1] - p.view[0]);
    if (!near(min, p.view[0]) || !near(max, p.view[1])) look(p, min, max);
  }

  function showAll(p) {
    for (const other of p.panel.timed ? plots.filter((o) => o.panel.timed) : [p]) {
      other.view = other.panel.span;
      fit(other);
    }
  }

  function steer(p, share, factor) {
    const [from, to] = p.view;
    const middle = (from + to) / 2 + share * (to - from);
    const half = ((to - from) / 2) * factor;
    const [first, last] = p.panel.timed ? report.span.map((t) => t / p.panel.unit) : p.panel.span;
    look(p, Math.max(first, middle - half), Math.min(last, middle + half));
  }

  // Brings an instant, in seconds, into the middle of all plots over time.
  function show(at) {
    const p = plots.find((o) => o.panel.timed);
    if (!p) return;
    const [first, last] = report.span;
    const wide = Math.min((p.view[1] - p.view[0]) * p.panel.unit, (last - first) / 5);
    const from = Math.min(Math.max(first, at - wide / 2), last - wide);
    look(p, from / p.panel.unit, (from + wide) / p.panel.unit);
    setTimeout(() => point(p, at / p.panel.unit, true));
    p.figure.scrollIntoView({ block: "nearest" });
  }

  // Tells the values at a place of the axis, and marks it in the other plots over time.
  function point(p, x, itself) {
    for (const other of p.panel.timed ? plots.filter((o) => o.panel.timed) : [p]) {
      const here = x === null ? null : (x * p.panel.unit) / other.panel.unit;
      other.values.forEach((output, k) => {
        const c = other.curves[k];
        if (here === null || !other.panel.sorted || !c.x.length) {
          output.textContent = "";
          return;
        }
        const after = Math.min(place(c.x, here), c.x.length - 1);
        const before = Math.max(after - 1, 0);
        const i = c.style === "line" && c.x[after] - here < here - c.x[before] ? after : c.x[after] === here ? after : before;
        output.textContent = named_value(other.panel, c.y[i]);
      });
      if (other === p && !itself) continue;
      const left = here === null ? -10 : other.chart.valToPos(here, "x");
      other.chart.setCursor({ left, top: here === null ? -10 : 10 }, false);
    }
  }

  const named_value = (panel, y) => (panel.values.length && Number.isFinite(y) ? panel.values[y] ?? "" : short(y));

  function marks(u, p, x) {
    const { panel } = p;
    const { ctx, bbox } = u;
    const [from, to] = p.view;
    for (const band of panel.bands) {
      const [left, right] = band.map((t) => x(t / panel.unit));
      ctx.globalAlpha = 0.14;
      ctx.fillStyle = ink("--soft");
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      ctx.globalAlpha = 1;
    }
    if (!panel.events) return;
    const seen = report.events.times.map((t, i) => [t / panel.unit, report.events.rows[i][4]]).filter(([t]) => t >= from && t <= to);
    const high = seen.length > FULL_LINES ? 9 * devicePixelRatio : bbox.height;
    ctx.strokeStyle = ink("--soft");
    ctx.lineWidth = devicePixelRatio;
    let last = {};
    for (const [t, kind] of seen) {
      const left = Math.round(x(t));
      if (last[kind] === left) continue;
      last[kind] = left;
      ctx.setLineDash((seen.length > FULL_LINES ? [] : KINDS[kind] ?? []).map((d) => d * devicePixelRatio));
      ctx.beginPath();
      ctx.moveTo(left, bbox.top);
      ctx.lineTo(left, bbox.top + high);
      ctx.stroke();
    }
    ctx.setLineDash([]);
  }

  function rows(u, p, x) {
    const { ctx } = u;
    const dot = devicePixelRatio;
    const stroke = (colour, wide, lines) => {
      ctx.strokeStyle = colour;
      ctx.lineWidth = wide * dot;
      ctx.beginPath();
      for (const [x0, y0, x1, y1] of lines) {
        ctx.moveTo(x0, y0);
        ctx.lineTo(x1, y1);
      }
      ctx.stroke();
    };
    p.rows.forEach((all, k) => {
      const y = u.valToPos(k, "y", true);
      const [sent, way, lost] = [[], [], []];
      for (let i = 0; i < all.length; i += 2) {
        const from = x(all[i] / p.panel.unit);
        sent.push([from, y - 5 * dot, from, y + 5 * dot]);
        if (!Number.isNaN(all[i + 1])) way.push([from, y, x(all[i + 1] / p.panel.unit), y]);
        else if (p.panel.arrives) {
          lost.push([from - 4 * dot, y - 4 * dot, from + 4 * dot, y + 4 * dot]);
          lost.push([from - 4 * dot, y + 4 * dot, from + 4 * dot, y - 4 * dot]);
        }
      }
      stroke(colour(5), 4, way);
      stroke(colour(0), 1.5, sent);
      stroke(colour(1), 1.5, lost);
    });
  }

  function trace(u, p, k, x, y) {
    const { ctx } = u;
    const c = p.curves[k];
    const hue = c.hue ?? k;
    const [first, end] = between(p, c, ...p.view);
    ctx.strokeStyle = colour(hue);
    ctx.fillStyle = colour(hue);
    ctx.lineWidth = 1.6 * devicePixelRatio;
    const dash = c.dashed ? DASHES[1] : DASHES[Math.floor(hue / COLOURS) % DASHES.length];
    ctx.setLineDash(dash.map((d) => d * devicePixelRatio));
    ctx.beginPath();
    const dots = [];
    for (let i = first, on = false; i < end; i += 1) {
      const there = Number.isFinite(c.y[i]) && !(p.panel.log && c.y[i] <= 0);
      if (!there) on = false;
      else if (c.style === "points") dots.push(i);
      else {
        if (on) ctx.lineTo(x(c.x[i]), y(c.y[i]));
        else ctx.moveTo(x(c.x[i]), y(c.y[i]));
        const goes = i + 1 < c.x.length && Number.isFinite(c.y[i + 1]);
        if (!on && !goes) dots.push(i);
        on = true;
      }
    }
    ctx.stroke();
    ctx.setLineDash([]);
    for (const i of dots) {
      ctx.beginPath();
      ctx.arc(x(c.x[i]), y(c.y[i]), 2.5 * devicePixelRatio, 0, 2 * Math.PI);
      ctx.fill();
    }
  }

  function picture(p) {
    return (u) => {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.lineJoin = "round";
      const x = (v) => u.valToPos(v, "x", true);
      const y = (v) => u.valToPos(v, "y", true);
      if (p.panel.timed) marks(u, p, x);
      rows(u, p, x);
      p.curves.forEach((_, k) => p.shown[k] && trace(u, p, k, x, y));
      ctx.restore();
    };
  }

  // The room for labels of values: one for all plots, so that instants stand below each other. It only grows.
  let margin = 50;
  function room(texts) {
    const wanted = Math.min(180, 24 + 7 * Math.max(3, ...texts.map((t) => String(t ?? "").length)));
    if (wanted > margin) {
      margin = wanted;
      queueMicrotask(() => plots.forEach((p) => p.chart?.redraw(false, true)));
    }
    return margin;
  }

  function axes(panel) {
    const common = { stroke: ink("--ink"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
    const names = panel.rows.length ? panel.rows.map((r) => r.label) : panel.values;
    const y = { ...common, label: panel.y_label, size: (_, texts) => room(texts ?? []), values: (_, all) => (panel.log ? decades(all) : labels(all)) };
    if (names.length) {
      y.splits = () => names.map((_, k) => k);
      y.values = () => names;
    }
    return [{ ...common, label: panel.x_label, space: 60, values: (_, all) => labels(all) }, y];
  }

  function chart(p) {
    const { panel, holder } = p;
    const count = panel.rows.length;
    const options = {
      width: Math.max(280, holder.clientWidth),
      height: count ? Math.max(200, 90 + 18 * count) : 300,
      legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false }, points: { show: false } },
      scales: {
        x: { time: false, range: (_, min, max) => [min, max] },
        y: { range: () => valueRange(p, ...p.view), distr: panel.log ? 3 : 1, dir: count ? -1 : 1 },
      },
      axes: axes(panel),
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        draw: [picture(p)],
        setScale: [(u, key) => key === "x" && chosen(p, u.scales.x)],
        setCursor: [(u) => point(p, u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null, false)],
      },
    };
    return new uPlot(options, [p.view, [1, 1]], holder);
  }

  function alternative(p) {
    const details = element("details", {}, element("summary", {}, "Data as a table"));
    details.addEventListener("toggle", () => {
      if (!details.open || details.childElementCount > 1) return;
      const { panel } = p;
      if (panel.rows.length) {
        const all = panel.rows.flatMap((r, k) => {
          const marks = p.rows[k];
          return Array.from({ length: marks.length / 2 }, (_, i) => [r.label, short(marks[2 * i]), short(marks[2 * i + 1])]);
        });
        details.append(few(["output", "sent / s", "arrived / s"], all, [1, 2]));
        return;
      }
      for (const c of p.curves) {
        const all = Array.from(c.x, (x, i) => [short(x), named_value(panel, c.y[i])]);
        details.append(few([panel.x_label || "x", c.label], all, [0, 1]));
      }
    });
    return details;
  }

  function few(head, rows, numeric) {
    const step = Math.ceil(rows.length / TABLE_ROWS);
    const some = step > 1 ? rows.filter((_, i) => i % step === 0) : rows;
    const note = step > 1 ? [element("p", { class: "soft" }, `One of ${step} rows is shown; there are ${rows.length}.`)] : [];
    return element("div", {}, ...note, table(head, some, numeric));
  }

  // Kinds of events that have marks, and how these look.
  function meanings(panel) {
    const line = (style, text) => element("span", { class: "meaning" }, element("i", { class: style }), text);
    const kinds = Object.keys(KINDS).filter((kind) => panel.timed && panel.events && report.events.rows.some((r) => r[4] === kind));
    const sent = panel.rows.length ? [line("c0 tick", "sent"), ...(panel.arrives ? [line("c5", "on its way"), element("span", { class: "meaning" }, "× did not arrive")] : [])] : [];
    return [...sent, ...kinds.map((kind) => line(`event ${kind}`, `${kind} event`))];
  }

  function plot(panel, k) {
    const holder = element("div", { class: "plot" });
    const p = { panel, holder, curves: curves(panel), rows: panel.rows.map((r) => numbers(r.data)), shown: panel.curves.map(() => true), values: [], view: panel.span };
    const name = panel.title || `Plot ${k + 1}`;
    const button = (text, label, act) =>
      element("button", { type: "button", "aria-label": `${label}: ${name}`, title: label, onclick: act }, text);
    const bar = element(
      "div", { class: "bar", role: "group", "aria-label": `Zoom of ${name}` },
      button("+", "Zoom in", () => steer(p, 0, 0.5)),
      button("−", "Zoom out", () => steer(p, 0, 2)),
      button("◀", "Earlier", () => steer(p, -0.25, 1)),
      button("▶", "Later", () => steer(p, 0.25, 1)),
      button("All", "Show all", () => showAll(p)),
    );
    const legend = element("div", { class: "legend" }, ...panel.curves.map((c, k) => {
      const output = element("output", {});
      p.values.push(output);
      const box = element("input", {
        type: "checkbox", checked: true,
        onchange: (e) => {
          p.shown[k] = e.target.checked;
          fit(p);
          p.chart.redraw();
        },
      });
      return element("label", {}, box, element("i", { class: lined(c, k) }), c.label, output);
    }), ...meanings(panel));
    const thinned = panel.curves.filter((c) => c.thinned).map((c) =>
      element("p", { class: "soft" }, `${c.label}: the axis is divided into ${c.thinned} columns, of which first, last, least and largest values are drawn.`));
    p.figure = element("figure", {}, element("h3", {}, name), bar, holder, legend, ...thinned, alternative(p));
    plots.push(p);
    return p.figure;
  }

  function lined(c, k) {
    const hue = c.hue ?? k;
    return `c${hue % COLOURS} ${c.dashed ? "dashed" : `d${Math.floor(hue / COLOURS) % DASHES.length}`}`;
  }

  function draw() {
    for (const p of plots) {
      p.chart?.destroy();
      p.chart = chart(p);
    }
  }

