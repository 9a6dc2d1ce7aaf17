// When an answer comes back: a day after it was given, then after three, then after ten. A wrong
// answer begins again. Days are those of the reader's calendar, written 2026-11-28.
export const WAITS = [1, 3, 10]; // days, by rung; behind the last an answer is done
export const MOST = 3; // that are asked at a time
const DAY = 864e5;

export const today = (now = new Date()) => [now.getFullYear(), now.getMonth() + 1, now.getDate()]
  .map((part) => String(part).padStart(2, "0")).join("-");

export const dayNumber = (day) => Date.parse(day) / DAY;

// The day from which an answer is asked for again, or null where it's done.
export const dueOn = ({ day, rung }) => (rung < WAITS.length
  ? new Date((dayNumber(day) + WAITS[rung]) * DAY).toISOString().slice(0, 10) : null);

export const begun = (now) => ({ day: now, rung: 0 });
export const after = ({ rung }, right, now) => (right ? { day: now, rung: rung + 1 } : begun(now));

// What has waited longest comes first; `entries` are pairs of a key and its entry.
export function due(entries, now) {
  return entries.map(([key, entry]) => [key, dueOn(entry)])
    .filter(([, day]) => day !== null && day <= now)
    .sort(([one, a], [other, b]) => (a === b ? (one < other ? -1 : 1) : a < b ? -1 : 1))
    .map(([key]) => key);
}
