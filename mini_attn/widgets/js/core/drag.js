// Parts of a picture that can be taken hold of; the native control does the same by keyboard.
// Every move draws the picture anew, so the pointer is captured by what surrounds it.
const STILL = 3; // pixels that a tap may tremble

const away = ({ left, right, top, bottom }, x, y) => Math.hypot(Math.max(left - x, x - right, 0), Math.max(top - y, y - bottom, 0));

// The part of a picture that an event is about: in a field of small ones the nearest.
export function meant({ target, clientX, clientY }, parts = "[data-id]") {
  const field = target.closest?.(".living-field");
  if (!field || target.matches(parts)) return target.closest?.(parts);
  const all = Array.from(field.querySelectorAll(parts), (part) => [away(part.getBoundingClientRect(), clientX, clientY), part]);
  return all.reduce((best, one) => (one[0] < best[0] ? one : best))[1];
}

// `grab(id)` gives what moving this part does, or null: a function of how far the pointer has come
// from where it was put down, and of both places, in pixels of the picture.
export function dragging(output, grab) {
  let held = null;
  output.addEventListener("pointerdown", (event) => {
    const part = event.button === 0 ? meant(event) : null;
    const move = part && grab(part.dataset.id);
    if (!move) return;
    const { left, top } = part.ownerSVGElement.getBoundingClientRect();
    held = { move, at: [event.clientX - left, event.clientY - top], left, top, moved: false };
  });
  output.addEventListener("pointermove", (event) => {
    if (!held) return;
    const { move, at, left, top } = held;
    const to = [event.clientX - left, event.clientY - top];
    const [dx, dy] = [to[0] - at[0], to[1] - at[1]];
    if (!held.moved && Math.hypot(dx, dy) < STILL) return;
    held.moved = true;
    if (!output.hasPointerCapture(event.pointerId)) output.setPointerCapture(event.pointerId);
    move({ dx, dy, from: at, to });
  });
  // What lies where a hand lets go is not pressed.
  let pulled = false;
  output.addEventListener("click", (event) => pulled && event.stopImmediatePropagation(), true);
  for (const kind of ["pointerup", "pointercancel"]) {
    output.addEventListener(kind, () => {
      pulled = Boolean(held?.moved);
      held = null;
      setTimeout(() => { pulled = false; });
    });
  }
}

// A length of text that a hand means: a power of two near it, else a number of two digits.
export function handy(n) {
  const power = 2 ** Math.round(Math.log2(n));
  return Math.abs(n / power - 1) < 0.06 ? power : Number(n.toPrecision(2));
}

// The nearest value that an entry of a schema allows, on the steps of its control.
export function nearest({ values, min, max, step = 1 }, value) {
  if (typeof value !== "number") return value;
  if (values) return values.reduce((a, b) => (Math.abs(b - value) < Math.abs(a - value) ? b : a));
  const near = Math.min(max, Math.max(min, min + Math.round((value - min) / step) * step));
  return Number(near.toFixed(6));
}
