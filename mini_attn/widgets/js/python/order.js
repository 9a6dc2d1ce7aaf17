// Which cells of a page run, and what one needs before it: book/_ext/cells.py says of what kind
// each is.
export const runs = ({ kind }) => kind === "run" || kind === "quiet";

// The cells that have to run before this one can, and have not in this life of Python.
export function missingBefore(cells, ran, life, number) {
  return cells.filter((cell) => cell.number < number && runs(cell) && ran.get(cell.number) !== life);
}
