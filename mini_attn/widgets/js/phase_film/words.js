// The film in words: the sentence, the table, and what each head does at a moment.
import { count, decimal, quote, whole } from "../core/text.js";

const CLEAR = 0.3; // a share of a head's weight that is no accident

// Names of the heads whose score is clear, those with more first.
const clear = (heads, key) => heads.filter((head) => head[key] >= CLEAR).sort((a, b) => b[key] - a[key]).map(({ name }) => name);

const named = (names, one, many) => (names.length ? `${names.join(", ")} ${names.length > 1 ? many : one}` : "");

const MARKS = { none: "", before: " Outlined: the word before each word.", copies: " Outlined: what followed the first copy of each word." };

export function describe({ step, copying, stories, heads, mark }) {
  const back = named(clear(heads, "previous"), "looks at the word before", "look at the word before");
  const copy = named(clear(heads, "induction"), "looks just after earlier copies of its word", "look just after earlier copies of their word");
  const roles = [back, copy].filter(Boolean).join("; ") || "no head looks at the word before, and none just after earlier copies of its word";
  return `After ${count(step, "step")} a word that could be copied costs ${decimal(copying, 3)} nats, a word of a story ${decimal(stories, 3)}; ${roles}.${MARKS[mark]}`;
}

export function table({ step, heads, copying, stories, right }) {
  return {
    caption: `The eight heads after ${whole(step)} steps; copying costs ${decimal(copying, 3)} nats per word, stories ${decimal(stories, 3)}, and ${decimal(100 * right, 1)}% of the questions about who has what, and where, are answered right`,
    head: ["head", "weight on the word before", "weight just after earlier copies"],
    rows: heads.map(({ name, previous, induction }) => [name, decimal(previous, 3), decimal(induction, 3)]),
  };
}

// What stands behind a head's map or a moment on the curves.
export function explain(result, id) {
  const [kind, one, two] = id.split("-");
  if (kind === "frame") {
    const moment = result.moments[one];
    return { text: `Step ${whole(moment.step)}: ${decimal(moment.copying, 3)} nats for a word that could be copied, ${decimal(moment.stories, 3)} for a word of a story.`, also: [] };
  }
  const { name, previous, induction, map } = result.heads.find(({ layer, head }) => layer === Number(one) && head === Number(two));
  const last = map.at(-1);
  const most = last.indexOf(Math.max(...last));
  const words = result.words;
  return {
    text: `${name}: on average ${decimal(previous)} of its weight is on the word before, ${decimal(induction)} on words that follow an earlier copy of the current word. In the map's last row ${quote(words.at(-1))} gives most to ${most === words.length - 1 ? "itself" : `${quote(words[most])}, word ${most} of ${words.length - 1}`}.`,
    also: [],
  };
}
