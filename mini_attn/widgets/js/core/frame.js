// The markup around a picture: controls, buttons, and the places for words and table.
import { controlsMarkup } from "./controls.js";
import { escape } from "./text.js";

export function tableMarkup({ caption, head, rows }) {
  const cells = (row) => row.map((cell, i) => (i ? `<td>${escape(cell)}</td>` : `<th scope="row">${escape(cell)}</th>`)).join("");
  return `<table><caption>${escape(caption)}</caption><thead><tr>${head.map((cell) => (cell ? `<th scope="col">${escape(cell)}</th>` : "<td></td>")).join("")}</tr></thead>
    <tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join("")}</tbody></table>`;
}

const button = (action, words, more = "") => `<button type="button" data-do="${action}"${more}>${words}</button>`;

const row = (inside) => (inside ? `<div class="living-buttons">${inside}</div>` : "");

// What stays beside the picture on a phone comes first; the other controls fold behind a button
// there, and with `folds` everywhere. Wide, all of them stand in one line as long as it holds them.
function controlBar(definition, uid) {
  const { play, controls, buttons = [], main = play ? [play.key] : controls.map(({ key }) => key), folds } = definition;
  const part = (wanted) => controlsMarkup(definition, controls.filter(wanted), uid);
  const some = (wanted) => buttons.filter(([, , kind]) => (kind === "main") === wanted).map(([action, words]) => button(action, words)).join("");
  const rest = part(({ key }) => !main.includes(key)) + row(some(false));
  const settings = rest ? button("settings", "Settings", ` class="living-settings" aria-expanded="false" aria-controls="${uid}-rest"`) : "";
  const steps = play ? `${button("back", "Back")}${button("play", "Play", ' aria-pressed="false"')}${button("step", "Step")}` : "";
  const docked = play
    ? `<div class="living-transport">${row(steps + settings)}${part(({ key }) => key === play.key)}</div>${part(({ key }) => key !== play.key && main.includes(key))}`
    : part(({ key }) => main.includes(key)) + row(some(true) + settings);
  return `<form class="living-controls${folds ? " living-folds" : ""}" autocomplete="off">${docked}<div class="living-rest" id="${uid}-rest">${rest}</div></form>`;
}

export function frame(definition, uid, copies) {
  const { title } = definition.second ?? {};
  const second = title ? `<details class="living-second"><summary></summary><div></div></details>` : "";
  return `<div class="living-app" role="group" aria-label="${escape(definition.title)}">
    <div class="living-width"></div>
    ${controlBar(definition, uid)}
    <p class="living-note" role="alert" hidden></p>
    <div class="living-result"><div class="living-output"><div class="living-first"></div>
      <p class="living-say" aria-live="polite"></p>${second}<p class="living-detail" aria-live="polite"></p></div>
      <div class="living-foot"><details class="living-table"><summary>The picture as a table</summary><div tabindex="0" role="group" aria-label="Table"></div></details>
        <div class="living-buttons living-quiet">${button("reset", "Reset")}${button("copy", copies)}</div></div></div></div>`;
}
