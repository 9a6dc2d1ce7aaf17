// The explorer's picture: queries on the left, keys above, values below, outputs on the right, and
// in the middle a cell for each query and key. Pure: numbers in, SVG out, in CSS pixels.
import { END, MIDDLE, box, signedBar, stroke, svg, targets, text } from "../core/svg.js";
import { decimal, shortWeight } from "../core/text.js";

const WIDE = 600;
const NAMES = { q: "query", k: "key", v: "value", out: "output" };
const LETTER = 6.3; // average width of a letter of 12 px

function layout(width, { names, show }) {
  const wide = width >= WIDE;
  const count = names.length;
  const bars = wide || count <= 4; // narrow with many tokens: the cells need all the room
  const [name, vec, gap, tall] = wide ? [62, 92, 14, 40] : [40, bars ? 38 : 0, 6, 34];
  const sum = show === "weights" && bars ? (wide ? 60 : 36) : 0;
  const out = show === "weights" ? vec : 0;
  const cell = Math.min(78, Math.floor((width - name - vec - out - sum - 3 * gap) / count));
  const x = { q: name, cells: name + vec + gap };
  x.sum = x.cells + count * cell;
  x.out = x.sum + sum + gap;
  const top = 88;
  return { width, wide, bars, count, name, vec, out, sum, cell, tall, row: tall + 4, x, top, end: top + count * (tall + 4) };
}

const target = targets("att");

// Four numbers as bars, up for plus and down for minus.
function vector(result, name, i, x, y, w, h, at) {
  const values = result[name][i];
  const [bar, middle] = [(w - 4) / values.length, y + h / 2];
  const inside = values.map((value, n) => {
    const size = Math.max(1.5, (Math.abs(value) / result.extent[name]) * (h / 2 - 3));
    return Math.abs(value) < 0.005 ? "" : signedBar(value, x + 3 + n * bar, middle, bar - 2, size, `att-bar-${name}`);
  });
  return box(x, y, w, h, `att-box-${name}`) + stroke(x + 2, middle, x + w - 2, middle, "att-zero") + inside.join("")
    + target(at, `${name}-${i}`, x, y, w, h, `${NAMES[name]} of ${result.names[i]}`);
}

// Pale under dark numbers, or nearly full under light ones: nothing between is legible.
function shade(result, i, j) {
  if (result.show === "weights") return result.weights[i][j] > 0.5 ? 0.92 : 0.9 * result.weights[i][j];
  const value = result.show === "dots" ? result.dots[i][j] : result.scores[i][j] * result.divide;
  return 0.45 * Math.min(1, Math.abs(value) / result.most);
}

function number(result, i, j, at) {
  const { show, mask, weights, dots, scores } = result;
  if (show === "scores" && mask === "before" && j > i) return "−∞";
  const value = { weights, dots, scores }[show][i][j];
  if (show !== "weights") return decimal(value, at.wide ? 2 : 1);
  return at.wide ? decimal(value) : shortWeight(value);
}

function cellOf(result, i, j, y, at) {
  const { show, mask, names, weights } = result;
  const [x, w] = [at.x.cells + j * at.cell + 1, at.cell - 2];
  const hidden = mask !== "none" && j > i && show !== "dots";
  const negative = show !== "weights" && (show === "dots" ? result.dots : result.scores)[i][j] < 0;
  const gone = hidden && (show === "weights" || mask === "before");
  const opacity = gone ? 0 : Math.round(100 * shade(result, i, j)) / 100;
  const style = j > i && show !== "dots" ? "att-cell-later" : "att-cell";
  const words = number(result, i, j, at);
  const strong = show === "weights" && weights[i][j] > 0.5;
  return box(x, y, w, at.tall, negative ? "att-fill-minus" : "att-fill", ` fill-opacity="${opacity}"`)
    + box(x, y, w, at.tall, style)
    + text(x + w / 2, y + at.tall / 2 + 4.5, words, strong ? "att-number-strong" : gone ? "att-quiet" : "att-number", MIDDLE)
    + target(at, `w-${i}-${j}`, x, y, w, at.tall, `${names[i]} looks at ${names[j]}: ${show === "dots" ? "q times k" : show.slice(0, -1)} ${words}`);
}

function lineOf(result, i, at) {
  const y = at.top + i * at.row;
  const middle = y + at.tall / 2 + 4.5;
  const cells = result.names.map((_, j) => cellOf(result, i, j, y, at));
  const sum = result.sums[i];
  const right = Math.abs(sum - 1) < 0.005;
  return text(0, middle, result.names[i], "att-token")
    + (at.bars ? vector(result, "q", i, at.x.q, y, at.vec, at.tall, at) : "") + cells.join("")
    + (at.sum ? text(at.x.sum + at.sum - 4, middle, at.wide ? `= ${decimal(sum)}` : decimal(sum), right ? "att-quiet" : "att-wrong", END) : "")
    + (at.out ? vector(result, "out", i, at.x.out, y, at.out, at.tall, at) : "");
}

// Above the cells the keys, below them the values: a column belongs to one token.
function columns(result, at) {
  const parts = result.names.map((name, j) => {
    const [x, w] = [at.x.cells + j * at.cell + 1, at.cell - 2];
    const values = result.show === "weights" ? vector(result, "v", j, x, at.end + 4, w, 36, at) : "";
    return text(x + w / 2, 34, name, at.cell < 40 ? "att-token-small" : "att-token", MIDDLE) + vector(result, "k", j, x, 44, w, 36, at) + values;
  });
  return parts.join("");
}

function headings(result, at) {
  const title = { dots: "q · k", scores: at.wide ? "scores: q · k, scaled" : "scores", weights: at.wide ? "weights: softmax of each row" : "weights" }[result.show];
  const middle = (x, w, words, y) => text(x + w / 2, y, words, "att-head", MIDDLE);
  const side = (words, y) => text(at.x.cells - 6, y, words, "att-word", END);
  return text(at.x.cells, 12, title, "att-head") + side("keys", 60) + (at.bars ? text(at.x.q + at.vec / 2, 80, at.wide ? "queries" : "", "att-word", MIDDLE) : "")
    + (at.out ? middle(at.x.out, at.out, at.wide ? "outputs" : "out", 80) : "")
    + (at.sum ? text(at.x.sum + at.sum - 4, 80, "sum", "att-quiet", END) : "")
    + (result.show === "weights" ? side("values", at.end + 26) : "");
}

// Words in as many lines as the width asks for.
function paragraph(words, y, width) {
  const lines = [""];
  for (const word of words.split(" ")) {
    if ((lines.at(-1).length + word.length) * LETTER > width - 4) lines.push("");
    lines[lines.length - 1] += `${word} `;
  }
  return { inside: lines.map((line, n) => text(0, y + 17 * n, line.trim(), "att-quiet")).join(""), bottom: y + 17 * (lines.length - 1) + 8 };
}

export function draw(result, { width = 720, live = false, label = "Queries, keys and the weights of each pair" } = {}) {
  const last = result.names.length - 1;
  const at = { ...layout(width, result), live, entry: `w-${last}-0` };
  const under = at.end + (result.show === "weights" ? 66 : 22);
  const legend = result.show === "dots" ? "Bars: four entries, positive up, negative down. Red: a negative product."
    : `Dashed: the key comes later than the query.${result.show === "scores" ? " Red: a negative score." : ` A row's weights times the values give its output.`}`;
  const note = paragraph(legend, under, width);
  return svg("att", width, note.bottom, { live, label },
    headings(result, at) + columns(result, at) + result.names.map((_, i) => lineOf(result, i, at)).join("")
    + note.inside);
}
