  // Charts of a study: results over one parameter, maps over two, parallel coordinates over all.
  // Viridis; on dark paper without its darkest end, which would be lost there.
  const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const DARK = [[122, 87, 170], [86, 117, 186], [40, 158, 152], [94, 201, 98], [253, 231, 37]];
  const ramp = () => (matchMedia("(prefers-color-scheme: dark)").matches ? DARK : VIRIDIS);
  const AXES = 12;
  const LINES = 2000;
  const TEXTS = 64;

  function shape(name, attributes = {}, ...children) {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    e.append(...children.map((c) => (c instanceof Node ? c : document.createTextNode(String(c)))));
    return e;
  }

  // A drawing of this width: it shrinks as long as its texts stay readable, and scrolls beyond.
  function drawing(wide, high, label, ...children) {
    const svg = shape("svg", { viewBox: `0 0 ${wide} ${high}`, class: "chart", role: "img", "aria-label": label }, ...children);
    svg.style.minWidth = `${0.8 * wide}px`;
    svg.style.maxWidth = `${1.25 * wide}px`;
    return svg;
  }

  function blend(share) {
    const all = ramp();
    const x = Math.min(Math.max(share, 0), 1) * (all.length - 1);
    const k = Math.min(Math.floor(x), all.length - 2);
    return all[k].map((c, i) => Math.round(c + (x - k) * (all[k + 1][i] - c)));
  }
  const paint = (share) => `rgb(${blend(share).join(",")})`;
  const over = ([r, g, b]) => (0.3 * r + 0.59 * g + 0.11 * b > 140 ? "#000" : "#fff");

  // Five digits; large and small numbers with a power of ten.
  function brief(x) {
    const size = Math.abs(x);
    if (size < 1e6 && (size >= 1e-4 || size === 0)) return String(Number(x.toPrecision(5)));
    const [digits, power] = x.toExponential(4).split("e");
    return `${Number(digits)}e${Number(power)}`;
  }

  const named = ({ name, unit }) => (unit ? `${name} / ${unit}` : name);

  // The values of a parameter as places on an axis: numbers as they are, words by their order.
  function axis(parameter, words) {
    const all = words.map(Number);
    const numeric = words.every((w, k) => w !== "" && Number.isFinite(all[k]));
    const names = numeric ? null : [...new Set(words)];
    const at = numeric ? all : words.map((w) => names.indexOf(w));
    const levels = [...new Set(at)].sort((a, b) => a - b);
    const text = (x) => (numeric ? short(x) : names[x] ?? "");
    return { label: named(parameter), at, levels, text, words: !numeric, low: levels[0], high: levels[levels.length - 1] };
  }

  function outcome(points, k) {
    const value = points.map((p) => p.results[k]?.[0] ?? null);
    const there = value.filter((v) => v !== null);
    const low = Math.min(...there);
    const high = Math.max(...there);
    const share = (v) => (high > low ? (v - low) / (high - low) : 0.5);
    return { label: named(report.outcomes[k]), value, low, high, share };
  }

  // A result that no run of a point has: they failed, or it did not happen.
  const absent = (p) => (p.lost && p.lost === p.runs ? "failed" : "never");

  const interval = (r) => (r && r[2] > r[1] ? `${short(r[1])} to ${short(r[2])}` : "");

  function about(q, p, k) {
    const at = q.over.map((i, j) => `${report.parameters[i].name} = ${p.at[j]}`).join(", ");
    const r = p.results[k];
    const value = r ? `${short(r[0])}${interval(r) && ` (${interval(r)})`}` : absent(p);
    return `point ${p.number}: ${at}; ${report.outcomes[k].name} = ${value}`;
  }

  function curve(q, x, k, holder) {
    const order = q.points.map((_, i) => i).sort((a, b) => x.at[a] - x.at[b]);
    const at = order.map((i) => x.at[i]);
    const part = (j) => order.map((i) => q.points[i].results[k]?.[j] ?? null);
    const [value, low, high] = [part(0), part(1), part(2)];
    const bars = (u) => {
      u.ctx.save();
      u.ctx.strokeStyle = colour(0);
      u.ctx.lineWidth = 1.5 * devicePixelRatio;
      u.ctx.beginPath();
      at.forEach((t, i) => {
        if (!(high[i] > low[i])) return;
        const left = Math.round(u.valToPos(t, "x", true));
        u.ctx.moveTo(left, u.valToPos(low[i], "y", true));
        u.ctx.lineTo(left, u.valToPos(high[i], "y", true));
      });
      u.ctx.stroke();
      u.ctx.restore();
    };
    const common = { stroke: ink("--ink"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
    const across = { ...common, label: x.label, space: 60, values: (_, all) => labels(all) };
    if (x.words || x.levels.length <= Math.min(6, holder.clientWidth / 90)) {
      across.splits = () => x.levels;
      across.values = (_, all) => all.map((v) => x.text(v));
    }
    const all = [...value, ...low, ...high].filter((v) => v !== null);
    const [least, most] = [Math.min(...all), Math.max(...all)];
    const room = 0.06 * (most - least || Math.abs(most) || 1);
    const wide = 0.02 * (x.high - x.low || Math.abs(x.high) || 1);
    const options = {
      width: Math.max(280, holder.clientWidth),
      height: 300,
      legend: { show: false },
      scales: { x: { time: false, range: [x.low - wide, x.high + wide] }, y: { range: [least - room, most + room] } },
      axes: [across, { ...common, label: named(report.outcomes[k]), size: 80, values: (_, all) => all.map(brief) }],
      series: [{}, { stroke: colour(0), width: 1.2, spanGaps: false, points: { show: true, size: 6, fill: colour(0) } }],
      hooks: { draw: [bars] },
    };
    return new uPlot(options, [at, value], holder);
  }

  function scale(y, wide) {
    const parts = Array.from({ length: 40 }, (_, i) =>
      shape("rect", { x: 90 + (i * (wide - 180)) / 40, y: 4, width: (wide - 180) / 40 + 1, height: 12, fill: paint(i / 39) }));
    const text = (x, anchor, t) => shape("text", { x, y: 15, "text-anchor": anchor, class: "mark" }, t);
    return shape("g", {}, ...parts, text(82, "end", brief(y.low)), text(wide - 82, "start", brief(y.high)));
  }

  function map(q, [x, y], z, k, room) {
    const wide = Math.min(720, Math.max(320, room));
    const [high, left, top, right, below] = [440, 110, 40, wide < 500 ? 12 : 40, 60];
    const cells = x.levels.length * y.levels.length <= 4 * q.points.length;
    const place = (a, v, from, to) => {
      if (cells) return from + ((a.levels.indexOf(v) + 0.5) / a.levels.length) * (to - from);
      return from + (a.high > a.low ? (v - a.low) / (a.high - a.low) : 0.5) * (to - from);
    };
    const px = (v) => place(x, v, left, wide - right);
    const py = (v) => place(y, v, high - below, top);
    const [w, h] = [(wide - right - left) / x.levels.length, (high - below - top) / y.levels.length];
    const marks = q.points.map((p, i) => {
      const value = z.value[i];
      const [cx, cy] = [px(x.at[i]), py(y.at[i])];
      const fill = value === null ? "none" : paint(z.share(value));
      const tip = shape("title", {}, about(q, p, k));
      if (!cells) return shape("circle", { cx, cy, r: 6, fill, stroke: ink("--soft") }, tip);
      const box = shape("rect", { x: cx - w / 2, y: cy - h / 2, width: w, height: h, fill, stroke: ink("--paper") }, tip);
      if (q.points.length > TEXTS) return box;
      const text = value === null ? absent(p) : String(Number(value.toPrecision(w < 70 ? 3 : 6)));
      if (7.5 * text.length > w) return box;
      const tone = value === null ? ink("--ink") : over(blend(z.share(value)));
      return shape("g", {}, box, shape("text", { x: cx, y: cy + 4, "text-anchor": "middle", fill: tone, "font-size": 13, "pointer-events": "none" }, text));
    });
    const ticks = (a) => [0, 0.25, 0.5, 0.75, 1].map((s) => a.low + s * (a.high - a.low));
    const some = (a) => (cells && a.levels.length <= 12 ? a.levels : cells ? [a.low, a.high] : ticks(a));
    const names = [
      ...(cells ? [] : [shape("rect", { x: left - 12, y: top - 12, width: wide - right - left + 24, height: high - below - top + 24, fill: "none", stroke: ink("--line") })]),
      ...some(x).map((v) => shape("text", { x: px(v), y: high - below + 26, "text-anchor": "middle", class: "mark" }, cells ? x.text(v) : brief(v))),
      ...some(y).map((v) => shape("text", { x: left - 18, y: py(v) + 4, "text-anchor": "end", class: "mark" }, cells ? y.text(v) : brief(v))),
      shape("text", { x: (left + wide - right) / 2, y: high - 12, "text-anchor": "middle", class: "mark" }, x.label),
      shape("text", { x: 14, y: (top + high - below) / 2, "text-anchor": "middle", class: "mark", transform: `rotate(-90 14 ${(top + high - below) / 2})` }, y.label),
    ];
    return drawing(wide, high, `${z.label} over ${x.label} and ${y.label}`, scale(z, wide), ...marks, ...names);
  }

  function parallel(q, all, z, k) {
    const shown = report.outcomes.map((_, j) => outcome(q.points, j)).filter((o) => Number.isFinite(o.low));
    const lines = [
      ...all.map((a) => ({ label: a.label, low: a.low, high: a.high, at: a.at, text: (x) => (a.words ? a.text(x) : brief(x)) })),
      ...shown.map((o) => ({ label: o.label, low: o.low, high: o.high, at: o.value, text: brief })),
    ].slice(0, AXES);
    const [wide, high, top, below] = [Math.max(480, 120 * lines.length), 360, 76, 30];
    const px = (j) => 60 + (lines.length > 1 ? (j * (wide - 120)) / (lines.length - 1) : 0);
    const py = (l, v) => high - below - (l.high > l.low ? (v - l.low) / (l.high - l.low) : 0.5) * (high - below - top);
    const step = Math.ceil(q.points.length / LINES);
    const paths = q.points.map((p, i) => {
      if (i % step !== 0 || z.value[i] === null) return "";
      const points = lines.filter((l) => l.at[i] !== null).map((l) => `${px(lines.indexOf(l))},${py(l, l.at[i])}`).join(" ");
      return shape("polyline", { points, fill: "none", stroke: paint(z.share(z.value[i])), "stroke-width": 1.4, "stroke-opacity": 0.75 },
        shape("title", {}, about(q, p, k)));
    });
    const rails = lines.flatMap((l, j) => [
      shape("line", { x1: px(j), x2: px(j), y1: top, y2: high - below, stroke: ink("--soft") }),
      shape("text", { x: px(j), y: j % 2 ? top - 50 : top - 30, "text-anchor": "middle", class: "mark" }, l.label),
      shape("text", { x: px(j), y: top - 6, "text-anchor": "middle", class: "mark soft" }, l.text(l.high)),
      shape("text", { x: px(j), y: high - below + 16, "text-anchor": "middle", class: "mark soft" }, l.text(l.low)),
    ]);
    return drawing(wide, high, `Parallel coordinates, coloured by ${z.label}`, ...paths.filter(Boolean), ...rails);
  }

  // Every point with its numbers, and the command that makes its run again with figure and tables.
  function listed(q) {
    const lost = q.points.some((p) => p.lost);
    const wide = q.points.some((p) => p.runs > 1);
    const head = ["point", ...q.over.map((i) => named(report.parameters[i])), ...report.outcomes.flatMap((o) => (wide ? [named(o), "95 % interval"] : [named(o)])),
      ...(wide ? ["runs"] : []), ...(lost ? ["without results"] : []), ...(report.rerun ? ["again"] : [])];
    const row = (p) => [p.number, ...p.at, ...p.results.flatMap((r) => (wide ? [r ? short(r[0]) : absent(p), interval(r)] : [r ? short(r[0]) : absent(p)])),
      ...(wide ? [p.runs] : []), ...(lost ? [p.lost || ""] : []), ...(report.rerun ? [element("code", {}, `${report.rerun} ${p.number}`)] : [])];
    const rows = q.points.slice(0, TABLE_ROWS).map(row);
    const note = q.points.length > rows.length ? [element("p", { class: "soft" }, `The first ${rows.length} of ${q.count} points; all are in results.csv.`)] : [];
    const numeric = head.map((_, i) => i).filter((i) => head[i] !== "again");
    return element("details", {}, element("summary", {}, `${q.count} points as a table`), ...note, table(head, rows, numeric));
  }

  function question(q) {
    const axes = q.over.map((i, j) => axis(report.parameters[i], q.points.map((p) => p.at[j])));
    const places = report.outcomes.map((_, k) => k).filter((k) => q.points.some((p) => p.results[k]));
    const holder = element("div", { class: "plot" });
    const choice = element("select", { "aria-label": `Result of ${q.name}` },
      ...places.map((k) => element("option", { value: k }, named(report.outcomes[k]))));
    if (places.includes(q.chosen)) choice.value = q.chosen;
    const fill = () => {
      const k = Number(choice.value);
      const z = outcome(q.points, k);
      holder.replaceChildren();
      if (axes.length === 1) curve(q, axes[0], k, holder);
      if (axes.length === 2) holder.append(map(q, axes, z, k, holder.clientWidth));
      if (axes.length > 1) holder.append(parallel(q, axes, z, k));
    };
    const names = q.over.map((i) => report.parameters[i].name);
    const over = [...names.slice(0, -2), names.slice(-2).join(" and ")].join(", ");
    const chosen = element("p", { class: "filter" }, element("label", {}, "Result ", choice));
    section(over ? `${q.name}: over ${over}` : q.name, ...(places.length && axes.length ? [chosen, holder] : []), listed(q));
    if (!places.length || !axes.length) return;
    choice.addEventListener("change", fill);
    redrawn.push(fill);
    fill();
  }

