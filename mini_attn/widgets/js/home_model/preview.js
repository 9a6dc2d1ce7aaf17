// What a shared link to the first page shows: the picture with the head off that it can't do without.
import { MIDDLE, svg, text } from "../core/svg.js";
import { defaults } from "../core/schema.js";
import { compute } from "./compute.js";
import { heads, line, next } from "./picture.js";
import schema from "./schema.json" with { type: "json" };

const [WIDTH, HEIGHT] = [600, 315]; // as sites show it, drawn at twice the size
const EDGE = 16;

export function preview() {
  const result = compute({ ...defaults(schema), l0h1: false });
  const at = { width: WIDTH - 2 * EDGE, live: false, narrow: false, rise: 58, most: 44 };
  const title = text(at.width / 2, 14, "Switch off one head, and it forgets who has the ball.", "home-prompt", MIDDLE);
  const said = line(result, 34, at);
  const bars = next(result, said.bottom + 6, at);
  const all = heads(result, bars.bottom + 8, at);
  const ground = `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`;
  return svg("home", WIDTH, HEIGHT, { live: false, label: "The model says lily, 93%: head L0H1 is off" }, `${ground}<g transform="translate(${EDGE} 12)">${title}${said.inside}${bars.inside}${all.inside}</g>`);
}
