// The tile stepper in words: the sentence, the table, and what stands behind each number.
import { count, decimal, whole } from "../core/text.js";

const short = (value) => decimal(value).replace(/\.?0+$/, "");
const times = (n) => (n === 0 ? "not yet" : n === 1 ? "once" : n === 2 ? "twice" : `${whole(n)} times`);
const bytesOf = (numbers, { number_bytes: each }) => numbers * each;

// FLOPs for each byte that was moved; 0 before anything moved.
export function intensity(result, flops, numbers) {
  return numbers ? flops / bytesOf(numbers, result) : 0;
}

export const sizeOf = (tile) => `${tile} × ${tile}`;

export function describe(result) {
  const { tile, flops, all_flops: all, moved, curves, step, steps } = result;
  const ends = curves[tile][steps];
  if (step === 0) return `Nothing is read yet. With tiles of ${sizeOf(tile)}, the ${whole(all)} FLOPs will move ${whole(ends)} numbers.`;
  const per = `${decimal(intensity(result, flops, moved.numbers))} FLOP per byte`;
  if (step === steps) return `Done with tiles of ${sizeOf(tile)}: ${whole(flops)} FLOPs, ${whole(ends)} numbers moved, ${per}.`;
  return `Tiles of ${sizeOf(tile)}: ${whole(flops)} of ${whole(all)} FLOPs done, ${count(moved.numbers, "number")} moved, ${per}. At the end it will be ${whole(ends)}.`;
}

export function table(result) {
  const { curves, steps, step, rows, k, n, all_flops: all, flops } = result;
  const lines = Object.entries(curves).map(([tile, line]) => [
    sizeOf(tile) + (Number(tile) === result.tile ? " (shown)" : ""), whole(line[step]), whole(line[steps]),
    whole(bytesOf(line[steps], result)), decimal(intensity(result, all, line[steps])),
  ]);
  return {
    caption: `(${rows}, ${k}) times (${k}, ${n}) in float32: ${whole(flops)} of ${whole(all)} FLOPs done`,
    head: ["tile", "numbers moved so far", "at the end", "bytes at the end", "FLOP per byte at the end"],
    rows: lines,
  };
}

function explainOperand(result, name, i, j) {
  const entry = result[name][i][j];
  const needed = name === "a" ? result.n : result.rows;
  const what = name === "a" ? `Number ${j + 1} of x for “${result.tokens[i]}”` : `Row ${i + 1}, column ${j + 1} of W_q`;
  const where = entry.held ? " It's in fast memory now." : entry.reads ? " It isn't held now, so the next use reads it again." : "";
  const many = `${whole(needed)} ${needed === 1 ? "entry" : "entries"}`;
  return `${what}: ${short(entry.value)}. ${many} of the product ${needed === 1 ? "needs" : "need"} it; read ${times(entry.reads)}${entry.reads ? " so far" : ""}.${where}`;
}

function explainResult(result, i, j) {
  const { terms, value, finished } = result.c[i][j];
  const name = `Entry ${j + 1} of the query of “${result.tokens[i]}”`;
  if (!terms.length) return `${name}: not started.`;
  const sum = terms.map(([x, y]) => `${short(x)} · ${short(y)}`).join(" + ");
  return `${name}: ${sum} = ${decimal(value)}. ${finished ? `Finished: ${whole(result.k)} multiply-adds, written once.` : `${whole(terms.length)} of ${whole(result.k)} multiply-adds done; the sum so far stays in fast memory.`}`;
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, first, second] = id.split("-");
  if (name === "line") {
    const ends = result.curves[first][result.steps];
    const mark = `${whole(result.all_flops)} FLOPs / (${whole(ends)} numbers · ${result.number_bytes} bytes) = ${decimal(intensity(result, result.all_flops, ends))} FLOP per byte`;
    return { text: `Tiles of ${sizeOf(first)}: ${whole(ends)} numbers moved at the end. ${mark}.`, also: [] };
  }
  if (name === "knob") return { text: "Drag it to another tile of q, or step with the arrow keys.", also: [] };
  const [i, j] = [Number(first), Number(second)];
  if (name !== "c") return { text: explainOperand(result, name, i, j), also: [] };
  const also = Array.from({ length: result.k }, (_, p) => [`a-${i}-${p}`, `b-${p}-${j}`]).flat();
  return { text: explainResult(result, i, j), also };
}
