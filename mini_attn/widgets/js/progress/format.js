// The file of a reader's progress: read, merged and written by the rules of
// progress_format.py and progress_record.py in mini_attn/exercises, so that what one of the two
// exports the other imports.
const FORMAT = "living-attention-progress";
const VERSIONS = [1, 2, 3]; // without answers, with them, and with the days of what returns
const LONGEST = 8000; // characters of an answer that are kept
const HALF = /\p{Surrogate}/u; // half a character: no file in UTF-8 can hold it
const NAME = /^[a-z0-9][a-z0-9_-]{0,59}$/;
const ATTEMPT = /^[0-9A-Za-z+.,_' ’‘`´\u00a0\u2007\u2009\u202f×·⋅*\/÷:^()!%√½⅓⅔¼¾⅕⅙⅛⁰¹²³⁴⁵⁶⁷⁸⁹⁻−~≈≃=°πµμ-]{1,40}$/;
const KINDS = ["predictions", "exercises", "answers", "returns"]; // the last two only where there are some
const RUNGS = 4; // an answer comes back three times at most; on the last rung it's done
const DAY = /^2\d{3}-\d{2}-\d{2}$/;
const VERDICTS = ["wrong", "mistake", "right"];
const STATES = ["tried", "done", "solved"]; // each outlasts those before it

export const FILE = `${FORMAT}.json`;
export const LARGEST = 1_000_000; // bytes

class Refusal extends Error {}

function refuse(what) {
  throw new Refusal(`this is no progress that can be read: ${what}`);
}

const short = (value) => (JSON.stringify(value) ?? "nothing").slice(0, 40);

function object(value, where, allowed = null) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    refuse(`${where} is ${short(value)}, expected named values`);
  }
  for (const key of Object.keys(value)) {
    if (allowed && !allowed.includes(key)) refuse(`${where} has the unknown key ${short(key)}`);
    if (!allowed && !NAME.test(key)) refuse(`${where} has the name ${short(key)}`);
  }
  return value;
}

function oneOf(value, choices, where) {
  if (!choices.includes(value)) refuse(`${where} is ${short(value)}, expected one of ${choices.join(", ")}`);
  return value;
}

export const isName = (text) => typeof text === "string" && NAME.test(text);
export const isAttempt = (text) => typeof text === "string" && ATTEMPT.test(text);

function prediction(given, where) {
  const { attempt, verdict, shown = false } = object(given, where, ["attempt", "verdict", "shown"]);
  if (!isAttempt(attempt)) refuse(`the attempt of ${where} is ${short(attempt)}, expected a typed number`);
  if (typeof shown !== "boolean") refuse(`shown of ${where} is ${short(shown)}, expected true or false`);
  return { attempt, verdict: oneOf(verdict, VERDICTS, `the verdict of ${where}`), shown };
}

function exercise(given, where) {
  const { state, points, missing } = object(given, where, ["state", "points", "missing"]);
  oneOf(state, STATES, `the state of ${where}`);
  if (!Number.isInteger(points) || points < 0 || points > 100) {
    refuse(`the points of ${where} are ${short(points)}, expected 0 to 100`);
  }
  if (points && state !== "solved") refuse(`${where} has points and is not solved`);
  if (missing === undefined || missing === null) return { state, points };
  if (typeof missing !== "string" || !/^[a-z ]{1,20}$/.test(missing)) {
    refuse(`what is missing in ${where} is ${short(missing)}, expected a check's name`);
  }
  return { state, points, missing };
}

export const isAnswer = (code) => typeof code === "string" && code.length > 0 && [...code].length <= LONGEST && !HALF.test(code);

function answer(given, where) {
  const { code } = object(given, where, ["code"]);
  if (!isAnswer(code)) refuse(`the code of ${where} is ${short(code)}, expected 1 to ${LONGEST} characters`);
  return { code };
}

function isDay(text) {
  if (typeof text !== "string" || !DAY.test(text)) return false;
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text); // no 30th of February
}

// When a prediction was answered, and how often it has come back since.
function returning(given, where) {
  const { day, rung } = object(given, where, ["day", "rung"]);
  if (!isDay(day)) refuse(`the day of ${where} is ${short(day)}, expected for example 2026-11-28`);
  if (!Number.isInteger(rung) || rung < 0 || rung >= RUNGS) refuse(`the rung of ${where} is ${short(rung)}, expected 0 to ${RUNGS - 1}`);
  return { day, rung };
}

const READERS = { predictions: prediction, exercises: exercise, answers: answer, returns: returning };
const empty = () => Object.assign(Object.create(null), { predictions: Object.create(null), exercises: Object.create(null) });

// One entry as it lies in the browser's storage, or null where it is not one.
export function entryOf(kind, value) {
  try {
    return READERS[kind](value, "it");
  } catch (reason) {
    if (reason instanceof Refusal) return null;
    throw reason;
  }
}

function read(text) {
  if (new Blob([text]).size > LARGEST) refuse(`it is longer than ${LARGEST} bytes`);
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    refuse("it is not JSON text");
  }
  if (data?.format !== FORMAT) refuse(`it does not say that its format is "${FORMAT}"`);
  if (!VERSIONS.includes(data.version)) {
    throw new Refusal(`the progress has version ${short(data.version)} of its format, this book reads ${VERSIONS.join(", ")}`);
  }
  const allowed = KINDS.slice(0, data.version + 1);
  object(data, "the file", ["format", "version", "chapters"]);
  const record = Object.create(null);
  for (const [page, kinds] of Object.entries(object(data.chapters, "the list of chapters"))) {
    object(kinds, `chapter ${page}`, allowed);
    record[page] = empty();
    for (const kind of KINDS) {
      for (const [name, entry] of Object.entries(object(kinds[kind] ?? {}, `${kind} of ${page}`))) {
        put(record, page, kind, name, READERS[kind](entry, `${page}/${name}`));
      }
    }
  }
  return record;
}

// {record} or {error}: nothing is taken from a file that does not fit the format.
export function parseProgress(text) {
  try {
    return { record: read(text) };
  } catch (reason) {
    if (reason instanceof Refusal) return { error: reason.message };
    throw reason;
  }
}

// Everything in a record, as [page, kind, name, entry].
export function* entries(record) {
  for (const [page, kinds] of Object.entries(record)) {
    for (const kind of KINDS) for (const [name, entry] of Object.entries(kinds[kind] ?? {})) yield [page, kind, name, entry];
  }
}

export function put(record, page, kind, name, entry) {
  record[page] ??= empty();
  (record[page][kind] ??= Object.create(null))[name] = entry;
}

function rank(kind, entry) {
  if (kind === "answers") return 0;
  if (kind === "returns") return (Date.parse(entry.day) / 864e5) * RUNGS + entry.rung; // the later day counts
  return kind === "exercises" ? STATES.indexOf(entry.state) : Number(entry.verdict === "right");
}

// What was solved once stays solved, else the newer counts.
export function mergeProgress(older, newer) {
  const result = Object.create(null);
  for (const [page, kind, name, entry] of [...entries(older), ...entries(newer)]) {
    const present = result[page]?.[kind]?.[name];
    if (!present || rank(kind, entry) >= rank(kind, present)) put(result, page, kind, name, entry);
  }
  return result;
}

export function progressText(record) {
  const chapters = {};
  for (const [page, kind, name, entry] of entries(record)) ((chapters[page] ??= {})[kind] ??= {})[name] = entry;
  const has = (kind) => Object.values(chapters).some((kinds) => kinds[kind]);
  const version = has("returns") ? 3 : has("answers") ? 2 : 1;
  return `${JSON.stringify({ format: FORMAT, version, chapters }, null, 1)}\n`;
}

// A record without what this book does not have, and how many entries were left out.
export function onlyKnown(record, outline) {
  const known = Object.create(null);
  let leftOut = 0;
  for (const [page, kind, name, entry] of entries(record)) {
    const chapter = outline.find((chapter) => chapter.page === page);
    const names = kind === "predictions" || kind === "returns" ? chapter?.predictions : chapter?.exercises.map(({ id }) => id);
    if (names?.includes(name)) put(known, page, kind, name, entry);
    else leftOut += 1;
  }
  return { known, leftOut };
}
