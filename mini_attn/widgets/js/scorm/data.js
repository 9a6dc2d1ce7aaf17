// What a learning platform is told of a chapter, by the types and limits of SCORM 1.2.
import { entries, progressText, put } from "../progress/format.js";

const LONGEST = 4096; // characters of cmi.suspend_data
const FAR = 50; // frames around a page

// The platform's object: in a window around this one, or around the one that opened it.
export function findApi(start) {
  const around = (first) => {
    for (let [here, far] = [first, 0]; far < FAR; [here, far] = [here.parent, far + 1]) {
      try {
        if (here.API) return here.API;
      } catch {
        return null; // another site's window
      }
      if (here.parent === here) return null;
    }
    return null;
  };
  const own = around(start);
  if (own) return own;
  try {
    return start.top.opener ? around(start.top.opener) : null;
  } catch {
    return null;
  }
}

// Points of what was solved, and of what can be solved on the page; what one ticked off oneself is
// none of a course's business.
export function tally({ page, predictions, exercises }, record) {
  const kept = record[page];
  const right = predictions.filter((name) => kept?.predictions[name]?.verdict === "right");
  const counted = exercises.filter(({ counts }) => counts);
  const solved = counted.filter(({ id }) => kept?.exercises[id]?.state === "solved");
  const worth = (tasks) => tasks.reduce((sum, { points }) => sum + points, 0);
  return { earned: right.length + worth(solved), total: predictions.length + worth(counted) };
}

const escaped = (text) => text.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
const written = (record) => escaped(JSON.stringify(JSON.parse(progressText(record))));
const size = ([, kind, , entry]) => (kind === "answers" ? LONGEST : 0) + JSON.stringify(entry).length;

// A record as the platform keeps it: plain ASCII, and no longer than it may be. Answers come last
// and the shortest first; code that does not fit stays in the browser alone.
export function suspended(record) {
  const kept = Object.create(null);
  let text = written(kept);
  for (const [page, kind, name, entry] of [...entries(record)].sort((a, b) => size(a) - size(b))) {
    put(kept, page, kind, name, entry);
    const longer = written(kept);
    if (longer.length <= LONGEST) text = longer;
    else delete kept[page][kind][name];
  }
  return text;
}

// How long a visit was, as CMITimespan: HHHH:MM:SS.SS
export function sessionTime(milliseconds) {
  const hundredths = Math.max(0, Math.round(milliseconds / 10));
  const seconds = Math.floor(hundredths / 100);
  const two = (number) => String(number).padStart(2, "0");
  const hours = Math.min(9999, Math.floor(seconds / 3600));
  return `${String(hours).padStart(4, "0")}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}.${two(hundredths % 100)}`;
}
