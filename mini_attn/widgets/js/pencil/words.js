// A question that is answered in words: a field for the answer, and its rubric as a list that the
// reader ticks. Nothing judges it; it is done by the reader's own word. A model answer on the page
// stays covered until something was written, or until the reader asks for it.
import { count, escape } from "../core/text.js";
import { isAnswer } from "../progress/format.js";
import { announce, forget, keep, keepText, readKept, textOf, whenKept } from "../progress/store.js";
import { takePlace } from "./place.js";

const LONGEST = 8000; // characters, as many as a progress file keeps

const criterion = ([says, points], i) => `<label><input type="checkbox" data-criterion="${i}"><span>${says}</span> <span class="words-points">${count(points, "point")}</span></label>`;

const modelOf = (id) => document.getElementById(`model-${id}`); // of an assessed one in an open build alone

const frame = ({ id, title, points, rubric, assessed }) => `<div class="living-app predict" role="group" aria-label="${escape(title)}">
  <label class="words-head" for="words-${id}">Your answer</label>
  <textarea id="words-${id}" maxlength="${LONGEST}" spellcheck="true" aria-describedby="words-${id}-kept"></textarea>
  <p class="words-note" id="words-${id}-kept">Kept in this browser with your progress. No check can judge an answer in words.</p>
  <fieldset><legend>You mark this one: tick what your answer does</legend>${rubric.map(criterion).join("")}
  <p class="words-note words-sum" role="status"></p>
  <label class="words-done"><input type="checkbox" class="words-tick"><span>Count this exercise as done, by my own word${assessed ? "; in a course, your teacher marks it" : ""}</span></label></fieldset>
  ${modelOf(id) ? `<p class="words-note words-cover"><span>A model answer opens when you have written something. </span><button type="button" class="words-show"></button></p>` : ""}</div>`;

// Markup in the data comes from the book: criteria are escaped where the page is built.
export function mountWords(root) {
  const { data, live, key } = takePlace(root, frame);
  const ticked = `living:rubric:${key}`;
  const part = (selector) => live.querySelector(selector);
  const [field, done, sum, cover] = [part("textarea"), part(".words-tick"), part(".words-sum"), part(".words-cover")];
  const model = modelOf(data.id);
  const boxes = [...live.querySelectorAll("[data-criterion]")];
  let asked = false; // for the model answer, before anything was written

  // What the reader ticked goes with the answer: without one there is nothing to mark.
  const ticks = () => (textOf(ticked) ?? "").split(",").filter(Boolean);

  function uncover() {
    const guessFirst = document.documentElement.classList.contains("guess-first");
    // An assessed one opens by writing alone, whatever the book's switch for covers says.
    const isCovered = (data.assessed || guessFirst) && !asked && !field.value.trim();
    if (!model) return;
    model.hidden = isCovered;
    cover.firstChild.hidden = !isCovered;
    cover.lastChild.hidden = data.assessed && isCovered;
    cover.lastChild.textContent = isCovered ? "Show me" : "Compare with a model answer";
  }

  function add() {
    const given = data.rubric.reduce((total, [, points], i) => total + (boxes[i].checked ? points : 0), 0);
    sum.textContent = given ? `You give yourself ${given} of ${count(data.points, "point")}.` : "";
  }

  function recall() {
    const text = readKept("answers", key)?.code ?? "";
    if (text !== field.value && document.activeElement !== field) field.value = text;
    if (!text && !readKept("exercises", key) && ticks().length) keepText(ticked, ""); // it was reset
    boxes.forEach((box, i) => (box.checked = ticks().includes(String(i))));
    done.checked = ["done", "solved"].includes(readKept("exercises", key)?.state);
    add();
    uncover();
  }

  function write() {
    const text = field.value;
    if (isAnswer(text) && text.trim()) keep("answers", key, { code: text });
    else if (!text.trim()) forget("answers", key);
    uncover();
  }

  field.addEventListener("input", write);
  field.addEventListener("change", announce);
  live.addEventListener("change", ({ target }) => {
    if (target === done) {
      if (done.checked) keep("exercises", key, { state: "done", points: 0 });
      else forget("exercises", key);
      announce();
    } else if (boxes.includes(target)) {
      keepText(ticked, boxes.filter((box) => box.checked).map((box) => box.dataset.criterion).join(","));
      add();
    }
  });
  part(".words-show")?.addEventListener("click", () => {
    asked = true;
    uncover();
    for (let step = model; step; step = step.parentElement.closest("details")) step.open = true;
    model.querySelector("summary").focus();
  });
  // The book's switch for covers changes a class of the page.
  new MutationObserver(uncover).observe(document.documentElement, { attributeFilter: ["class"] });
  whenKept(recall);
  recall();
}
