// Read where the place for what returns stands, before the page is painted: what is due gets its
// rows at once, so that nothing moves, and a reader who has nothing due sees and loads nothing.
import { escape } from "../core/text.js";
import { everything, readKept } from "../progress/store.js";
import { MOST, due, today } from "./days.js";
import { isOn, switchMarkup } from "./switch.js";

const WORDS = ["", "One", "Two", "Three"];
const root = document.currentScript.previousElementSibling;

function known() {
  try {
    return Object.entries(everything()).flatMap(([page, { predictions, returns = {} }]) => Object.keys(returns)
      .filter((name) => predictions[name]).map((name) => [`${page}/${name}`, returns[name]]));
  } catch {
    return []; // no storage: nothing was kept
  }
}

function show(keys) {
  const titles = JSON.parse(root.dataset.titles);
  const rest = keys.length - MOST;
  const rows = keys.slice(0, MOST).map((key) => `<li><details class="return" data-key="${escape(key)}"><summary>
    <span class="return-name">${escape(titles[key.split("/")[0]])}</span> <span class="return-state"></span></summary>
    <div class="return-place"></div></details></li>`);
  root.innerHTML = `<h2 class="returns-head" id="returns-head">${WORDS[rows.length]} to try again</h2>
    <p class="returns-note">You answered ${rows.length === 1 ? "this" : "these"} some days ago. If you're right again, it comes back later; if not, tomorrow.${rest > 0 ? ` ${rest} more ${rest === 1 ? "waits" : "wait"}.` : ""}</p>
    <ul class="returns-list">${rows.join("")}</ul>${switchMarkup(true)}<p class="returns-said" role="status"></p>`;
  root.hidden = false;
  const script = document.createElement("script");
  script.src = root.dataset.script;
  document.head.append(script);
}

const titles = JSON.parse(root.dataset.titles);
const keys = isOn() ? due(known(), today()).filter((key) => Object.hasOwn(titles, key.split("/")[0])) : [];
if (keys.length) show(keys);
