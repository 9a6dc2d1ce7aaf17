// The comparison in words: the sentence, the table, and the arithmetic behind each bar.
import { count, decimal, whole } from "../core/text.js";
import { duration, scaled } from "../core/units.js";

export const METRICS = [
  { key: "cache", title: "Cache", more: "all sequences" },
  { key: "flops", title: "Attention FLOPs", more: "per sequence" },
  { key: "step", title: "Shortest step", more: "bound, all sequences" },
  { key: "fit", title: "Sequences that fit", more: "next to the weights" },
];
const three = (value) => String(Number(value.toPrecision(3)));

const amount = (value, unit) => scaled(value, unit, three);
const bytes = (value) => amount(value, "B");
const seconds = (value) => duration(value, three);

export function shown(key, value) {
  if (key === "fit") return whole(value);
  return key === "cache" ? bytes(value) : key === "flops" ? amount(value, "FLOP") : seconds(value);
}

// Without its size: "Grouped" of "Grouped, 8 KV".
export const kindOf = ({ short }) => short.split(",")[0];

// As a sentence names it: "grouped (8 KV)".
function named({ short }) {
  const [kind, size] = short.split(", ");
  return kind.toLowerCase() + (size ? ` (${size})` : "");
}

const listed = (words) => [words.slice(0, -1).join(", "), words.at(-1)].filter(Boolean).join(" and ");

const WINS = { cache: "keeps least", flops: "computes least", step: "has the shortest step", fit: "fits most often" };

export function describe(result) {
  const { rows, batch, context, base, device_name: device, measure: key, best } = result;
  const plain = rows[0];
  const out = rows.filter((row) => !row.fits);
  const winner = rows.findLast((row) => row[key] === best[key] && (row.fits || key === "flops" || key === "fit"));
  const who = winner ? `${named(winner)} ${WINS[key]}, ${shown(key, winner[key])}; ${named(plain)}: ${shown(key, plain[key])}.` : `${named(plain)}: ${shown(key, plain[key])}.`;
  const fits = !out.length ? `All fit on one ${device}.`
    : out.length === rows.length ? `None of them fits on one ${device}.`
      : `On one ${device}, ${listed(out.map(named))} ${out.length > 1 ? "don't" : "doesn't"} fit.`;
  return `${base}'s shape, ${whole(batch)} × ${whole(context)} tokens: ${who} ${fits}`;
}

export function table(result) {
  return {
    caption: `${result.base} with each kind of attention, bfloat16, ${whole(result.batch)} × ${whole(result.context)} tokens, ${result.device_name}`,
    head: ["", "values per token and layer", "cache", "attention FLOPs per sequence", "FLOP/B of the cache", "shortest step", "bound by", "sequences that fit"],
    rows: result.rows.map((row) => [
      row.short, whole(row.numbers), bytes(row.cache), amount(row.flops, "FLOP"), decimal(row.intensity, 1),
      seconds(row.step), row.bound, whole(row.fit),
    ]),
  };
}

function explainCache(result, row) {
  const tokens = row.fields.filter((field) => field.tokens === 1);
  const means = row.fields.filter((field) => field.tokens > 1);
  const listing = (some) => some.map(({ name, numbers }) => `${whole(numbers)} (${name})`).join(" + ");
  const fields = listing(tokens);
  if (means.length) {
    const blocks = count(Math.floor(row.kept / means[0].tokens), "complete block");
    return `${row.title}: ${count(result.batch, "sequence")} × ${row.n_layers} layers × ${result.number_bytes} bytes × (${count(row.kept, "token")} × (${fields}) + ${blocks} × (${listing(means)})) values = ${bytes(row.cache)}.`;
  }
  const kept = row.window ? `the last ${whole(row.kept)} tokens of ${whole(result.context)}` : `${whole(row.kept)} tokens`;
  return `${row.title}: ${count(result.batch, "sequence")} × ${kept} × ${row.n_layers} layers × ${result.number_bytes} bytes × (${fields}) values = ${bytes(row.cache)}.`;
}

function explainPart({ name, flops, bytes: moved, reading, computing, seconds: longer }, device) {
  const work = reading >= computing ? `${bytes(moved)} at ${bytes(device.bytes_per_second)}/s` : `${amount(flops, "FLOP")} at ${amount(device.flops_per_second, "FLOP")}/s`;
  return `${name} ${seconds(longer)} (${work})`;
}

function explainStep({ device }, row) {
  const fits = row.fits ? "" : " The cache doesn't fit on the device, so this step can't run there.";
  const parts = row.parts.map((part) => explainPart(part, device)).join(" + ");
  return `${row.title}: ${parts} = ${seconds(row.step)}, one after the other. It's bound by ${row.bound}.${fits}`;
}

// What stands behind a bar.
export function explain(result, id) {
  const [key, i] = id.split("-");
  if (id === "context") return { text: "Drag the line, or move it with the left and right arrow keys.", also: [] };
  if (key === "show") return { text: Number.isFinite(result.best[i]) ? `${shown(i, result.best[i])} is the best here. A tap shows the curves.` : "None of them fits here.", also: [] };
  const row = result.rows[Number(i)];
  if (key === "cache") return { text: explainCache(result, row), also: [] };
  if (key === "flops" && row.read_by) {
    const { means, selected, near } = row.read_by;
    return { text: `${row.title}: scores and weighted sums of one new token, ${amount(row.pair_flops, "FLOP")} per key in all layers × (${whole(means)} means + ${whole(selected)} keys of chosen blocks + ${whole(near)} of the window) = ${amount(row.flops, "FLOP")}.`, also: [] };
  }
  if (key === "flops" && row.scanned) {
    return { text: `${row.title}: scores and weighted sums of one new token, ${amount(row.pair_flops, "FLOP")} per key in all layers × ${whole(row.attended)} keys, and the choice of keys, ${amount(row.scan_flops, "FLOP")} × ${whole(row.scanned)} keys = ${amount(row.flops, "FLOP")}.`, also: [] };
  }
  if (key === "flops") {
    return { text: `${row.title}: scores and weighted sums of one new token, ${amount(row.pair_flops, "FLOP")} per key in all layers × ${whole(row.kept)} keys = ${amount(row.flops, "FLOP")}; ${decimal(row.intensity, 1)} FLOPs per byte of cache.`, also: [] };
  }
  if (key === "step") return { text: explainStep(result, row), also: [`cache-${i}`] };
  const room = row.room > 0 ? `leaves ${bytes(row.room)}` : "leaves nothing";
  return { text: `${row.title}: ${bytes(result.device.memory_bytes)} of memory minus ${bytes(row.weights)} of weights ${room}. One sequence of ${whole(result.context)} tokens takes ${bytes(row.one)}, so ${whole(row.fit)} fit.`, also: [`cache-${i}`] };
}
