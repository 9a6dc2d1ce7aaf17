// A script of its own, asked for when somebody hands in: the notebook that holds a reader's answers,
// as `make grade` takes it, see classroom/submissions/notebook.py. It has to be made without a
// server, so the text of the tasks, which is on the page, isn't in it.
import { parseAnswer } from "../questions/reading.js";

const LONGEST = 60; // characters of a name

// A name as a file may have it; empty if nothing of it can stay. The file's name is the student's.
export function nameOf(typed) {
  const kept = typed.normalize("NFC").replace(/[^\p{L}\p{M}\p{N} '’._-]+/gu, " ").replace(/\s+/g, " ");
  return [...kept].slice(0, LONGEST).join("").replace(/^[\s.'’_-]+|[\s.]+$/g, "");
}

const cell = (kind, source, id, metadata = {}) => ({
  cell_type: kind, id, metadata, source, ...(kind === "code" ? { execution_count: null, outputs: [] } : {}),
});

// What a page's field for a number holds, as Python. What can't be read stays a text, for people.
function number(typed, unit) {
  if (/^\s*answer\b/.test(typed)) return typed;
  const { value } = parseAnswer(typed, unit, { signed: true });
  const said = typed.replace(/\s+/g, " ");
  return value === undefined ? `answer = ${JSON.stringify(said)}` : `answer = ${value}  # typed: ${said}`;
}

function cellsOf({ id, title, name, unit, open }, code, place) {
  const tag = (role) => ({ exercise: { id, role } });
  const source = unit === undefined ? code : number(code, unit);
  const asked = open ? "" : `, ${name ?? "answer"}`;
  return [
    cell("markdown", `### Exercise ${place}: ${title}`, `${id}-text`),
    cell(open ? "markdown" : "code", source, `${id}-starter`, tag("starter")),
    cell("code", `check("${id}"${asked})`, `${id}-check`, tag("check")),
  ];
}

// {name, text, answers} or {error}: a notebook with the answers of these chapters.
export function notebookOf(typed, chapters, record) {
  const name = nameOf(typed);
  if (!name) return { error: "Type your name first, as your teacher knows it." };
  const cells = [
    cell("markdown", "# The Living Attention Book · answers from the page", "sheet-title"),
    cell("markdown", `**Name:** ${name}`, "sheet-name", { exercise: { role: "name" } }),
    cell("code", "import numpy as np\n\nfrom mini_attn.exercises import check, hint, progress", "sheet-setup"),
  ];
  let answers = 0;
  for (const chapter of chapters) {
    const own = chapter.exercises.flatMap((task, i) => {
      const code = record[chapter.page]?.answers?.[task.id]?.code;
      return code ? [cellsOf(task, code, i + 1)] : [];
    });
    if (!own.length) continue;
    answers += own.length;
    cells.push(cell("markdown", `## ${chapter.title}`, `chapter-${chapter.page}`), ...own.flat());
  }
  if (!answers) return { error: "There is no answer to hand in yet: write one above, in the place of its exercise." };
  const metadata = { kernelspec: { name: "python3", display_name: "Python 3", language: "python" }, language_info: { name: "python" } };
  return { name, answers, text: `${JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 5 }, null, 1)}\n` };
}

globalThis.livingHandin = notebookOf;
