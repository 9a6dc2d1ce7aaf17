// A model's layers as a strip, the four factors of its cache, and the memory of the device.
import { END, box, hatching, inLines, round, text } from "../core/svg.js";
import { escape } from "../core/text.js";
import { layerRuns } from "./compute.js";
import { factorName, fewer, grouped, kindName, number, size } from "./words.js";

const MOST_LINES = 130; // more layers have no lines between them

// Areas with words, as many lines as they need.
function key(entries, y, width, fills) {
  const lines = inLines(entries, y, { width, lead: 22, gap: 14, line: 19, letter: 6.5 }, (kind, words, x, bottom) =>
    box(x + 0.5, bottom + 2, 13, 11, `ym-${kind}`, fills[kind] ?? "", 2) + text(x + 20, bottom + 12, words, "ym-quiet"));
  return { inside: lines.inside, bottom: lines.bottom + 19 };
}

function strip({ model }, y, { width, uid }) {
  const runs = layerRuns(model);
  const each = width / model.n_layers;
  const fills = { window: ` fill="url(#${uid}-window)"` };
  const counted = new Map();
  let at = 0;
  const row = runs.map(({ layers, kind, experts, reads }) => {
    const x = at * each;
    at += layers;
    counted.set(kind, (counted.get(kind) ?? 0) + layers);
    const rest = experts ? "experts" : model.mlp_matrices ? "dense" : "none";
    if (rest !== "none") counted.set(rest, (counted.get(rest) ?? 0) + layers);
    if (reads) counted.set("reads", (counted.get("reads") ?? 0) + layers);
    return box(x, y + 24, layers * each, 26, `ym-${kind}`, fills[kind] ?? "", 0) + (reads ? box(x, y + 24, layers * each, 17, "ym-reads", "", 0) : "") + box(x, y + 53, layers * each, 9, `ym-${rest}`, "", 0);
  });
  const lines = model.n_layers > MOST_LINES ? "" : Array.from({ length: model.n_layers - 1 }, (_, i) => `M${round((i + 1) * each)} ${y + 23}v40`).join("");
  const words = { dense: "MLP", experts: `MLP of ${grouped(model.n_experts)} experts`, reads: "reads another's cache" };
  const mlps = ["reads", "dense", "experts"]; // below the kinds of attention, as in the strip
  const entries = [...counted].sort(([a], [b]) => mlps.indexOf(a) - mlps.indexOf(b)).map(([kind, layers]) => [kind, `${grouped(layers)} × ${words[kind] ?? kindName(kind, model)}`]);
  const legend = key(entries, y + 68, width, fills);
  return {
    inside: `${text(0, y + 13, `${grouped(model.n_layers)} layer${model.n_layers > 1 ? "s" : ""}`, "ym-title")}${row.join("")}<path d="${lines || "M0 0"}" class="ym-between"/>${legend.inside}`,
    bottom: legend.bottom,
  };
}

// What would be 1 in a model with a KV head for each query head, full layers and 16 bits.
function factorRow({ key: name, value, plain }, y, width, i) {
  const bar = width < 400 ? 138 : 150, room = width - bar - (width < 400 ? 122 : 148);
  const most = Math.max(value, plain);
  const less = fewer({ value, plain });
  const style = value < plain ? "ym-shrunk" : "ym-same";
  return text(0, y + 13, `${i ? "× " : ""}${factorName(name)}`, less ? "ym-name ym-strong" : "ym-name")
    + box(bar, y + 2, (room * plain) / most, 14, "ym-plain", "", 2)
    + box(bar, y + 2, Math.max(1.5, (room * value) / most), 14, style, "", 2)
    + text(width, y + 13, less ? `${number(value)}, ${less}` : number(value), less ? "ym-number ym-strong" : "ym-number", END);
}

function factors(cost, y, { width }) {
  const rows = cost.factors.map((factor, i) => factorRow(factor, y + 22 + 23 * i, width, i));
  const bottom = y + 22 + 23 * rows.length;
  const state = cost.state_bytes ? `${size(cost.total_bytes - cost.state_bytes)} + ${size(cost.state_bytes)} of state` : size(cost.total_bytes);
  const said = `= ${state} for ${grouped(cost.sizes.context)} token${cost.sizes.context > 1 ? "s" : ""}${cost.sizes.batch > 1 ? ` × ${grouped(cost.sizes.batch)} sequences` : ""}`;
  return { inside: `${text(0, y + 13, "Its cache", "ym-title")}${rows.join("")}${text(width, bottom + 14, said, "ym-number ym-strong", END)}`, bottom: bottom + 20 };
}

function memory(cost, y, { width, uid }) {
  const [weights, cache, all] = [cost.weight_bytes, cost.total_bytes, cost.device_bytes].map(Number);
  const most = Math.max(all, weights + cache);
  const x = (bytes) => (bytes / most) * width;
  const over = weights + cache > all;
  const limit = over ? `<line x1="${round(x(all))}" x2="${round(x(all))}" y1="${y + 18}" y2="${y + 46}" class="ym-limit"/>` : "";
  const legend = key([
    ["weights", `weights ${size(cost.weight_bytes)}`], ["cache", `cache ${size(cost.total_bytes)}`],
    over ? ["over", `${size(BigInt(Math.round(weights + cache - all)))} too much`] : ["free", `free ${size(cost.device_bytes - cost.weight_bytes - cost.total_bytes)}`],
  ], y + 50, width, { over: ` fill="url(#${uid}-over)"` });
  return {
    inside: text(0, y + 13, `Memory: ${cost.device_name}`, "ym-title")
      + box(0.5, y + 22, x(most) - 1, 20, "ym-free", "", 2)
      + box(0, y + 22, Math.max(1.5, x(weights)), 20, "ym-weights", "", 0)
      + box(x(weights), y + 22, Math.max(1.5, x(cache)), 20, "ym-cache", "", 0)
      + (over ? box(x(all), y + 22, x(weights + cache - all), 20, "ym-over", ` fill="url(#${uid}-over)"`, 0) : "")
      + limit + legend.inside,
    bottom: legend.bottom,
  };
}

function inside(cost, at) {
  const layers = strip(cost, 0, at);
  if (cost.error) return layers;
  const product = factors(cost, layers.bottom + 12, at);
  const device = memory(cost, product.bottom + 12, at);
  return { inside: layers.inside + product.inside + device.inside, bottom: device.bottom };
}

const patterns = (uid) => hatching(`${uid}-window`, "ym-hatch", 5) + hatching(`${uid}-over`, "ym-alarm", 6);

export function draw(cost, { width, uid, label }) {
  const made = inside(cost, { width: width - 1, uid });
  return `<svg xmlns="http://www.w3.org/2000/svg" class="ym-picture" viewBox="0 0 ${width} ${Math.ceil(made.bottom)}" width="${width}" height="${Math.ceil(made.bottom)}" role="img" aria-label="${escape(label)}">${patterns(uid)}${made.inside}</svg>`;
}

// Both pictures with their names, side by side, as a drawing that stands alone.
export function together(costs, style) {
  const [width, gap, top] = [460, 40, 34];
  const parts = costs.map((cost, i) => ({ ...inside(cost, { width, uid: `ym${i}` }), title: cost.title }));
  const [whole, tall] = [20 + costs.length * (width + gap) - gap + 20, Math.max(...parts.map(({ bottom }) => bottom)) + top + 20];
  const all = parts.map((part, i) => `<g transform="translate(${20 + i * (width + gap)} ${top})">${text(0, -12, part.title, "ym-head")}${patterns(`ym${i}`)}${part.inside}</g>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" class="ym-picture" viewBox="0 0 ${whole} ${Math.ceil(tall)}" width="${whole}" height="${Math.ceil(tall)}"><style>${style}</style><rect width="100%" height="100%" fill="#ffffff"/>${all.join("")}</svg>`;
}
