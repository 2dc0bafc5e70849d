"use strict";
// Sorts a table by the column whose heading is pressed, as numbers where its cells have them.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.parentElement, table = heading.closest("table"), body = table.tBodies[0];
    const at = heading.cellIndex, sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const value = (row) => row.cells[at].dataset.value;
    const order = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x !== undefined && y !== undefined) return Number(x) - Number(y);
      if (x !== undefined || y !== undefined) return x === undefined ? -1 : 1;
      return a.cells[at].textContent.localeCompare(b.cells[at].textContent);
    };
    const rows = Array.from(body.rows).sort((a, b) => sign * order(a, b));
    for (const other of heading.parentElement.cells) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    body.append(...rows);
  });
}
// Inflates plotly.js, if it is in the page, and draws the charts in the colours of the page.
(async () => {
  const charts = Array.from(document.querySelectorAll(".chart"));
  if (charts.length === 0) return;
  const inside = document.getElementById("plotly");
  if (inside) {
    const bytes = Uint8Array.from(atob(inside.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dressed = (layout) => {
    const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line") };
    return {
      ...layout,
      xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
      font: { color: colour("--ink"), family: "system-ui, sans-serif" }, paper_bgcolor: colour("--paper"), plot_bgcolor: colour("--paper"),
      colorway: ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8f98", "#f0e442"],
      margin: { l: 60, r: 20, t: 20, b: 50 }, legend: { orientation: "h", y: -0.2 },
    };
  };
  const draw = () => Promise.all(charts.map((chart) => {
    const figure = figures[Number(chart.dataset.figure)];
    return Plotly.react(chart, figure.data, dressed(figure.layout), { responsive: true, displaylogo: false });
  }));
  await draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  document.documentElement.dataset.drawn = String(charts.length);
})();
