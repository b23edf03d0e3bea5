  // The order of a page.
  for (const [title, text] of report.remarks) section(title, ...text.map((t) => element("p", {}, t)));
  if (report.results.length) {
    const bars = report.results.some((r) => r.low !== null || r.bar !== null);
    const wide = (row) => (bars ? row : row.slice(0, 3));
    section("Results", table(wide(["result", "value", "unit", heading()]), report.results.map(result).map(wide), [1]));
  }
  for (const q of report.questions) question(q);
  for (const t of report.tables) section(t.title, table(t.head, t.rows, t.numeric));
  if (report.panels.length) section("Plots", ...report.panels.map(plot));
  if (report.events.count) events();
  for (const t of report.statistics) section(t.title, table(t.head, t.rows, t.numeric));
  if (report.provenance.length) {
    section("Provenance", table(["what", "value"], report.provenance),
      ...report.files.map(([name, text]) =>
        element("details", {}, element("summary", {}, name), element("pre", {}, text))));
  }
  draw();
  const again = () => redrawn.forEach((fill) => fill());
  addEventListener("resize", () => {
    for (const p of plots) p.chart.setSize({ width: Math.max(280, p.holder.clientWidth), height: p.chart.height });
    again();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    draw();
    again();
  });
  document.documentElement.dataset.ready = "true";
