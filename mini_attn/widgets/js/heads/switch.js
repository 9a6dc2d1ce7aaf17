// A head's switch: its name beside a knob, which slides.
import { keyed } from "../core/motion.js";
import { END, box, round, text } from "../core/svg.js";

const [WIDE, TALL, INSET] = [26, 16, 3];

export function headSwitch(at, name, x, y, width, height, isOn) {
  const top = y + (height - TALL) / 2, left = x + width - WIDE, size = TALL - 2 * INSET;
  const knob = `<rect x="${round(isOn ? left + WIDE - INSET - size : left + INSET)}" y="${round(top + INSET)}" width="${size}" height="${size}" rx="${size / 2}" class="in-knob"/>`;
  return text(left - 5, y + height / 2 + 4.5, name, isOn ? "in-name" : "in-name in-is-off", END)
    + box(left, top, WIDE, TALL, isOn ? "in-rail in-is-on" : "in-rail", "", TALL / 2)
    + keyed(at, `knob-${name}`, knob);
}

// What is pressed: Enter, the space bar, a finger or the mouse.
export const switchTarget = ({ live }, name, x, y, width, height, isOn, isEntry) => (live
  ? `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="4" class="in-target living-target" data-id="s-${name}" tabindex="${isEntry ? 0 : -1}" role="switch" aria-checked="${isOn}" aria-label="head ${name}"/>`
  : "");
