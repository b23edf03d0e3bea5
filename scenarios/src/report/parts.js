  // Parts of a page: texts, tables, events. All texts go through textContent: none of them is
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
    const bars = [
      ...(r.low === null ? [] : [`${short(r.low)} to ${short(r.high)}`]),
      ...(r.bar === null ? [] : [`± ${short(r.bar)}`]),
    ];
    return [r.name, value, r.unit || "", bars.join(", ")];
  }
  // Bars are those of the computation, intervals those of chance.
  function heading() {
    const bars = [["low", "95 % interval"], ["bar", "error bar"]];
    return bars.filter(([key]) => report.results.some((r) => r[key] !== null)).map(([, name]) => name).join(", ");
  }

  // Events.
  function events() {
    const all = report.events.rows;
    let limit = TABLE_ROWS;
    const body = element("tbody", {});
    const count = element("p", { class: "soft", role: "status" });
    const filter = element("input", { type: "search", placeholder: "unit, event or kind", "aria-label": "Filter events" });
    const more = element("button", { type: "button", onclick: () => { limit += TABLE_ROWS; fill(); } }, `Show ${TABLE_ROWS} more`);
    const fill = () => {
      const wanted = filter.value.toLowerCase();
      const found = all.filter((row) => row.join(" ").toLowerCase().includes(wanted));
      const some = found.slice(0, limit);
      body.replaceChildren(...some.map(([time, micro, unit, event, kind]) =>
        element("tr", {},
          element("td", { class: "number" },
            element("button", { type: "button", class: "plain", title: "Show in the plots", onclick: () => show(Number(time)) }, time)),
          ...[micro, unit, event, kind].map((c) => element("td", {}, c)))));
      count.textContent = `${some.length} of ${report.events.count} events are shown.`;
      more.hidden = some.length === found.length;
    };
    filter.addEventListener("input", fill);
    fill();
    const head = ["time / s", "micro", "unit", "event", "kind"].map((c) => element("th", {}, c));
    section("Events", element("p", { class: "filter" }, filter), count,
      element("div", { class: "wide" },
        element("table", {}, element("thead", {}, element("tr", {}, ...head)), body)), more);
  }

