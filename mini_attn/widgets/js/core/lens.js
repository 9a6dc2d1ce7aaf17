// What a phrase of the text has changed in a picture, so that a reader sees just that.

export const LEAVES = "svg :not(g, defs, defs *, [data-id])"; // parts to be pressed are drawn on others
const union = (boxes) => ({
  top: Math.min(...boxes.map(({ top }) => top)), bottom: Math.max(...boxes.map(({ bottom }) => bottom)),
});

// The drawn parts of a picture, as they are written.
export const leavesOf = (root) => new Set(Array.from(root.querySelectorAll(LEAVES), (leaf) => leaf.outerHTML));

// From where to where on the screen the picture has changed: the panel with most of what is new,
// where the picture has panels. Null if nothing is new.
export function changedIn(root, before) {
  const fresh = Array.from(root.querySelectorAll(LEAVES)).filter((leaf) => !before.has(leaf.outerHTML));
  const counts = new Map();
  for (const leaf of fresh) {
    const panel = leaf.closest("[data-panel]");
    counts.set(panel, (counts.get(panel) ?? 0) + 1);
  }
  const [most] = [...counts].filter(([panel]) => panel).sort(([, a], [, b]) => b - a);
  const boxes = (most ? [most[0]] : fresh).map((one) => one.getBoundingClientRect()).filter(({ width, height }) => width || height);
  return boxes.length ? union(boxes) : null;
}
