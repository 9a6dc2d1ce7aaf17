// Reads the language of stories word by word and knows the chance of each next one: the steps of
// mini_attn/stories/reading.py, for one row. The language itself is data/stories.json.

const scaled = (belief, total) => belief.map((chance) => (total > 0 ? chance / total : 0));
const sum = (row) => row.reduce((total, value) => total + value, 0);

// The data with its ways spelt out: "slot>node:chance", the chance left out where it is 1.
export function openLanguage(data) {
  const way = (text) => {
    const [, slot, then, weight = "1"] = text.match(/^(\d+)>(\d+)(?::(.+))?$/);
    return { ...data.slots[slot], then: Number(then), weight: Number(weight) };
  };
  return { ...data, nodes: data.nodes.map((text) => text.split(" ").map(way)) };
}

// A node of the machine and what its registers hold; outside of the language there is no way on.
function storyReader({ words, nodes, classes, forms, orders, registers }) {
  let ways = nodes[0];
  let held = Array(registers).fill(0);
  const said = ({ word, form, register }) => word ?? forms[form][held[register]];
  const free = ({ drawn }) => classes[drawn].filter((word) => !held.includes(word));
  const says = (way) => ("drawn" in way ? free(way) : [said(way)]);
  return {
    probabilities() {
      const chances = Array(words.length).fill(0);
      for (const way of ways) {
        const said = says(way);
        for (const word of said) chances[word] += way.weight / said.length;
      }
      return chances;
    },
    step(word) {
      const way = ways.find((one) => says(one).includes(word));
      if (!way) {
        ways = [];
        return 0;
      }
      const chance = way.weight / says(way).length;
      if ("drawn" in way) held[way.register] = word;
      held = orders[way.order].map((from) => held[from]);
      ways = nodes[way.then];
      return chance;
    },
    // The next word where it has to be recalled, else null.
    asked() {
      const way = ways.find((one) => one.asked);
      return way ? said(way) : null;
    },
  };
}

// A block of words, no two alike, again and again: the first that comes again says how long it is.
function repeatReader({ words, periods: [least, most] }) {
  let block = null; // until word 0 is read
  let period = 0; // until it has shown
  let read = 0;
  let inside = true;
  const over = () => (period ? 1 : read < least ? 0 : 1 / (most + 1 - read));
  const chanceOf = (word) => {
    if (!inside) return 0;
    if (!block) return Number(word === 0);
    const fresh = word && !block.includes(word) ? (1 - over()) / (words.length - 1 - block.length) : 0;
    return fresh + (word === block[period ? read % period : 0] ? over() : 0);
  };
  return {
    probabilities: () => words.map((_, word) => chanceOf(word)),
    step(word) {
      const chance = chanceOf(word);
      inside &&= chance > 0;
      if (!inside) return 0;
      if (!block) {
        block = [];
        return chance;
      }
      if (!period && block.includes(word)) period = block.length;
      if (!period) block.push(word);
      read += 1;
      return chance;
    },
  };
}

function mixtureReader(language, share) {
  const parts = [storyReader(language), repeatReader(language)];
  let belief = [share, 1 - share];
  return {
    probabilities() {
      const [stories, repeats] = parts.map((part) => part.probabilities());
      return stories.map((chance, word) => belief[0] * chance + belief[1] * repeats[word]);
    },
    step(word) {
      const next = parts.map((part, i) => belief[i] * part.step(word));
      const chance = sum(next);
      belief = scaled(next, chance);
      return chance;
    },
  };
}

// Has probabilities() and step(word), which gives the chance that the word had.
export function reader(language, { kind = "mixture", share = language.share } = {}) {
  if (kind === "stories") return storyReader(language);
  return kind === "repeats" ? repeatReader(language) : mixtureReader(language, share);
}

// The chances after each word; zeros from where the row leaves the language.
export function rowProbabilities(language, ids, options) {
  const reading = reader(language, options);
  return ids.map((word) => {
    reading.step(word);
    return reading.probabilities();
  });
}

// The chances after a prefix, null where it cannot occur.
export function nextProbabilities(language, prefix, options) {
  const chances = rowProbabilities(language, prefix, options).at(-1);
  return chances.some((chance) => chance > 0) ? chances : null;
}
