// The browser notebook keeps progress in a file of its drive, the page in the browser's storage.
// Both are of one site, and this runs where both can be reached: beside the notebook. It brings
// them together when the notebook opens and whenever one of them changes.
import { parseProgress, progressText } from "../progress/format.js";
import { announce, everything, forget, keepText, store, textOf, whenKept } from "../progress/store.js";
import { agree, changes } from "./agree.js";

export const FILE = "mini-attn-progress.json"; // as in progress_store.py
const COPY = "mini-attn-progress-before-reset.json"; // as in progress_transfer.py
const AGREED = "living:agreed";
const nothing = () => Object.create(null);

// What the two held when they were last brought together, and when that was.
function lastAgreed() {
  try {
    const { at, text } = JSON.parse(textOf(AGREED) ?? "null");
    return { at, record: parseProgress(text).record ?? nothing() };
  } catch {
    return { at: 0, record: nothing() }; // never, or not what this has written
  }
}

async function readFile(contents) {
  const found = await contents.get(FILE, { content: true }).catch(() => null);
  if (!found?.content) return { record: nothing() };
  return parseProgress(typeof found.content === "string" ? found.content : JSON.stringify(found.content));
}

// The notebook's reset leaves a copy of what it forgot; a file that only lost something does not.
async function wasReset(contents, since) {
  const copy = await contents.get(COPY, { content: false }).catch(() => null);
  return copy !== null && Date.parse(copy.last_modified) > since;
}

async function bringTogether(contents) {
  const { at, record: before } = lastAgreed();
  const forgotten = { here: true, there: await wasReset(contents, at) };
  const { record: there, error } = await readFile(contents);
  if (error) return; // of another version, or damaged: the notebook says so
  const here = everything();
  const both = agree(here, there, before, forgotten);
  const [page, file] = [changes(here, both), changes(there, both)];
  const now = Date.now();
  // The storage first, as nothing can come between; a file that is not written is so next time.
  store(page.kept);
  for (const [kind, key] of page.gone) forget(kind, key);
  if (!file.none) await contents.save(FILE, { type: "file", format: "json", content: JSON.parse(progressText(both)) });
  if (!changes(before, both).none || forgotten.there) keepText(AGREED, JSON.stringify({ at: now, text: progressText(both) }));
  if (!page.none) announce();
}

// One after the other: each reads what the one before has written.
export function keepTogether(contents) {
  let work = Promise.resolve();
  let asked = false;
  const ask = () => {
    if (asked) return;
    asked = true;
    work = work.then(() => {
      asked = false;
      return bringTogether(contents);
    }).catch((reason) => console.warn("Progress was not brought together:", reason));
  };
  contents.fileChanged.connect((_, { newValue, oldValue }) => {
    if ([newValue?.path, oldValue?.path].includes(FILE)) ask();
  });
  whenKept(ask);
  ask();
}
