// A question in the form that it had: a number to type, or a claim to agree with.
import { escape } from "../core/text.js";
import { format, judge } from "../questions/judge.js";

const inline = (text) => escape(text).replace(/`([^`]*)`/g, "<code>$1</code>");
const SIGNS = { right: "✓", mistake: "✗", wrong: "✗", unread: "!", shown: "→" };
const SAYS = { agree: "Agree", "it depends": "It depends", disagree: "Disagree" };
const HOLDS = { "it depends": "This book says that it depends", disagree: "This book disagrees with it" };

function teller(place) {
  const line = place.querySelector(".predict-feedback");
  return (verdict, markup) => {
    line.dataset.verdict = verdict;
    line.innerHTML = `<span class="predict-sign" aria-hidden="true">${SIGNS[verdict]}</span><span>${markup}</span>`;
  };
}

const box = (id, text, inside, link) => `<div class="living living-live"><div class="living-app predict" role="group" aria-labelledby="${id}-text">
  <p class="predict-text" id="${id}-text">${text}</p>${inside}
  <p class="predict-feedback" id="${id}-said" role="status" tabindex="-1"></p>
  <p class="return-link"><a href="${escape(link)}">Where it was asked</a></p></div></div>`;

const form = ({ unit }, id) => `<form class="predict-form" autocomplete="off" novalidate>
  <label for="${id}-answer">Your answer</label>
  <span class="predict-entry"><input type="text" autocapitalize="none" id="${id}-answer" maxlength="40"
    spellcheck="false" aria-describedby="${id}-unit ${id}-said"><span class="predict-unit" id="${id}-unit">${escape(unit)}</span></span>
  <button type="submit" class="predict-check">Check</button>
  <span class="predict-more"><button type="button" hidden>Show the answer</button></span></form>`;

// `answered` is told once, by the first answer that can be read: whether it's right.
export function askNumber(place, question, { id, link, answered, fresh }) {
  place.innerHTML = box(id, `${fresh ? "<b>New numbers.</b> " : ""}${inline(question.text)}`, form(question, id), link);
  const say = teller(place);
  const [input, show] = [place.querySelector("input"), place.querySelector(".predict-more button")];
  place.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const { verdict, message } = judge(question, input.value.trim());
    input.toggleAttribute("aria-invalid", verdict === "unread");
    say(verdict, inline({ right: `Right. ${message}`, unread: message }[verdict] ?? `Not yet. ${message}`));
    if (verdict === "unread") return;
    answered(verdict === "right");
    show.hidden = verdict === "right";
  });
  show.addEventListener("click", () => {
    say("shown", inline(`The answer is ${format(question.answer)} ${question.unit}. ${question.explanation}`));
    show.hidden = true;
    place.querySelector(".predict-feedback").focus();
  });
}

export function askClaim(place, { text, holds }, { id, link, answered }) {
  const buttons = Object.entries(SAYS).map(([say, word]) => `<button type="button" class="return-say" data-say="${say}" aria-pressed="false">${word}</button>`);
  place.innerHTML = box(id, inline(text), `<div class="return-says">${buttons.join("")}</div>`, link);
  const say = teller(place);
  place.addEventListener("click", ({ target }) => {
    const said = target.dataset.say;
    if (!said) return;
    for (const one of place.querySelectorAll("[data-say]")) one.setAttribute("aria-pressed", String(one === target));
    const right = said === holds;
    say(right ? "right" : "wrong", `${right ? "Right." : "Not yet."} ${HOLDS[holds]}; the link below leads to the verdict.`);
    answered(right);
  });
}
