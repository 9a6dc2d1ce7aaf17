// A pencil exercise is answered where it stands, like a prediction, and needs no Python; so is a
// question in words. A script of its own for the pages that have one.
import { escape } from "../core/text.js";
import { isAnswer } from "../progress/format.js";
import { add, announce, keep, readKept, whenKept } from "../progress/store.js";
import { coverSolution } from "../progress/tries.js";
import { judge } from "../questions/judge.js";
import { questionOf } from "./question.js";
import { takePlace } from "./place.js";
import { mountWords } from "./words.js";

const LONGEST = 40;

const frame = ({ id, title, unit }) => `<div class="living-app predict" role="group" aria-label="${escape(title)}">
  <form class="predict-form" autocomplete="off" novalidate>
    <label for="pencil-${id}">Your answer</label>
    <span class="predict-entry"><input type="text" inputmode="decimal" id="pencil-${id}" maxlength="${LONGEST}"
      spellcheck="false" aria-describedby="pencil-${id}-unit pencil-${id}-said"><span class="predict-unit" id="pencil-${id}-unit">${escape(unit)}</span></span>
    <button type="submit" class="predict-check">Check</button>
  </form>
  <p class="predict-feedback" id="pencil-${id}-said" role="status"></p></div>`;

function mount(root) {
  const { data, live, key } = takePlace(root, frame);
  const question = questionOf(data);
  const tried = coverSolution({ id: data.id, key });
  const [input, said] = [live.querySelector("input"), live.querySelector(".predict-feedback")];
  const points = `${data.points} of ${data.points} points`;

  function say(verdict, sign, words) {
    said.dataset.verdict = verdict;
    said.innerHTML = words && `<span class="predict-sign" aria-hidden="true">${sign}</span><span>${escape(words).replace(/`([^`]*)`/g, "<code>$1</code>")}</span>`;
    input.toggleAttribute("aria-invalid", verdict === "unread");
  }

  const now = () => JSON.stringify([readKept("exercises", key)?.state, readKept("answers", key)?.code]);
  let last = null; // what was kept when it was read or written here

  // It may have been solved in a notebook: then nobody has typed anything here.
  function recall() {
    if (now() === last) return;
    last = now();
    const [state, typed] = JSON.parse(last);
    input.value = typed ?? "";
    if (typed) say(...judged(typed));
    else if (state === "solved") say("right", "✓", `Solved, ${points}.`);
    else say("", "", "");
  }

  function judged(typed) {
    const { verdict, message } = judge(question, typed);
    if (verdict === "unread") return [verdict, "!", message];
    return verdict === "right" ? [verdict, "✓", `Solved, ${points}.`] : ["wrong", "✗", `Not yet. ${message}`];
  }

  function check(event) {
    event.preventDefault();
    const typed = input.value.trim();
    const [verdict, sign, words] = judged(typed);
    say(verdict, sign, words);
    if (verdict === "unread") return;
    if (isAnswer(typed)) keep("answers", key, { code: typed });
    const entry = verdict === "right" ? { state: "solved", points: data.points } : { state: "tried", points: 0, missing: "by hand" };
    add({ [data.page]: { exercises: { [data.id]: entry } } }); // what was solved stays solved
    tried(typed);
    last = now();
    announce();
  }

  live.querySelector("form").addEventListener("submit", check);
  whenKept(recall);
  recall();
}

function mountAll() {
  document.querySelectorAll(".pencil[hidden]").forEach(mount);
  document.querySelectorAll(".in-words[hidden]").forEach(mountWords);
}

document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", mountAll) : mountAll();
