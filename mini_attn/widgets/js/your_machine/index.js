// The page "Your machine": one button measures the tab, the picture follows, the result can be saved.
import { fromHash, toHash } from "../core/hash.js";
import { defaults, validate } from "../core/schema.js";
import { escape } from "../core/text.js";
import { CASES, MACHINES, NAMES } from "./compare.js";
import cpuText from "./cpu.wat";
import { kernels, shape } from "./gpu.js";
import { Measurement, Stopped } from "./measure.js";
import { drawBar, drawRoofs, longestOf } from "./picture.js";
import { STAGES, STOPPED, caseWords, checksOf, describe, missing, noProcessor, rateRows, ratesOf, sizesOf, sizesTable, table, timesOf, titleOf } from "./words.js";

const NAME = "your_machine";
const SHOWN = ["h100", "h200", "stored"]; // to compare with, unless the reader chooses
const SCHEMA = Object.fromEntries(MACHINES.map(({ key }) => [key, { type: "bool", default: SHOWN.includes(key) }]));
const WIDEST = 960;

const button = (action, words, more = "") => `<button type="button" data-do="${action}"${more}>${words}</button>`;
const choices = () => MACHINES.map(({ key, name }) => `<label><input type="checkbox" data-beside="${key}"> ${escape(name)}</label>`).join("");
const rowsOf = (rows) => rows.map(([first, ...rest]) => `<tr><th scope="row">${escape(first)}</th>${rest.map((cell) => `<td>${escape(cell)}</td>`).join("")}</tr>`).join("");
const sheet = (head, rows) => `<table><thead><tr>${head.map((one) => `<th scope="col">${escape(one)}</th>`).join("")}</tr></thead><tbody>${rowsOf(rows)}</tbody></table>`;
const sheetOf = ({ head, rows }) => sheet(head, rows);
const scrolls = (words, inside) => `<div class="ym-wide" tabindex="0" role="region" aria-label="${words}">${inside}</div>`;

// The kernels as they run: the text, and for attention its constants in each case.
function kernelFolds() {
  const constants = NAMES.map((name) => `// ${CASES[name].title}: ${Object.entries(shape(CASES[name])).map(([key, size]) => `${key} ${size}`).join(", ")}`).join("\n");
  const texts = [
    ["Decode attention on the GPU, a span of keys", `${constants}\n\n${kernels.attend}`], ["Decode attention on the GPU, merging the spans", kernels.merge],
    ["Matrix product on the GPU", kernels.matmul], ["Drawing, reading and copying on the GPU", kernels.memory], ["Everything on the processor (WebAssembly)", cpuText],
  ];
  return texts.map(([words, code]) => `<details class="ym-kernel"><summary>${words}</summary>${scrolls(words, `<pre>${escape(code.trim())}</pre>`)}</details>`).join("");
}

const FRAME = `<div class="ym-controls">${button("measure", "Measure")}${button("save", "Save", " hidden")}<fieldset><legend>Compare with</legend>${choices()}</fieldset></div>
  <p class="living-say" role="status"></p><p class="living-note" hidden></p><div class="ym-picture"></div>
  <p class="ym-key">Hollow: predicted. Filled: measured. The marks are MHA (square), GQA (triangle) and MLA (disc).</p><div class="ym-sizes">${sheetOf(sizesTable())}</div><div class="ym-places"></div>
  <details class="ym-numbers" hidden><summary>All numbers</summary><div></div></details>
  <details class="ym-kernels"><summary>The kernels</summary>${kernelFolds()}</details>`;

export class Page {
  constructor(root) {
    Object.assign(this, { root, result: null, running: null });
    root.classList.add("living", "ym-on");
    root.innerHTML = FRAME;
    this.take(location.hash);
    root.addEventListener("click", ({ target }) => this.press(target.closest("[data-do]")?.dataset.do));
    root.addEventListener("change", ({ target }) => target.dataset.beside && this.choose(target));
    document.addEventListener("visibilitychange", () => document.hidden && this.running?.stop("hidden"));
    addEventListener("hashchange", () => this.take(location.hash));
    new ResizeObserver(() => this.draw()).observe(root);
  }

  part(selector) {
    return this.root.querySelector(selector);
  }

  // The machines that an address names; one that can't be read changes nothing.
  take(hash) {
    const { state, error } = validate(SCHEMA, fromHash(NAME, SCHEMA, hash) ?? {});
    this.complain(error ? `The link asks for something that does not exist: ${error}.` : "");
    if (!error || !this.beside) this.beside = error ? defaults(SCHEMA) : state;
    for (const box of this.root.querySelectorAll("[data-beside]")) box.checked = this.beside[box.dataset.beside];
    this.draw();
  }

  choose({ dataset, checked }) {
    this.beside = { ...this.beside, [dataset.beside]: checked };
    history.replaceState(history.state, "", toHash(NAME, SCHEMA, this.beside));
    this.draw();
  }

  press(action) {
    if (action === "measure") this.running ? this.running.stop("button") : this.measure();
    if (action === "save") this.save();
  }

  complain(words) {
    Object.assign(this.part(".living-note"), { textContent: words, hidden: !words });
  }

  async measure() {
    this.complain("");
    this.result = null;
    const { book, half } = this.root.dataset; // tests ask for less memory
    this.running = new Measurement({ book, half: half && Number(half), show: (result, stage) => this.follow(result, stage) });
    if (document.hidden) this.running.stop("hidden");
    this.part("[data-do=save]").hidden = true;
    this.part("[data-do=measure]").textContent = "Stop";
    this.draw();
    this.say(STAGES.start);
    try {
      this.result = await this.running.run();
      this.complain(Object.entries(this.result.missing).map(([kind, why]) => (kind === "cpu" ? noProcessor(why) : missing(why))).join(" "));
    } catch (error) {
      this.complain(error instanceof Stopped ? STOPPED[error.message] : `The measurement failed (${error.message}). Nothing was kept.`);
    }
    this.running = null;
    this.part("[data-do=measure]").textContent = this.result ? "Measure again" : "Measure";
    this.part("[data-do=save]").hidden = !this.result?.places.length;
    this.draw();
  }

  follow(result, stage) {
    if (this.running?.stopped) return;
    this.draw(result);
    this.say(STAGES[stage]);
  }

  say(words) {
    if (this.part(".living-say").textContent !== words) this.part(".living-say").textContent = words;
  }

  draw(result = this.result) {
    const width = Math.min(WIDEST, Math.floor(this.part(".ym-picture").clientWidth)) || 600;
    const label = describe(result);
    this.part(".ym-picture").innerHTML = drawRoofs(result, this.beside, { width, label });
    this.part(".ym-places").innerHTML = (result?.places ?? []).map((place) => this.placeWords(place, width)).join("");
    if (!this.running) this.say(label);
    this.part(".ym-numbers").hidden = !result?.places.length;
    if (!result?.places.length) return;
    this.part(".ym-numbers > div").innerHTML = scrolls("All numbers", sheet(["rate", "", "middle repeat above the fastest"], rateRows(result)) + result.places.map((place) => sheetOf(table(place))).join(""));
  }

  placeWords(place, width) {
    const longest = longestOf(place);
    const cases = NAMES.filter((name) => place.cases[name]).map((name) => `<li><b>${escape(CASES[name].title)}</b> ${escape(timesOf(place.cases[name]))}${drawBar(place.cases[name], longest, place.kind, width)}<span>${escape(caseWords(place, name))}</span></li>`);
    const facts = [ratesOf(place), sizesOf(place)].filter(Boolean).join(" ");
    return `<section><h3>${escape(titleOf(place))}</h3><p>${escape(facts)}</p><ul>${cases.join("")}</ul><p class="ym-check">${escape(checksOf(place))}</p></section>`;
  }

  save() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`${JSON.stringify(this.result, null, 1)}\n`], { type: "application/json" }));
    link.download = `your-machine-${this.result.date.slice(0, 10)}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

for (const root of document.querySelectorAll(".your-machine:not(.ym-on)")) new Page(root);
