// What a reader has answered and ticked, in the browser's storage; in memory where it has none.
import { entries, entryOf, isAttempt, isName, mergeProgress, put } from "./format.js";

const KINDS = ["predictions", "exercises", "answers", "returns"];
const nameOf = (kind, key) => `living:${kind.slice(0, -1)}:${key}`; // living:prediction:kv-cache/passes
const EVENT = "living:progress";
const memory = (globalThis.livingMemory ??= new Map()); // shared by the scripts of a page

export function lasting() {
  try {
    localStorage.setItem("living:try", "1");
    localStorage.removeItem("living:try");
    return true;
  } catch {
    return false; // private windows and folders may have no storage: the page works without
  }
}

export function textOf(name) {
  let text = null;
  try {
    text = localStorage.getItem(name);
  } catch {
    // As above.
  }
  return text ?? memory.get(name) ?? null;
}

function value(name) {
  try {
    return JSON.parse(textOf(name));
  } catch {
    return null; // not what this page has written
  }
}

export function keepText(name, text) {
  try {
    localStorage.setItem(name, text);
    memory.delete(name);
  } catch {
    memory.set(name, text);
  }
}

export const readKept = (kind, key) => value(nameOf(kind, key));
export const keep = (kind, key, kept) => keepText(nameOf(kind, key), JSON.stringify(kept));

function drop(name) {
  memory.delete(name);
  try {
    localStorage.removeItem(name);
  } catch {
    // Then it was in memory only.
  }
}

// With an exercise, how often it was tried is forgotten too.
export function forget(kind, key) {
  drop(nameOf(kind, key));
  if (kind === "exercises") drop(`living:tries:${key}`);
}

// The last attempt counts, unless an earlier one was right: what is solved stays solved.
function predictionEntry(kept) {
  if (kept === null || typeof kept !== "object") return null;
  const shown = kept.shown === true;
  if (isAttempt(kept.solved)) return { attempt: kept.solved, verdict: "right", shown };
  return entryOf("predictions", { attempt: kept.attempt, verdict: kept.verdict, shown });
}

function known(kind, key) {
  const kept = readKept(kind, key);
  return kind === "predictions" ? predictionEntry(kept) : entryOf(kind, kept);
}

// Everything of these chapters.
export function collect(chapters) {
  const record = Object.create(null);
  for (const { page, predictions, exercises } of chapters) {
    const ids = exercises.map(({ id }) => id);
    for (const [kind, names] of [["predictions", predictions], ["exercises", ids], ["answers", ids], ["returns", predictions]]) {
      for (const name of names) take(record, page, kind, name);
    }
  }
  return record;
}

// Everything of the book, also of chapters that a page does not know of.
export function everything() {
  const record = Object.create(null);
  for (const kind of KINDS) {
    const prefix = nameOf(kind, "");
    for (const name of Object.keys(localStorage).filter((key) => key.startsWith(prefix))) {
      const [page, key, ...rest] = name.slice(prefix.length).split("/");
      if (!rest.length && isName(page) && isName(key)) take(record, page, kind, key);
    }
  }
  return record;
}

function take(record, page, kind, name) {
  const entry = known(kind, `${page}/${name}`);
  if (entry) put(record, page, kind, name, entry);
}

export function store(record) {
  for (const [page, kind, name, entry] of entries(record)) {
    const solved = kind === "predictions" && entry.verdict === "right" ? { solved: entry.attempt } : {};
    keep(kind, `${page}/${name}`, { ...entry, ...solved });
  }
}

// Add a record to what is kept: what was solved once stays solved.
export function add(record) {
  const kept = Object.create(null);
  for (const [page, kind, name] of entries(record)) take(kept, page, kind, name);
  store(mergeProgress(kept, record));
}

// Tell the other parts of the page; other windows are told by the browser.
export const announce = () => document.dispatchEvent(new Event(EVENT));

// Gives the way to stop listening.
export function whenKept(callback) {
  const elsewhere = ({ key }) => (key === null || key.startsWith("living:")) && callback();
  document.addEventListener(EVENT, callback);
  addEventListener("storage", elsewhere);
  return () => {
    document.removeEventListener(EVENT, callback);
    removeEventListener("storage", elsewhere);
  };
}
