"use strict";
// The rows of a table: sorted by a column, and those alone that a text and a range of the chart choose.
class Rows {
  constructor(box) {
    this.table = box.querySelector("table");
    this.rows = Array.from(this.table.tBodies[0].rows);
    this.columns = Array.from(this.table.tHead.rows[0].cells, (cell) => cell.dataset.column);
    this.status = box.querySelector("[role=status]");
    this.all = box.querySelector("button.all");
    this.input = box.querySelector("input");
    this.isChosen = null;
    for (const button of this.table.tHead.querySelectorAll("button")) {
      button.addEventListener("click", () => this.sort(button.parentElement));
    }
    if (this.input) this.input.addEventListener("input", () => this.show());
    this.all.addEventListener("click", () => {
      if (this.input) this.input.value = "";
      this.choose(null);
      if (this.clear) this.clear();
    });
  }
  // As numbers where the cells have them.
  sort(heading) {
    const at = heading.cellIndex, sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const value = (row) => row.cells[at].dataset.value;
    const order = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x !== undefined && y !== undefined) return Number(x) - Number(y);
      if (x !== undefined || y !== undefined) return x === undefined ? -1 : 1;
      return a.cells[at].textContent.localeCompare(b.cells[at].textContent);
    };
    this.rows.sort((a, b) => sign * order(a, b));
    for (const other of heading.parentElement.cells) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    this.table.tBodies[0].append(...this.rows);
  }
  choose(isChosen) {
    this.isChosen = isChosen;
    const details = this.table.closest("details");
    if (isChosen && details) details.open = true;
    this.show();
  }
  show() {
    const text = this.input ? this.input.value.trim().toLowerCase() : "";
    let shown = 0;
    for (const row of this.rows) {
      const isShown = (!text || row.textContent.toLowerCase().includes(text)) && (!this.isChosen || this.isChosen(row));
      row.hidden = !isShown;
      shown += isShown ? 1 : 0;
    }
    const isWhole = !text && !this.isChosen;
    this.all.hidden = isWhole;
    this.status.textContent = isWhole ? "" : `${shown} of ${this.rows.length} rows of the table`;
  }
}
const tables = new Map(Array.from(document.querySelectorAll(".rows"), (box) => [box, new Rows(box)]));
// Text of the charts as the table has it.
const plain = (text) => String(text).replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
// Whether the values of some columns of a row lie in a range of an axis; of two columns, whether they reach into it.
const within = (rows, names, range, axis) => {
  const at = names.map((name) => rows.columns.indexOf(name));
  if (!range || at.length === 0 || at.some((place) => place < 0)) return null;
  const [low, high] = [range[0], range[range.length - 1]];
  const cell = (row, place) => row.cells[place];
  if (axis.type === "category") {
    const ends = [low, high].map((end) => (typeof end === "number" ? end : axis._categories.indexOf(end)));
    const chosen = new Set(axis._categories.filter((_, place) => place >= Math.min(...ends) - 0.4 && place <= Math.max(...ends) + 0.4).map(plain));
    return (row) => chosen.has(cell(row, at[0]).textContent);
  }
  if (axis.type === "date") {
    const [from, to] = [String(low), String(high)].sort();
    return (row) => cell(row, at[0]).textContent <= to && cell(row, at[at.length - 1]).textContent >= from;
  }
  const [from, to] = [Math.min(low, high), Math.max(low, high)];
  return (row) => {
    const [first, last] = [at[0], at[at.length - 1]].map((place) => cell(row, place).dataset.value);
    return first !== undefined && last !== undefined && Number(first) <= to && Number(last) >= from;
  };
};
// A range that is drawn in a chart chooses the rows of its table.
const brush = (chart, figure) => {
  const box = chart.closest("section").querySelector("details .rows"), rows = tables.get(box);
  if (!rows) return;
  const all = (conditions) => {
    const known = conditions.filter((condition) => condition);
    rows.choose(known.length ? (row) => known.every((condition) => condition(row)) : null);
  };
  const { x, y, parallel } = figure.brush;
  chart.on("plotly_selected", (event) => {
    const range = event && event.range;
    if (!range) return;
    const { xaxis, yaxis } = chart._fullLayout;
    all([within(rows, x, range.x, xaxis), within(rows, y, range.y, yaxis)]);
  });
  chart.on("plotly_deselect", () => all([]));
  // Ranges of the axes of parallel coordinates.
  chart.on("plotly_restyle", () => {
    const ranges = chart.data[0].dimensions || [];
    all(ranges.flatMap((dimension, at) => {
      const chosen = dimension.constraintrange;
      if (!chosen) return [];
      const several = Array.isArray(chosen[0]) ? chosen : [chosen];
      const each = several.map((range) => within(rows, [parallel[at]], range, { type: "linear" })).filter((one) => one);
      return each.length ? [(row) => each.some((one) => one(row))] : [];
    }));
  });
  rows.clear = () => {
    if (parallel.length === 0) return Plotly.relayout(chart, { selections: [] });
    const none = Object.fromEntries(parallel.map((_, at) => [`dimensions[${at}].constraintrange`, null]));
    return Plotly.restyle(chart, none, [0]);
  };
};
// Inflates plotly.js, if it is in the page, and draws the charts in the colours of the page: those in view at once, each other one when it comes near the view or when the browser is idle, and all of
// them before the page is printed. A chart costs from 50 ms to more than 1 s, where WebGL has no graphics card.
(async () => {
  const root = document.documentElement, charts = Array.from(document.querySelectorAll(".chart"));
  if (charts.length === 0) return;
  const inside = document.getElementById("plotly");
  if (inside) {
    const bytes = Uint8Array.from(atob(inside.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    performance.mark("iolode: inflated");
    document.head.append(script);
  }
  performance.mark("iolode: parsed");
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // Fingers scroll the page; a mouse chooses a range.
  const dragmode = matchMedia("(pointer: coarse)").matches ? false : "select";
  const dressed = (layout) => {
    const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line") };
    return {
      ...layout, dragmode,
      xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
      font: { color: colour("--ink"), family: "system-ui, sans-serif" }, paper_bgcolor: colour("--paper"), plot_bgcolor: colour("--paper"),
      colorway: ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8f98", "#f0e442"],
      margin: { l: 60, r: 20, t: 20, b: 50, ...layout.margin }, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--mark") },
      newselection: { line: { color: colour("--mark") } }, hoverlabel: { namelength: -1 },
    };
  };
  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "autoScale2d"] };
  const waiting = new Set(charts);
  const figureOf = (chart) => figures[Number(chart.dataset.figure)];
  let drawn = 0;
  const draw = async (chart) => {
    const figure = figureOf(chart), isFirst = waiting.delete(chart);
    await Plotly.react(chart, figure.data, dressed(figure.layout), config);
    if (!isFirst) return;
    brush(chart, figure);
    drawn += 1;
    if (drawn < charts.length) return;
    performance.mark("iolode: all drawn");
    root.dataset.drawn = String(drawn);
  };
  // Their places do not change while they are drawn.
  for (const chart of charts) {
    const { height } = figureOf(chart).layout;
    if (height) chart.style.height = `${height}px`;
  }
  addEventListener("beforeprint", () => waiting.forEach(draw));
  matchMedia("print").addEventListener("change", () => charts.forEach(draw));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.filter((chart) => !waiting.has(chart)).forEach(draw));
  // `data-draw` is of who prints or draws the page without looking at it.
  const isWhole = root.dataset.draw === "all" || matchMedia("print").matches || !window.IntersectionObserver;
  const isInView = (chart) => {
    const { top, bottom } = chart.getBoundingClientRect();
    return top < innerHeight && bottom > 0;
  };
  await Promise.all(charts.filter((chart) => isWhole || isInView(chart)).map(draw));
  performance.mark("iolode: first screen");
  if (waiting.size === 0) return;
  const near = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && waiting.has(target)) draw(target);
    }
  }, { rootMargin: "50% 0px" });
  waiting.forEach((chart) => near.observe(chart));
  const idle = window.requestIdleCallback || ((next) => setTimeout(next, 100));
  const drawNext = () => {
    const [chart] = waiting;
    if (chart) draw(chart).finally(() => idle(drawNext));
  };
  idle(drawNext);
})();
