// A product of two matrices in tiles, multiply-add by multiply-add: what is read, held and written.

// Where the tiles of one axis begin and end.
function tilesOf(size, tile) {
  const starts = Array.from({ length: Math.ceil(size / tile) }, (_, i) => i * tile);
  return starts.map((start) => [start, Math.min(size, start + tile)]);
}

const area = ([a, b], [c, d]) => (b - a) * (d - c);

// All tile products in order. Each reads a tile of the left and of the right matrix before its
// first multiply-add; the last one of a tile of the result writes that tile.
export function schedule(m, k, n, tile) {
  const products = [];
  let begins = 0;
  for (const i of tilesOf(m, tile)) {
    for (const j of tilesOf(n, tile)) {
      for (const p of tilesOf(k, tile)) {
        const ends = begins + area(i, p) * (j[1] - j[0]);
        products.push({ i, j, p, begins, ends, left: area(i, p), right: area(p, j), writes: p[1] === k ? area(i, j) : 0 });
        begins = ends;
      }
    }
  }
  return products;
}

// The multiply-adds of one tile product: row by row, and for each entry along the contracted axis.
export function multiplyAdds({ i, j, p }) {
  const all = [];
  for (let row = i[0]; row < i[1]; row += 1) {
    for (let column = j[0]; column < j[1]; column += 1) {
      for (let at = p[0]; at < p[1]; at += 1) all.push([row, column, at]);
    }
  }
  return all;
}

// Numbers moved until `done` multiply-adds are over.
export function moved(products, done) {
  const sum = { left: 0, right: 0, written: 0 };
  for (const { begins, ends, left, right, writes } of products) {
    if (begins < done) {
      sum.left += left;
      sum.right += right;
    }
    if (ends <= done) sum.written += writes;
  }
  return { ...sum, numbers: sum.left + sum.right + sum.written };
}
