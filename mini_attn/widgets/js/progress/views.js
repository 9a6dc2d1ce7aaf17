// The markup of a reader's progress. Titles and names come from the book, and are escaped.
import { count, escape } from "../core/text.js";
import { entries } from "./format.js";

const MARKS = {
  right: ["✓", "right"], wrong: ["✗", "not yet right"], open: ["○", "open"],
};

const verdictOf = (entry) => (!entry ? "open" : entry.verdict === "right" ? "right" : "wrong");
const isDone = (entry) => entry?.state === "solved" || entry?.state === "done";

// What there is of a chapter, and how much of it is done.
function tally({ page, predictions, exercises }, record) {
  const kept = record[page];
  const verdicts = predictions.map((name) => verdictOf(kept?.predictions[name]));
  return {
    verdicts,
    right: verdicts.filter((verdict) => verdict === "right").length,
    answered: verdicts.filter((verdict) => verdict !== "open").length,
    done: exercises.filter(({ id }) => isDone(kept?.exercises[id])).length,
    points: exercises.reduce((sum, { id }) => sum + (kept?.exercises[id]?.points ?? 0), 0),
  };
}

export function chapterWords(chapter, record) {
  const { right, done } = tally(chapter, record);
  const parts = [];
  if (chapter.predictions.length) parts.push(`${right} of ${count(chapter.predictions.length, "prediction")} right`);
  if (chapter.exercises.length) parts.push(`${done} of ${count(chapter.exercises.length, "exercise")} done`);
  return parts.join(", ");
}

// How much of a chapter is done, for its card; nothing where nothing is.
export function cardWords(chapter, record) {
  const { right, done } = tally(chapter, record);
  const of = chapter.predictions.length + chapter.exercises.length;
  if (!right && !done) return "";
  return right + done === of ? `✓ all ${of} done` : `${right + done} of ${of} done`;
}

// How much a record holds: 2 predictions (1 right) and 3 exercises (3 done).
export function wordsFor(record) {
  const all = [...entries(record)];
  const answers = all.filter((item) => item[1] === "answers").length;
  const part = (kind, noun, good, word) => {
    const found = all.filter((item) => item[1] === kind);
    return found.length ? [`${count(found.length, noun)} (${found.filter((item) => good(item[3])).length} ${word})`] : [];
  };
  return [
    ...part("predictions", "prediction", (entry) => entry.verdict === "right", "right"),
    ...part("exercises", "exercise", isDone, "done"),
    ...(answers ? [`the code of ${count(answers, "answer")}`] : []),
  ].join(" and ") || "nothing";
}

function predictionMarks(chapter, verdicts) {
  const marks = verdicts.map((verdict, i) => {
    const [sign, words] = MARKS[verdict];
    return `<li><a href="#predict-${i + 1}-text" data-verdict="${verdict}" aria-label="Prediction ${i + 1}: ${words}">${i + 1} <span aria-hidden="true">${sign}</span></a></li>`;
  });
  return `<p class="kept-head" id="kept-marks">Predictions</p><ol class="kept-marks" aria-labelledby="kept-marks">${marks.join("")}</ol>`;
}

function exerciseLine({ id, title, points, open }, number, entry) {
  const name = `<span>${number}. ${escape(title)}</span>`;
  const worth = open ? "answered in words: tick it by your own word" : count(points, "point");
  if (entry?.state === "solved") {
    return `<li class="kept-solved"><span class="kept-sign" aria-hidden="true">✓</span>${name} <small>solved in Python, ${worth}</small></li>`;
  }
  const tried = entry?.state === "tried" ? `tried in Python${entry.missing ? `, missing: ${escape(entry.missing)}` : ""}` : worth;
  return `<li><label><input type="checkbox" data-exercise="${escape(id)}"${isDone(entry) ? " checked" : ""}>${name}</label> <small>${tried}</small></li>`;
}

export function chapterBody(chapter, record, book) {
  const { page, predictions, exercises } = chapter;
  const { verdicts } = tally(chapter, record);
  const lines = exercises.map((task, i) => exerciseLine(task, i + 1, record[page]?.exercises[task.id]));
  return `${predictions.length ? predictionMarks(chapter, verdicts) : ""}
    ${lines.length ? `<fieldset class="kept-tasks"><legend class="kept-head">Exercises: tick what <code>check</code> called solved</legend><ul>${lines.join("")}</ul></fieldset>` : ""}
    <p class="kept-note">Kept in this browser, for its notebooks too. Jupyter on a machine keeps its own record; Export and Import carry it over. <a href="${escape(book)}#your-progress">All chapters</a></p>`;
}

const bar = (done, of) => `<span class="kept-bar" aria-hidden="true"><span style="width:${of ? (100 * done) / of : 0}%"></span></span>`;

function bookRow(chapter, record) {
  const { right, answered, done, points } = tally(chapter, record);
  const [questions, tasks] = [chapter.predictions.length, chapter.exercises.length];
  const worth = chapter.exercises.reduce((sum, task) => sum + (task.open ? 0 : task.points), 0);
  return {
    numbers: [right, answered, questions, done, tasks, points, worth],
    markup: `<tr><th scope="row"><a href="${escape(chapter.page)}.html">${escape(chapter.title)}</a></th>
      ${cells(right, answered, questions, done, tasks)}</tr>`,
  };
}

function cells(right, answered, questions, done, tasks) {
  const open = answered > right ? ` <small>${answered} answered</small>` : "";
  return `<td>${right} of ${questions}${open}${bar(right, questions)}</td><td>${tasks ? `${done} of ${tasks}${bar(done, tasks)}` : "none"}</td>`;
}

export function bookTable(outline, record) {
  const rows = outline.map((chapter) => bookRow(chapter, record));
  const sums = rows.reduce((sum, { numbers }) => sum.map((value, i) => value + numbers[i]), [0, 0, 0, 0, 0, 0, 0]);
  const [right, answered, questions, done, tasks, points, worth] = sums;
  const earned = points ? `Checked in Python: ${points} of ${count(worth, "point")}.` : "";
  return `<table class="kept-table"><thead><tr><th scope="col">Chapter</th><th scope="col">Predictions right</th><th scope="col">Exercises done</th></tr></thead>
    <tbody>${rows.map(({ markup }) => markup).join("")}</tbody>
    <tfoot><tr><th scope="row">The book</th>${cells(right, answered, questions, done, tasks)}</tr></tfoot></table>
    ${earned ? `<p class="kept-note">${earned}</p>` : ""}`;
}
