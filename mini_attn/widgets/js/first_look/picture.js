// Four words as rows and columns; beside each row what its word takes, as a bar of shares.
import { MIDDLE, box, svg, targets, text } from "../core/svg.js";
import { decimal } from "../core/text.js";

const NAME = 56;
const TOP = 30;
const GAP = 6;
const onTarget = targets("first", 4);

function layout(width) {
  const wide = width >= 560;
  const cell = Math.min(76, ((wide ? 0.56 : 1) * width - NAME) / 4 - GAP);
  const tall = wide ? Math.min(52, cell) : 40;
  const end = NAME + 4 * (cell + GAP);
  return { width, wide, cell, tall, x: (i) => NAME + i * (cell + GAP), y: (i) => TOP + i * (tall + (wide ? GAP : 22)), bar: wide ? [end + 18, width] : [NAME, end - GAP] };
}

// What a row shows by now: nothing, its scores, its shares.
const stage = ({ word, beat }, i) => (i < word ? 2 : i > word ? -1 : beat);

function cells(result, at, i) {
  const shown = stage(result, i);
  return result.tokens.slice(0, i + 1).map((token, j) => {
    const [x, y] = [at.x(j), at.y(i)];
    const [weight, score] = [result.weights[i][j], result.scores[i][j]];
    const fill = shown > 0 ? box(x, y, at.cell, at.tall, "first-weight", ` fill-opacity="${decimal(0.04 + 0.96 * weight)}"`) : "";
    const number = shown < 0 ? "" : decimal(shown ? weight : score);
    const on = shown > 0 && weight > 0.5 ? "first-number first-on" : "first-number";
    return box(x, y, at.cell, at.tall, "first-cell") + fill
      + text(x + at.cell / 2, y + at.tall / 2 + 5, number, on, MIDDLE)
      + onTarget(at, `cell-${i}-${j}`, x, y, at.cell, at.tall, `${result.tokens[i]} looks at ${token}`);
  }).join("");
}

// The mixture: a share of each word, as wide as its weight.
function mixture(result, at, i) {
  const [from, to] = at.bar;
  const high = at.wide ? at.tall : 16;
  const y = at.wide ? at.y(i) : at.y(i) + at.tall + 3;
  const frame = box(from, y, to - from, high, "first-frame");
  if (stage(result, i) < 2) return frame;
  let x = from;
  const parts = result.weights[i].map((weight, j) => {
    const wide = weight * (to - from);
    const word = result.tokens[j];
    const room = wide > 9 * word.length + 8;
    const part = box(x, y, wide, high, `first-part first-part-${j}`)
      + (room ? text(x + wide / 2, y + high / 2 + (at.wide ? 5 : 4), word, "first-share", MIDDLE) : "");
    x += wide;
    return part;
  });
  return frame + parts.join("");
}

export function draw(result, { width = 720, live = false, label = "How much each of four words takes from the others" } = {}) {
  const at = { ...layout(width), live, entry: `row-${result.word}` };
  const heads = result.tokens.map((token, j) => text(at.x(j) + at.cell / 2, 18, token, "first-word", MIDDLE));
  const takes = at.wide ? text(at.bar[0], 18, "what it takes", "first-word") : "";
  const rows = result.tokens.map((token, i) => {
    const now = i === result.word ? "first-word first-now" : "first-word";
    const y = at.y(i);
    return text(0, y + at.tall / 2 + 5, token, now) + cells(result, at, i) + mixture(result, at, i)
      + onTarget(at, `row-${i}`, 0, y, NAME - 4, at.tall, `the row of ${token}`);
  });
  const height = at.y(3) + at.tall + (at.wide ? 4 : 22);
  return svg("first", width, height, { live, label }, heads.join("") + takes + rows.join(""));
}
