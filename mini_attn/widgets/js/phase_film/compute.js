// A moment of the film: measured numbers, and the maps of a short row, all of them stored.
import film from "../data/film.json" with { type: "json" };

export const { frames } = film;
const size = film.words.length;

// The lower triangle of a map, row by row in a text of digits that count ninths, as shares of 1.
function unpacked(digits) {
  const rows = [];
  for (let i = 0, at = 0; i < size; at += ++i) {
    rows.push(Array.from(digits.slice(at, at + i + 1), (digit) => Number(digit) / 9));
  }
  return rows;
}

// Where a head of a kind would look, for each word of the short row: the word before, or what
// followed an earlier copy of it.
const { words } = film;
const looks = {
  none: [],
  before: words.flatMap((_, i) => (i ? [[i, i - 1]] : [])),
  copies: words.flatMap((word, i) => words.slice(0, i).flatMap((other, j) => (other === word ? [[i, j + 1]] : []))),
};

export function compute({ frame, mark }) {
  const { step, copying, stories, right, previous, induction, maps } = frames[frame];
  const heads = maps.flatMap((layer, l) => layer.map((digits, h) => ({
    name: `L${l}H${h}`, layer: l, head: h, previous: previous[l][h], induction: induction[l][h], map: unpacked(digits),
  })));
  return {
    frame, mark, step, copying, stories, right, heads, words, marked: looks[mark], floor: film.floor, curve: film.curve, guess: film.guess,
    moments: frames.map((one) => ({ step: one.step, copying: one.copying, stories: one.stories })),
  };
}
