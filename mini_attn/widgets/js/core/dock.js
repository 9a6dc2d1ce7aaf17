// A phrase of the text sets a picture. One that isn't wholly in sight comes to the reader as a lens:
// what it says now, what the phrase has changed, and the controls that it has set, beside the text
// where there is room, as a sheet at the bottom where there is none. It goes back to its place with
// the button, with Escape, when its place is scrolled into sight, and before printing.
const [ROOM, WIDEST, GAP] = [300, 460, 8]; // CSS pixels: a picture needs, takes at most, keeps free
const SMALLEST = 0.7; // so far a picture shrinks for what has changed to fit
let held = null; // what is docked

// Whether all of a picture and of the sentence about it is in sight.
export function seen(box) {
  const parts = [".living-first", ".living-say"].map((part) => box.querySelector(part)).filter(Boolean);
  const places = (parts.length ? parts : [box]).map((part) => part.getBoundingClientRect());
  return places.every(({ top, bottom }) => top >= 0 && bottom <= innerHeight);
}

// Where a picture stands beside a text that ends here, in a window so wide; null if it has no room.
export function beside(end, width) {
  const room = width - end - 2 * GAP;
  return room < ROOM ? null : { left: end + GAP, width: Math.min(room, WIDEST) };
}

function lay() {
  const { right } = held.link.closest("p, li, dd, td").getBoundingClientRect(); // pictures may be wider
  const place = beside(right, document.documentElement.clientWidth);
  held.sheet.classList.toggle("living-beside", Boolean(place));
  held.sheet.style.width = place ? `${place.width}px` : "";
  held.sheet.style.left = place ? `${place.left}px` : "";
}

// What has the focus is scrolled to where the sheet does not hide it.
function pad() {
  const { sheet } = held;
  document.documentElement.style.scrollPaddingBottom = sheet.classList.contains("living-beside") ? "" : `${sheet.offsetHeight}px`;
}

function putBack() {
  if (!held) return;
  const { live, box, sheet, watch, link, view } = held;
  const inside = sheet.contains(document.activeElement);
  const { top } = link.getBoundingClientRect();
  box.append(live);
  box.classList.remove("living-away");
  box.style.minHeight = "";
  watch.disconnect();
  sheet.remove();
  removeEventListener("resize", lay);
  document.documentElement.style.scrollPaddingBottom = "";
  held = null;
  view.lens?.(null);
  scrollBy({ top: link.getBoundingClientRect().top - top, behavior: "instant" }); // the text stays where it's read
  if (inside && link.isConnected) link.focus({ preventScroll: true });
}

// Bring the live picture of a box to the link that is about to set these keys of it, unless it is in
// sight already.
export function bring({ box, title, view }, link, keys) {
  if (held?.box === box) {
    held.link = link;
    view.lens?.(keys);
    return;
  }
  putBack();
  box.closest("details:not([open])")?.setAttribute("open", "");
  if (seen(box)) return;
  const sheet = document.createElement("aside");
  sheet.className = "living living-dock";
  sheet.setAttribute("aria-label", `Picture: ${title}`);
  sheet.innerHTML = `<div class="living-dock-bar"><b></b><button type="button">Put it back</button></div>`;
  sheet.querySelector("b").textContent = title;
  sheet.querySelector("button").addEventListener("click", putBack);
  const live = box.querySelector(".living-live");
  box.style.minHeight = `${box.getBoundingClientRect().height}px`; // the text stays where it is
  box.classList.add("living-away");
  sheet.append(live);
  document.body.append(sheet);
  const watch = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && putBack(), { threshold: 0.6 });
  held = { live, box, sheet, watch, link, view };
  lay();
  view.lens?.(keys);
  watch.observe(box);
  addEventListener("resize", lay);
}

// Let the sheet show what has changed, {top, bottom} on the screen, right below the sentence.
export function reveal(changed) {
  if (!held) return;
  const { sheet, link } = held;
  const picture = sheet.querySelector(".living-first");
  const above = sheet.querySelector(".living-say")?.getBoundingClientRect().bottom ?? 0;
  const room = sheet.getBoundingClientRect().top + parseFloat(getComputedStyle(sheet).maxHeight) - above;
  if (changed && picture) {
    const { top, height } = picture.getBoundingClientRect();
    const zoom = Math.max(SMALLEST, Math.min(1, room / (changed.bottom - changed.top)));
    picture.style.setProperty("--living-most", `${zoom * height}px`);
    sheet.scrollTop = height * zoom <= room ? 0 : Math.max(0, (changed.top - top) * zoom - 8);
  }
  pad();
  link.scrollIntoView({ block: "nearest" }); // it may lie below the sheet
}

export function listen() {
  addEventListener("keydown", (event) => event.key === "Escape" && putBack());
  addEventListener("beforeprint", putBack);
}
