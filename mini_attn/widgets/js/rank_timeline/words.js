// The time line in words: the sentence, the table, and what a part of it does.
import { count, whole } from "../core/text.js";
import { duration, scaled } from "../core/units.js";

export const NAMES = { contiguous: "ring, in order", zigzag: "ring, zigzag", ulysses: "Ulysses", tensor: "tensor parallel" };
export const percent = (share) => `${whole(100 * share)}%`;
const list = (words) => (words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words[0]);

export function stepWords({ phases, step }) {
  const { kind, what } = phases[step];
  if (kind === "round") return `Round ${step + 1} of ${phases.length}`;
  return kind === "attend" ? "Attention, each rank for its heads" : `All send: ${what}`;
}

function doing({ phases, step, ranks }) {
  const { kind, work, sent, seconds } = phases[step];
  if (kind === "send") return "nobody computes";
  const idle = work.flatMap((each, rank) => (each ? [] : [rank]));
  const waits = idle.length ? `; ${idle.length > 1 ? "ranks" : "rank"} ${list(idle)} ${idle.length > 1 ? "have" : "has"} nothing to do` : "";
  const slow = sent && sent === seconds ? `, and all wait for the message` : "";
  return `${idle.length ? `${ranks - idle.length} of ${ranks}` : "all"} ranks compute${waits}${slow}`;
}

export function describe(result) {
  const { idle, seconds, bytes } = result;
  return `${stepWords(result)}: ${doing(result)}. The layer takes ${duration(seconds)}, and ${percent(idle)} of the devices' time is waiting. Each device sends ${scaled(bytes, "B")}.`;
}

export function table(result) {
  const { phases, scheme, all, tokens, ranks, link } = result;
  const rest = ({ work, seconds }) => work.map((each) => percent(seconds ? each / seconds : 0)).join(", ");
  return {
    caption: `${NAMES[scheme]}, ${count(ranks, "device")}, ${whole(tokens)} tokens, ${link} GB/s. All schemes: ${all.map((one) => `${NAMES[one.scheme]} ${duration(one.seconds)}, ${percent(one.idle)} waiting, ${whole(one.values)} values per token`).join("; ")}`,
    head: ["step", "takes", "ranks compute for", "each sends, values per token"],
    rows: phases.map((phase, i) => [`${i + 1}`, duration(phase.seconds), rest(phase), whole(phase.values)]),
  };
}

function explainPart({ phases, scheme, held }, t, rank) {
  const { kind, from, pairs, work, seconds, what, values, sent } = phases[t];
  if (kind === "send") return `All ranks send: ${what}. ${whole(values)} values per token, ${duration(seconds)}.`;
  const took = `${whole(pairs[rank])} pairs of query and key, ${duration(work[rank])} of ${duration(seconds)}`;
  if (kind === "attend") return `Rank ${rank} attends with its share of the heads, over all tokens: as much as ${took}.`;
  const chunks = list(held[rank].map((chunk) => chunk + 1));
  const message = values ? ` Meanwhile the next block comes, ${duration(sent)}.` : "";
  const where = scheme === "zigzag" ? `, chunks ${chunks} of ${2 * held.length}` : "";
  return `Round ${t + 1}: the queries of rank ${rank}${where} meet the keys of rank ${from[rank]}. ${pairs[rank] ? took : "All of these keys come later in the text, so there's nothing to compute"}.${message}`;
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [kind, a, b] = id.split("-");
  if (kind === "part") return { text: explainPart(result, Number(a), Number(b)), also: [] };
  if (kind === "bar") {
    const { values, seconds, idle, bytes } = result.all.find(({ scheme }) => scheme === a);
    return { text: `${NAMES[a]}: ${duration(seconds)}, ${percent(idle)} of it waiting. Each device sends ${whole(values)} values per token and layer, ${scaled(bytes, "B")} in all.`, also: [] };
  }
  const { ranks, scheme } = result;
  const who = { zigzag: "A rank has one chunk from the front and its mirror image from the back", contiguous: "A rank has two chunks that follow each other" }[scheme] ?? "Each rank computes all of it, for its heads";
  return { text: `${stepWords(result)}. The text in ${2 * ranks} chunks: queries downward, keys to the right; above the diagonal is the future. ${who}.`, also: [] };
}
