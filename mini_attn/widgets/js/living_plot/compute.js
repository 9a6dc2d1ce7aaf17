// What a figure shows at a step, between two steps, and at a point where it is read.
const at = (values, step) => values[Math.min(step, values.length - 1)];

// Of each panel the numbers of one step.
export function compute(figure, step) {
  return figure.panels.map((panel) => ({
    series: (panel.series ?? []).map(({ y }) => at(y, step)),
    dots: (panel.dots ?? []).map(({ x, y }) => ({ x: at(x, step), y: at(y, step) })),
    lines: panel.lines.map((line) => at(line.at, step)),
    bars: panel.y ? at(panel.y, step) : [],
    grid: panel.values ? at(panel.values, step) : [],
  }));
}

// Between two numbers: evenly, or in proportion on a logarithmic axis; a gap closes half-way.
function between(a, b, t, log) {
  if (a === b || a === null || b === null) return t < 0.5 ? a : b;
  return log && a > 0 && b > 0 ? a ** (1 - t) * b ** t : a + (b - a) * t;
}

const rows = (one, other, t, log) => other.map((value, i) => between(one[i] ?? null, value, t, log));

// Between two moments, on each panel's own axes.
export function blend(figure, from, to, t) {
  if (t >= 1) return to;
  return figure.panels.map(({ log, lines }, n) => {
    const [a, b] = [from[n], to[n]];
    const [logX, logY] = [log.includes("x"), log.includes("y")];
    return {
      series: b.series.map((row, i) => rows(a.series[i], row, t, logY)),
      dots: b.dots.map(({ x, y }, i) => ({ x: rows(a.dots[i].x, x, t, logX), y: rows(a.dots[i].y, y, t, logY) })),
      lines: b.lines.map((value, i) => between(a.lines[i], value, t, lines[i].axis === "x" ? logX : logY)),
      bars: rows(a.bars, b.bars, t, logY),
      grid: b.grid.map((row, i) => rows(a.grid[i], row, t, false)),
    };
  });
}

export const pointsOf = (panel) => (panel.kind === "grid" ? panel.rows.length * panel.columns.length : (panel.x ?? panel.names).length);

const distance = (panel, a, b) => (panel.log.includes("x") ? Math.abs(Math.log(a / b)) : Math.abs(a - b));

// The point of a panel that is nearest to an x.
export function nearest(panel, x) {
  let best = 0;
  for (let i = 1; i < panel.x.length; i += 1) if (distance(panel, panel.x[i], x) < distance(panel, panel.x[best], x)) best = i;
  return best;
}

// The point of one panel that belongs to a point of another, or -1: the same x, or the same name.
export function matching(from, to, point) {
  if (point < 0 || from === to) return point;
  if (from.kind !== to.kind) return -1;
  if (from.kind === "curves") return from.xlabel === to.xlabel ? nearest(to, from.x[point]) : -1;
  return pointsOf(from) === pointsOf(to) ? point : -1;
}
