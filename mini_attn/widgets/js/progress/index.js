// The reader's progress on the page: a closed box at the end of a chapter, a table of all
// chapters on a page of its own, and a word on the cards of the first page. A script of its own that nothing waits for.
import { count, escape } from "../core/text.js";
import { dateAnswers } from "../returns/keeper.js";
import { isOn, switchMarkup, turn } from "../returns/switch.js";
import { FILE, LARGEST, entries, mergeProgress, onlyKnown, parseProgress, progressText } from "./format.js";
import { announce, collect, forget, keep, lasting, store, whenKept } from "./store.js";
import { bookTable, cardWords, chapterBody, chapterWords, wordsFor } from "./views.js";

const REFUSED = "This browser keeps nothing for this page (a private window, or storage is blocked): your progress lasts until you leave it. Export saves it.";
const NOTHING_YET = "<p>Nothing yet. Once you answer a prediction or solve an exercise, a table of all chapters appears here.</p>";
const button = (action, words) => `<button type="button" data-do="${action}">${words}</button>`;
// Where the later script is: beside this one.
const LATER = new URL(globalThis.livingLater?.handin ?? "living.handin.js", document.currentScript?.src ?? location.href).href;
const handIn = (everything) => `<form class="kept-hand"><label>To hand in: your name <input type="text" maxlength="80" autocomplete="name" spellcheck="false"></label>
  <button type="submit">Download as notebook</button> <small>${everything ? "Your answers of the whole book" : "Your answers of this chapter"}, as a file for your teacher. Nothing is sent.</small></form>`;
const foot = (everything, exercises) => `<div class="kept-foot"><div class="living-buttons">${button("export", "Export")}${button("import", "Import")}${button("reset", everything ? "Reset all" : "Reset chapter")}</div>
  <input type="file" accept=".json,application/json" class="kept-file" tabindex="-1" aria-label="A file with exported progress" hidden>
  <p class="kept-sure" role="group" aria-labelledby="kept-question" hidden><span id="kept-question"></span> ${button("forget", "Forget")} ${button("stay", "Cancel")}</p>
  ${exercises ? handIn(everything) : ""}
  <p class="kept-said" role="status">${lasting() ? "" : REFUSED}</p></div>`;

function save(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// The maker of notebooks comes when somebody hands in; from a folder too, as it's a script.
const handedIn = () => new Promise((resolve, reject) => {
  if (globalThis.livingHandin) return resolve(globalThis.livingHandin);
  const script = Object.assign(document.createElement("script"), { src: LATER });
  script.onload = () => resolve(globalThis.livingHandin);
  script.onerror = () => {
    script.remove();
    reject(new Error("The notebook couldn't be made: is the connection broken? Export still works."));
  };
  document.head.append(script);
});

class Progress {
  constructor(root, outline) {
    Object.assign(this, { root, outline, page: root.dataset.progress });
    this.chapter = outline.find(({ page }) => page === this.page) ?? null;
    this.chapters = this.chapter ? [this.chapter] : outline;
    root.innerHTML = this.chapter
      ? `<details class="kept-box"><summary><b>Your progress in this chapter</b> <span class="kept-sum"></span></summary><div class="kept-body"></div></details>`
      : `<div class="kept-box"><div class="kept-body"></div></div>`;
    root.classList.add("living"); // the look of the pictures, and no place for one
    root.hidden = false;
    this.draw();
    whenKept(() => this.draw());
    if (this.chapter) this.part(".kept-box").addEventListener("toggle", () => this.fill());
    else this.fill();
  }

  part(selector) {
    return this.root.querySelector(selector);
  }

  // The words at once; what is inside a closed box when it is opened.
  draw() {
    this.record = collect(this.chapters);
    if (this.chapter) this.part(".kept-sum").textContent = chapterWords(this.chapter, this.record);
    if (this.filled && !this.ticking) this.show();
  }

  fill() {
    if (this.filled) return;
    this.filled = true;
    const tasks = this.chapters.some((chapter) => chapter.exercises.length);
    const body = `<div class="kept-view"></div>${this.chapter ? "" : switchMarkup(isOn())}${foot(!this.chapter, tasks)}`;
    this.part(".kept-body").innerHTML = body;
    this.show();
    this.root.addEventListener("click", (event) => this.press(event.target.dataset.do));
    this.root.addEventListener("change", (event) => this.change(event.target));
    this.root.addEventListener("submit", (event) => this.handIn(event));
  }

  show() {
    const active = this.root.contains(document.activeElement) ? document.activeElement.dataset.exercise : null;
    this.part(".kept-view").innerHTML = this.chapter
      ? chapterBody(this.chapter, this.record, this.root.dataset.book)
      : [...entries(this.record)].length ? bookTable(this.outline, this.record) : NOTHING_YET;
    if (active) this.part(`[data-exercise="${CSS.escape(active)}"]`)?.focus();
  }

  say(text) {
    this.part(".kept-said").textContent = text;
  }

  press(action) {
    if (!action) return;
    this.say("");
    if (action === "export") this.hand();
    else if (action === "import") this.part(".kept-file").click();
    else if (action === "reset") this.ask();
    else {
      this.part(".kept-sure").hidden = true;
      if (action === "forget") this.forget();
      this.part("[data-do=reset]").focus();
    }
  }

  change(input) {
    if (input.type === "file") this.take(input);
    else if (input.dataset.do === "returns") turn(input.checked);
    else if (input.dataset.exercise) {
      const key = `${this.page}/${input.dataset.exercise}`;
      if (input.checked) keep("exercises", key, { state: "done", points: 0 });
      else forget("exercises", key);
      this.ticking = true; // the box shows it already, and keeps its focus
      announce();
      this.ticking = false;
    }
  }

  hand() {
    const record = collect(this.outline);
    if (![...entries(record)].length) {
      this.say("There is nothing yet to export.");
      return;
    }
    save(FILE, progressText(record), "application/json");
    this.say(`Exported, of the whole book: ${wordsFor(record)}. In a notebook, import_progress("${FILE}") reads the file.`);
  }

  async handIn(event) {
    event.preventDefault();
    const make = await handedIn().catch((reason) => reason);
    if (make instanceof Error) return this.say(make.message);
    const { error, name, text, answers } = make(this.part(".kept-hand input").value, this.chapters, this.record);
    if (error) return this.say(error);
    save(`${name}.ipynb`, text, "application/x-ipynb+json");
    // What was solved in a notebook has its code there alone.
    const elsewhere = this.chapters.flatMap(({ page, exercises }) => exercises.filter(({ id }) =>
      this.record[page]?.exercises[id]?.state === "solved" && !this.record[page].answers?.[id])).length;
    this.say(`${name}.ipynb holds ${count(answers, "answer")}: hand in this file as it is.${elsewhere ? ` ${count(elsewhere, "exercise")} solved in a notebook can't be in it: hand that one in too.` : ""}`);
  }

  async take(input) {
    const [file] = input.files;
    input.value = ""; // the same file may be chosen again
    if (!file) return;
    const text = file.size > LARGEST ? null : await file.text().catch(() => null);
    const { record, error } = text === null
      ? { error: `the file cannot be read or is larger than ${LARGEST / 1e6} MB` } : parseProgress(text);
    if (error) {
      this.say(`Nothing was changed: ${error}.`);
      return;
    }
    const { known, leftOut } = onlyKnown(record, this.outline);
    store(mergeProgress(known, collect(this.outline)));
    announce();
    const rest = leftOut ? ` ${count(leftOut, "entry", "entries")} left out that this book does not have.` : "";
    this.say(`Imported: ${wordsFor(known)}. What you had solved stays solved.${rest}`);
  }

  ask() {
    if (![...entries(this.record)].length) {
      this.say("There is nothing to forget.");
      return;
    }
    const where = this.chapter ? "of this chapter" : "of the whole book";
    this.part(".kept-sure span").innerHTML = `Forget ${escape(wordsFor(this.record))} ${where}?`;
    this.part(".kept-sure").hidden = false;
    this.part("[data-do=stay]").focus();
  }

  forget() {
    const gone = wordsFor(this.record);
    for (const [page, kind, name] of entries(this.record)) forget(kind, `${page}/${name}`);
    announce();
    this.say(`Forgotten: ${gone}.`);
  }
}

// The chapters' cards of the first page: a line over the picture, so that nothing moves.
function mark(cards, outline) {
  const record = collect(outline);
  for (const card of cards) {
    const chapter = outline.find(({ page }) => page === card.dataset.chapter);
    const words = chapter ? cardWords(chapter, record) : "";
    const line = card.querySelector(".card-done") ?? card.appendChild(document.createElement("span"));
    line.className = "card-done";
    if (line.textContent !== words) line.textContent = words;
  }
}

const cards = document.querySelectorAll("[data-chapter]");
const marked = () => mark(cards, globalThis.livingOutline);
if (cards.length) {
  marked();
  whenKept(marked);
}
const dated = () => dateAnswers(collect(globalThis.livingOutline));
dated();
whenKept(dated);
for (const root of document.querySelectorAll("[data-progress]")) new Progress(root, globalThis.livingOutline);
