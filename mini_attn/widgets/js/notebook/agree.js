// Two records of one reader's work, the page's and the notebook's file, and what they agreed on
// last: what they shall both hold. Whatever changed since then on one side counts; what one side
// lost without being told to forget it comes back from the other.
import { entries, mergeProgress, put } from "../progress/format.js";

const of = (record, page, kind, name) => record[page]?.[kind]?.[name];
const text = (entry) => JSON.stringify(entry, ["state", "points", "missing", "attempt", "verdict", "shown", "code", "day", "rung"]);
export const same = (a, b) => (a && b ? text(a) === text(b) : !a && !b);

function one(here, there, before, forgotten) {
  if (same(here, there)) return here;
  if (here && there) {
    if (same(there, before)) return here;
    if (same(here, before)) return there;
    return null; // both changed
  }
  const left = here ?? there;
  return same(left, before) && (here ? forgotten.there : forgotten.here) ? undefined : left;
}

// The record of both. `forgotten` says on which side a missing entry was forgotten on purpose.
export function agree(here, there, before, forgotten) {
  const result = Object.create(null);
  const merged = mergeProgress(there, here);
  for (const [page, kind, name] of entries(merged)) {
    const found = one(...[here, there, before].map((record) => of(record, page, kind, name)), forgotten);
    const entry = found === null ? merged[page][kind][name] : found;
    if (entry) put(result, page, kind, name, entry);
  }
  return result;
}

// What has to be put and what has to be forgotten to get from one record to another.
export function changes(from, to) {
  const [kept, gone] = [Object.create(null), []];
  for (const [page, kind, name, entry] of entries(to)) if (!same(entry, of(from, page, kind, name))) put(kept, page, kind, name, entry);
  for (const [page, kind, name] of entries(from)) if (!of(to, page, kind, name)) gone.push([kind, `${page}/${name}`]);
  return { kept, gone, none: !gone.length && entries(kept).next().done };
}
