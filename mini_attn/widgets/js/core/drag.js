// Parts of a picture that can be taken hold of; the native control does the same by keyboard.
// Every move draws the picture anew, so the pointer is captured by what surrounds it.
const STILL = 3; // pixels that a tap may tremble

// `grab(id)` gives what moving this part does, or null: a function of how far the pointer has come
// from where it was put down, and of both places, in pixels of the picture.
export function dragging(output, grab) {
  let held = null;
  output.addEventListener("pointerdown", (event) => {
    const part = event.button === 0 ? event.target.closest?.("[data-id]") : null;
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
  for (const kind of ["pointerup", "pointercancel"]) output.addEventListener(kind, () => { held = null; });
}

// The nearest value that an entry of a schema allows, on the steps of its control.
export function nearest({ min, max, step = 1 }, value) {
  const near = Math.min(max, Math.max(min, min + Math.round((value - min) / step) * step));
  return Number(near.toFixed(6));
}
