// The ring in words: the sentence, the table, and the arithmetic behind tokens, slots and bars.
import { decimal, terms, whole } from "../core/text.js";

export const KINDS = { new: "new", held: "held", gone: "overwritten", later: "still to come" };

export function describe({ rows, newest, window, overwritten, lost, head }) {
  const slot = `“${rows[newest].token}” is token ${newest} and goes into slot ${newest} mod ${window} = ${newest % window}`;
  const over = overwritten === null ? "" : `, over “${rows[overwritten].token}” (token ${overwritten})`;
  const loss = lost ? ` Without the window, head ${head} would give ${whole(Math.round(100 * lost))}% of its attention to what's gone.` : "";
  return `${slot}${over}.${loss}`;
}

export function table({ rows, window, head, kept_ring: ring, kept_all: all }) {
  const cell = (value) => (value === null ? "–" : decimal(value));
  return {
    caption: `Window ${window}, weights of head ${head}; the ring can hold ${whole(ring)} values, a cache of all tokens holds ${whole(all)}`,
    head: ["token", "position", "slot", "state", "weight with the window", "weight without"],
    rows: rows.map(({ token, position, slot, kind, weight, full }) => [
      token, String(position), kind === "later" || kind === "gone" ? "–" : String(slot), KINDS[kind], cell(weight), cell(full),
    ]),
  };
}

function explainToken({ rows, newest, window }, i) {
  const { token, position, slot, kind } = rows[i];
  const where = `${position} mod ${window} = ${slot}`;
  const away = newest - position;
  if (kind === "later") return `“${token}” is still to come. It will go into slot ${where}.`;
  if (kind === "gone") return `“${token}” (token ${position}) is ${away} positions back, and ${away} isn't below ${window}, so no query attends to it anymore. Its slot, ${where}, now holds token ${position + window * Math.floor(away / window)}.`;
  return `“${token}” (token ${position}) is in slot ${where}. It's ${away} positions back, and ${away} is below ${window}, so it's in the window.`;
}

function explainSlot({ rows, slots, newest, window }, s) {
  const position = slots[s];
  if (position === null) return `Slot ${s} is empty, because fewer than ${window} tokens have come.`;
  const next = position + window;
  const until = position === newest ? "just now" : `${newest - position} ago`;
  return `Slot ${s} holds “${rows[position].token}”, token ${position}, since ${position} mod ${window} = ${s}; written ${until}. Token ${next} will overwrite it. In memory, the ring is in the order of its slots, not of the text.`;
}

function explainBar({ rows, newest, first, q, keys, scale, head }, i) {
  const { token, kind, score, weight, full } = rows[i];
  const query = rows[newest].token;
  if (kind === "later") return `“${token}” is still to come.`;
  const made = `Head ${head}, “${query}” looks at “${token}”: (${terms(q, keys[i])}) times ${decimal(scale, 1)} = ${decimal(score)}.`;
  if (kind === "gone") return `${made} Without the window, its weight would be ${decimal(full)}. But the key is overwritten, so its weight is 0.`;
  const sum = first ? `the ${newest - first + 1} keys that are held` : "all keys";
  return `${made} Softmax over ${sum}: ${decimal(weight, 3)}; over all ${newest + 1}: ${decimal(full, 3)}.`;
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, n] = id.split("-");
  const i = Number(n ?? result.newest);
  if (name === "slot") {
    const position = result.slots[i];
    return { text: explainSlot(result, i), also: position === null ? [] : [`token-${position}`, `bar-${position}`] };
  }
  const { kind, slot } = result.rows[i];
  const there = kind === "new" || kind === "held" ? [`slot-${slot}`] : [];
  return name === "token" ? { text: explainToken(result, i), also: there } : { text: explainBar(result, i), also: [...there, `token-${i}`] };
}
