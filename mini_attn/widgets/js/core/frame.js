// The markup around a picture: controls, buttons, and the places for words and table.
import { controlsMarkup } from "./controls.js";
import { escape } from "./text.js";

export function tableMarkup({ caption, head, rows }) {
  const cells = (row) => row.map((cell, i) => (i ? `<td>${escape(cell)}</td>` : `<th scope="row">${escape(cell)}</th>`)).join("");
  return `<table><caption>${escape(caption)}</caption><thead><tr>${head.map((cell) => (cell ? `<th scope="col">${escape(cell)}</th>` : "<td></td>")).join("")}</tr></thead>
    <tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join("")}</tbody></table>`;
}

const button = (action, words, more = "") => `<button type="button" data-do="${action}"${more}>${words}</button>`;

export function frame(definition, uid, copies) {
  const { play, controls, buttons = [] } = definition;
  const part = (wanted) => controlsMarkup(definition, controls.filter(({ key }) => (key === play?.key) === wanted), uid);
  const transport = play
    ? `<div class="living-transport"><div class="living-buttons">${button("back", "Back")}${button("play", "Play", ' aria-pressed="false"')}${button("step", "Step")}</div>${part(true)}</div>`
    : "";
  const more = buttons.length ? `<div class="living-buttons">${buttons.map(([action, words]) => button(action, words)).join("")}</div>` : "";
  return `<div class="living-app" role="group" aria-label="${escape(definition.title)}">
    <div class="living-width"></div>
    <form class="living-controls" autocomplete="off">${part(false)}${transport}${more}</form>
    <p class="living-note" role="alert" hidden></p>
    <div class="living-result"><p class="living-say" aria-live="polite"></p><div class="living-output"></div>
      <p class="living-detail" aria-live="polite"></p>
      <div class="living-foot"><details class="living-table"><summary>The picture as a table</summary><div tabindex="0" role="group" aria-label="Table"></div></details>
        <div class="living-buttons living-quiet">${button("reset", "Reset")}${button("copy", copies)}</div></div></div></div>`;
}
