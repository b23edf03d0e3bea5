  // Parts of a page: texts, tables, plots over time, events. All texts go through textContent: none of them is
  // ever HTML.
  const report = JSON.parse(document.getElementById("data").textContent);
  const COLOURS = 7;
  const DASHES = [[], [9, 4], [2, 3], [9, 3, 2, 3]];
  const TABLE_ROWS = 500;
  // What is drawn anew where colours or the width change, beside the plots over time.
  const redrawn = [];

  function element(name, attributes = {}, ...children) {
    const e = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
      else if (value === true) e.setAttribute(key, "");
      else if (value !== false && value !== undefined) e.setAttribute(key, value);
    }
    e.append(...children.map((c) => (c instanceof Node ? c : document.createTextNode(String(c)))));
    return e;
  }

  const main = document.querySelector("main");
  const section = (title, ...children) => {
    const heading = element("h2", {}, title);
    main.append(element("section", {}, heading, ...children));
  };

  // Numbers are little-endian doubles in base64, so that nothing is rounded.
  function numbers(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Float64Array(bytes.buffer);
  }

  const short = (x) => {
    if (x === null || x === undefined || Number.isNaN(x)) return "";
    const text = x.toPrecision(9);
    return String(Number(text));
  };

  function table(head, rows, numeric = []) {
    const side = (k) => (numeric.includes(k) ? { class: "number" } : {});
    const line = (name, row) => element("tr", {}, ...row.map((c, k) => element(name, side(k), c)));
    return element(
      "div", { class: "wide" },
      element("table", {}, element("thead", {}, line("th", head)),
        element("tbody", {}, ...rows.map((row) => line("td", row)))),
    );
  }

  const colour = (k) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--c${k % COLOURS}`).trim();
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Results.
  function result(r) {
    const value = r.value === null ? "never" : short(r.value);
    const bar = r.bar === null ? "" : `± ${short(r.bar)}`;
    const bars = r.low === null ? bar : `${short(r.low)} to ${short(r.high)}`;
    return [r.name, value, r.unit || "", bars];
  }

  // Plots.
  const plots = [];
  let moving = false;

  function zoom(from, to) {
    if (moving) return;
    moving = true;
    for (const p of plots) if (p.panel.timed) p.chart.setScale("x", { min: from, max: to });
    moving = false;
  }

  function show(at) {
    const [first, last] = report.span;
    const p = plots.find((p) => p.panel.timed);
    if (!p) return;
    const wide = Math.min(p.chart.scales.x.max - p.chart.scales.x.min, (last - first) / 5);
    const from = Math.max(first, at / p.panel.unit - wide / 2);
    zoom(from, from + wide);
    for (const other of plots) {
      if (other.panel.timed) other.chart.setCursor({ left: other.chart.valToPos(at / other.panel.unit, "x"), top: 10 });
    }
    p.figure.scrollIntoView({ block: "nearest" });
  }

  function columns(panel) {
    const tables = panel.curves.map((c) => {
      const all = numbers(c.data);
      const n = all.length / 2;
      const y = Array.from(all.subarray(n), (v) => (Number.isNaN(v) ? null : v));
      return [Array.from(all.subarray(0, n)), y];
    });
    if (!tables.length) return [[]];
    return tables.length === 1 ? tables[0] : uPlot.join(tables, tables.map((t) => t.map(() => 1)));
  }

  function marks(panel) {
    return (u) => {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.strokeStyle = ink("--soft");
      ctx.lineWidth = devicePixelRatio;
      const x = (t) => Math.round(u.valToPos(t, "x", true));
      if (panel.events) {
        ctx.setLineDash([4, 4]);
        for (const at of report.events.times.slice(0, 2000)) {
          ctx.beginPath();
          ctx.moveTo(x(at / panel.unit), bbox.top);
          ctx.lineTo(x(at / panel.unit), bbox.top + bbox.height);
          ctx.stroke();
        }
      }
      for (const [from, to] of panel.bands) {
        ctx.globalAlpha = 0.12;
        ctx.fillStyle = ink("--soft");
        ctx.fillRect(x(from), bbox.top, x(to) - x(from), bbox.height);
        ctx.globalAlpha = 1;
      }
      ctx.setLineDash([]);
      panel.rows.forEach((row, k) => {
        const all = numbers(row.data);
        const y = u.valToPos(k, "y", true);
        ctx.strokeStyle = colour(k);
        ctx.lineWidth = 2 * devicePixelRatio;
        ctx.beginPath();
        for (let i = 0; i < all.length; i += 2) {
          const end = Number.isNaN(all[i + 1]) ? all[i] : all[i + 1];
          ctx.moveTo(x(all[i] / panel.unit), y - 5 * devicePixelRatio);
          ctx.lineTo(x(end / panel.unit), y + 5 * devicePixelRatio);
        }
        ctx.stroke();
      });
      ctx.restore();
    };
  }

  function axes(panel) {
    const common = { stroke: ink("--ink"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
    const names = panel.rows.length ? panel.rows.map((r) => r.label) : panel.values;
    const y = { ...common, label: panel.y_label, size: 70 };
    if (names.length) {
      y.splits = () => names.map((_, k) => k);
      y.values = (_, all) => all.map((k) => names[k] ?? "");
      y.size = Math.min(180, 20 + 7 * Math.max(...names.map((n) => n.length)));
    }
    return [{ ...common, label: panel.x_label }, y];
  }

  function chart(p) {
    const { panel, holder, data } = p;
    const rows = panel.rows.length;
    const series = panel.curves.map((c, k) => ({
      label: c.label,
      stroke: colour(c.hue ?? k),
      width: 1.6,
      dash: c.dashed ? DASHES[1] : DASHES[Math.floor((c.hue ?? k) / COLOURS) % DASHES.length],
      spanGaps: true,
      paths: c.style === "points" ? () => null : undefined,
      points: { show: c.style === "points" },
      show: p.shown[k],
    }));
    const xs = rows ? [report.span[0] / panel.unit, report.span[1] / panel.unit] : null;
    const options = {
      width: Math.max(280, holder.clientWidth),
      height: rows ? Math.max(200, 90 + 18 * rows) : 300,
      legend: { show: false },
      cursor: { sync: panel.timed ? { key: "time" } : undefined, drag: { x: true, y: false } },
      scales: {
        x: { time: false },
        y: rows ? { range: [-0.5, rows - 0.5], dir: -1 } : { distr: panel.log ? 3 : 1 },
      },
      axes: axes(panel),
      series: [{}, ...(rows ? [{ show: false }] : series)],
      hooks: {
        draw: [marks(panel)],
        setScale: [(u, key) => key === "x" && panel.timed && zoom(u.scales.x.min, u.scales.x.max)],
        setCursor: [(u) => p.values.forEach((v, k) => {
          const i = u.cursor.idx;
          v.textContent = i === null || i === undefined ? "" : short(u.data[k + 1]?.[i]);
        })],
      },
    };
    return new uPlot(options, rows ? [xs, [0, rows - 1]] : data, holder);
  }

  function steer(p, share, factor) {
    const { min, max } = p.chart.scales.x;
    const [low, high] = [p.chart.data[0][0], p.chart.data[0][p.chart.data[0].length - 1]];
    const middle = (min + max) / 2 + share * (max - min);
    const half = ((max - min) / 2) * factor;
    p.chart.setScale("x", { min: Math.max(low, middle - half), max: Math.min(high, middle + half) });
  }

  function reset(p) {
    const x = p.chart.data[0];
    p.chart.setScale("x", { min: x[0], max: x[x.length - 1] });
  }

  function alternative(p) {
    const details = element("details", {}, element("summary", {}, "Data as a table"));
    details.addEventListener("toggle", () => {
      if (!details.open || details.childElementCount > 1) return;
      const { panel, data } = p;
      if (panel.rows.length) {
        const rows = panel.rows.flatMap((r) => {
          const all = numbers(r.data);
          return Array.from({ length: all.length / 2 }, (_, i) => [r.label, short(all[2 * i]), short(all[2 * i + 1])]);
        });
        details.append(few(["output", "sent / s", "arrived / s"], rows, [1, 2]));
        return;
      }
      const rows = data[0].map((x, i) => [short(x), ...data.slice(1).map((c) => short(c[i]))]);
      details.append(few([panel.x_label, ...panel.curves.map((c) => c.label)], rows, data.map((_, k) => k)));
    });
    return details;
  }

  function few(head, rows, numeric) {
    const step = Math.ceil(rows.length / TABLE_ROWS);
    const some = step > 1 ? rows.filter((_, i) => i % step === 0) : rows;
    const note = step > 1 ? [element("p", { class: "soft" }, `Every ${step}th of ${rows.length} rows.`)] : [];
    return element("div", {}, ...note, table(head, some, numeric));
  }

  function plot(panel, k) {
    const holder = element("div", { class: "plot" });
    const p = { panel, holder, data: columns(panel), shown: panel.curves.map(() => true), values: [] };
    const name = panel.title || `Plot ${k + 1}`;
    const button = (text, label, act) =>
      element("button", { type: "button", "aria-label": `${label}: ${name}`, title: label, onclick: act }, text);
    const bar = element(
      "div", { class: "bar", role: "group", "aria-label": `Zoom of ${name}` },
      button("+", "Zoom in", () => steer(p, 0, 0.5)),
      button("−", "Zoom out", () => steer(p, 0, 2)),
      button("◀", "Earlier", () => steer(p, -0.25, 1)),
      button("▶", "Later", () => steer(p, 0.25, 1)),
      button("All", "Show all", () => reset(p)),
    );
    const legend = element("div", { class: "legend" }, ...panel.curves.map((c, k) => {
      const output = element("output", {});
      p.values.push(output);
      const box = element("input", {
        type: "checkbox", checked: true,
        onchange: (e) => {
          p.shown[k] = e.target.checked;
          p.chart.setSeries(k + 1, { show: e.target.checked });
        },
      });
      return element("label", {}, box, element("i", { class: lined(c, k) }), c.label, output);
    }));
    const notes = panel.curves.filter((c) => c.thinned).map((c) =>
      element("p", { class: "soft" }, `${c.label}: least and largest values of ${c.thinned} points per column.`));
    p.figure = element("figure", {}, element("h3", {}, name), bar, holder, legend, ...notes, alternative(p));
    plots.push(p);
    return p.figure;
  }

  function lined(c, k) {
    const hue = c.hue ?? k;
    return `c${hue % COLOURS} ${c.dashed ? "dashed" : `d${Math.floor(hue / COLOURS) % DASHES.length}`}`;
  }

  function draw() {
    for (const p of plots) {
      const scale = p.chart ? { ...p.chart.scales.x } : null;
      p.chart?.destroy();
      p.chart = chart(p);
      if (scale && Number.isFinite(scale.min)) p.chart.setScale("x", { min: scale.min, max: scale.max });
    }
  }

  // Events.
  function events() {
    const all = report.events.rows;
    const body = element("tbody", {});
    const count = element("p", { class: "soft", role: "status" });
    const filter = element("input", { type: "search", placeholder: "unit, event or kind", "aria-label": "Filter events" });
    const fill = () => {
      const wanted = filter.value.toLowerCase();
      const found = all.filter((row) => row.join(" ").toLowerCase().includes(wanted));
      const some = found.slice(0, TABLE_ROWS);
      body.replaceChildren(...some.map(([time, micro, unit, event, kind]) =>
        element("tr", {},
          element("td", { class: "number" },
            element("button", { type: "button", class: "plain", onclick: () => show(Number(time)) }, time)),
          ...[micro, unit, event, kind].map((c) => element("td", {}, c)))));
      count.textContent = `${some.length} of ${report.events.count} events are shown.`;
    };
    filter.addEventListener("input", fill);
    fill();
    const head = ["time / s", "micro", "unit", "event", "kind"].map((c) => element("th", {}, c));
    section("Events", element("p", { class: "filter" }, filter), count,
      element("div", { class: "wide" },
        element("table", {}, element("thead", {}, element("tr", {}, ...head)), body)));
  }

