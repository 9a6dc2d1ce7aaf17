// A phrase of the text sets a picture. One that is out of sight comes to the reader: beside the
// text where there is room, as a sheet at the bottom where there is none. It goes back to its place
// with the button, with Escape, when its place is scrolled into sight, and before printing.
const [ROOM, WIDEST, GAP] = [300, 460, 8]; // CSS pixels: a picture needs, takes at most, keeps free
let held = null; // what is docked

// Whether most of a picture, or as much of it as the window holds, is in sight.
export function seen(box) {
  const { top, bottom } = box.getBoundingClientRect();
  const shown = Math.min(bottom, innerHeight) - Math.max(top, 0);
  return shown >= 0.6 * Math.min(bottom - top, innerHeight);
}

// Where a picture stands beside a text that ends here, in a window so wide; null if it has no room.
export function beside(end, width) {
  const room = width - end - 2 * GAP;
  return room < ROOM ? null : { left: end + GAP, width: Math.min(room, WIDEST) };
}

function lay() {
  const { right } = document.querySelector("article > section").getBoundingClientRect();
  const place = beside(right, document.documentElement.clientWidth);
  held.sheet.classList.toggle("living-beside", Boolean(place));
  held.sheet.style.width = place ? `${place.width}px` : "";
  held.sheet.style.left = place ? `${place.left}px` : "";
  // What has the focus is scrolled to where the sheet does not hide it.
  document.documentElement.style.scrollPaddingBottom = place ? "" : `${held.sheet.offsetHeight}px`;
}

function putBack() {
  if (!held) return;
  const { live, box, sheet, watch, link } = held;
  const inside = sheet.contains(document.activeElement);
  box.append(live);
  box.classList.remove("living-away");
  box.style.minHeight = "";
  watch.disconnect();
  sheet.remove();
  removeEventListener("resize", lay);
  document.documentElement.style.scrollPaddingBottom = "";
  held = null;
  if (inside && link.isConnected) link.focus({ preventScroll: true });
}

// Bring the live picture of a box to the link that has set it, unless it is in sight already.
export function bring(box, title, link) {
  if (held?.box === box) {
    held.link = link;
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
  held = { live, box, sheet, watch, link };
  lay();
  link.scrollIntoView({ block: "nearest" }); // it may lie below the sheet
  watch.observe(box);
  addEventListener("resize", lay);
}

export function listen() {
  addEventListener("keydown", (event) => event.key === "Escape" && putBack());
  addEventListener("beforeprint", putBack);
}
