// The text in a line. What goes through in this state stands in a frame with a knob: it is dragged
// along the line and has the keys of a slider. Any token can be tapped.
import { keyed } from "./motion.js";
import { MIDDLE, box, grip, knob, targets, text } from "./svg.js";

const TALL = 28;
export const STRIP = 52; // so much room it takes

// Where each token stands: [left, width]. Narrow, they stand closer, and at last they get narrower.
function along(tokens, width) {
  const natural = tokens.map((token) => Math.max(24, 7.4 * token.length + 11));
  const rest = width - 4 - natural.reduce((sum, wide) => sum + wide);
  const gap = Math.max(1, Math.min(8, rest / (tokens.length - 1)));
  const fit = Math.min(1, width / (width - rest + gap * (tokens.length - 1)));
  let x = 2;
  return natural.map((wide) => {
    const place = [x, wide * fit];
    x += (wide + gap) * fit;
    return place;
  });
}

// The token that is nearest to a place across.
export function tokenAt(tokens, width, x) {
  const away = along(tokens, width).map(([left, wide]) => Math.abs(left + wide / 2 - x));
  return away.indexOf(Math.min(...away));
}

// `first` to `newest` are in the frame; `slider` is what a grip needs to know.
export function strip(name, at, tokens, { first, newest, ...slider }) {
  const places = along(tokens, at.width);
  const words = tokens.map((token, i) => {
    const [x, wide] = places[i];
    const style = i > newest ? "later" : i < first ? "token" : "newest";
    return keyed(at, `t-${i}`, box(x, 2, wide, TALL, `${name}-strip`) + text(x + wide / 2, 21, token, `${name}-${style}`, MIDDLE))
      + targets(name)(at, `t-${i}`, x, 2, wide, at.touch ? 44 : TALL, token);
  });
  const [left, end] = [places[first][0], places[newest][0] + places[newest][1]];
  const middle = (left + end) / 2;
  const frame = box(left, 2, end - left, TALL, `${name}-box-new`) + knob(middle, TALL + 4, `${name}-knob`);
  return words.join("") + keyed(at, "now", frame) + grip(name, at, "now", Math.min(left, middle - 12), 0, Math.max(24, end - left), 44, slider);
}
