// A figure in words: the values at a point, and the table of a step.
const few = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// Three digits, all of a larger number's; a gap is a dash.
export function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en").replace("-", "−");
  if (size && size < 1e-3) {
    const [digits, power] = value.toExponential(1).split("e");
    return `${digits.replace("-", "−")}·10${[...String(Number(power))].map((sign) => RAISED[sign]).join("")}`;
  }
  return few.format(value).replace("-", "−");
}

const unit = (panel) => (panel.unit ? ` ${panel.unit}` : "");
const meant = (panel, value) => panel.words.find(([known]) => Math.abs(known - value) < 1e-6)?.[1] ?? number(value) + unit(panel);

// Where a point is.
export function place(panel, point) {
  if (panel.kind === "curves") return `${panel.xlabel || "x"} ${number(panel.x[point])}`;
  if (panel.kind === "bars") return panel.xlabel ? `${panel.xlabel} ${panel.names[point]}` : panel.names[point];
  const n = panel.columns.length;
  return `${panel.ylabel || "row"} ${panel.rows[Math.floor(point / n)]}, ${panel.xlabel || "column"} ${panel.columns[point % n]}`;
}

// The values of a panel at a point, without the place.
export function values(panel, shown, point) {
  if (point < 0) return "";
  if (panel.kind === "bars") return number(shown.bars[point]) + unit(panel);
  if (panel.kind === "grid") {
    const n = panel.columns.length;
    return meant(panel, shown.grid[Math.floor(point / n)][point % n]);
  }
  return panel.series
    .map(({ label }, i) => [label, shown.series[i][point]])
    .filter(([, value]) => value !== null)
    .map(([label, value]) => `${label ? `${label} ` : ""}${number(value)}${unit(panel)}`)
    .join(" · ");
}

// What is read at a point of the first panel, in it and in those that share its axis.
export function reading(figure, shown, points) {
  if (points[0] < 0) return "";
  const [first] = figure.panels;
  const told = figure.panels.map((panel, n) => {
    const words = values(panel, shown[n], points[n]);
    return words && figure.panels.length > 1 && panel.title ? `${panel.title}: ${words}` : words;
  });
  const where = place(first, points[0]);
  return `${where[0].toUpperCase()}${where.slice(1)}: ${told.filter(Boolean).join("; ")}`;
}

export const sentence = ({ say }, step) => say[Math.min(step, say.length - 1)];

function head(panel) {
  if (panel.kind === "bars") return [panel.ylabel || "value"];
  if (panel.kind === "grid") return panel.columns.map((name) => `${panel.xlabel} ${name}`.trim());
  return panel.series.map(({ label }) => label || panel.ylabel || "value");
}

function body(panel, shown) {
  if (panel.kind === "bars") return panel.names.map((name, i) => [name, number(shown.bars[i])]);
  if (panel.kind === "grid") return panel.rows.map((name, i) => [name, ...shown.grid[i].map((value) => meant(panel, value))]);
  return panel.x.map((x, i) => [number(x), ...shown.series.map((row) => number(row[i]))]);
}

// A table for each panel.
export function tables(figure, shown, step) {
  const of = figure.steps[step] ? `, ${figure.control} ${figure.steps[step]}` : "";
  return figure.panels.map((panel, n) => ({
    caption: `${panel.title || panel.ylabel || "Values"}${of}`,
    head: [panel.kind === "grid" ? panel.ylabel : panel.xlabel, ...head(panel)],
    rows: body(panel, shown[n]),
  }));
}
