// Arrow keys inside a picture: from the part in focus to the nearest one in that direction.

const DIRECTIONS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

const centre = (element) => {
  const { left, top, width, height } = element.getBoundingClientRect();
  return [left + width / 2, top + height / 2];
};

// The nearest of the others that lies that way; a step aside counts three times.
function nearest(from, others, [dx, dy]) {
  const [x, y] = centre(from);
  let best = null;
  let least = Infinity;
  for (const other of others) {
    const [ox, oy] = centre(other);
    const ahead = (ox - x) * dx + (oy - y) * dy;
    const aside = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
    const distance = ahead + 3 * aside;
    if (ahead > 1 && distance < least) [best, least] = [other, distance];
  }
  return best;
}

// Moves the focus, and the picture's one place in the Tab order with it.
export function moveFocus(event, parts) {
  const direction = DIRECTIONS[event.key];
  const from = event.target;
  if (!direction || !parts.includes(from)) return;
  event.preventDefault();
  const to = nearest(from, parts, direction);
  if (!to) return;
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}
