// A chapter in a learning platform (SCORM 1.2): what is solved is told to the platform, and comes
// back from it. A script of its own in the head of an exported page, before the page looks at what
// the browser keeps. Without a platform around it the page is as it is elsewhere.
import { entries, onlyKnown, parseProgress } from "../progress/format.js";
import { collect, forget, keepText, store, textOf, whenKept } from "../progress/store.js";
import { findApi, sessionTime, suspended, tally } from "./data.js";

class Report {
  constructor(api, chapter) {
    Object.assign(this, { api, chapter, told: new Map(), began: performance.now(), ended: false });
    this.owner = `living:scorm:${chapter.page}`;
  }

  // What the platform answers is a text; one that breaks must not break the page.
  call(name, ...values) {
    try {
      return String(this.api[name](...values));
    } catch {
      return "";
    }
  }

  begin() {
    if (this.call("LMSInitialize", "") !== "true") return false;
    this.restore();
    // A look at what was done before changes nothing.
    this.counts = !["browse", "review"].includes(this.call("LMSGetValue", "cmi.core.lesson_mode"));
    this.status = this.call("LMSGetValue", "cmi.core.lesson_status");
    if (this.counts) {
      this.set("cmi.core.score.min", "0");
      this.set("cmi.core.score.max", "100");
    }
    whenKept(() => this.tell());
    this.tell();
    addEventListener("pagehide", () => this.end());
    // A page that comes back from the browser's memory has been taken leave of.
    addEventListener("pageshow", (event) => event.persisted && location.reload());
    return true;
  }

  // The platform's record counts: someone else may have sat at this browser. Only code that is too
  // long for the platform stays here, and only for whom it was kept.
  restore() {
    const [student, entry, text] = ["core.student_id", "core.entry", "suspend_data"].map((name) => this.call("LMSGetValue", `cmi.${name}`));
    const same = textOf(this.owner) === student && entry !== "ab-initio";
    for (const [page, kind, name] of entries(collect([this.chapter]))) {
      if (!same || kind !== "answers") forget(kind, `${page}/${name}`);
    }
    keepText(this.owner, student);
    const { record } = parseProgress(text);
    if (record) store(onlyKnown(record, [this.chapter]).known);
  }

  set(name, value) {
    if (this.told.get(name) === value) return false;
    this.told.set(name, value);
    this.call("LMSSetValue", name, value);
    return true;
  }

  tell() {
    const record = collect([this.chapter]);
    const { earned, total } = tally(this.chapter, record);
    this.show(`Your course is told what you solve here: ${earned} of ${total} points.`);
    if (!this.counts || this.ended) return;
    const all = earned === total || ["completed", "passed"].includes(this.status);
    const changed = [
      this.set("cmi.core.lesson_status", all ? "completed" : "incomplete"),
      this.set("cmi.core.score.raw", String(Math.round((1000 * earned) / total) / 10)),
      this.set("cmi.suspend_data", suspended(record)),
    ];
    if (changed.includes(true)) this.call("LMSCommit", "");
  }

  show(words) {
    this.words = words;
    const place = document.querySelector(".scorm-said");
    if (place) place.textContent = words;
  }

  end() {
    if (this.ended) return;
    this.tell();
    this.ended = true;
    if (this.counts) {
      this.set("cmi.core.session_time", sessionTime(performance.now() - this.began));
      this.set("cmi.core.exit", "suspend"); // some platforms forget suspend_data without it
      this.call("LMSCommit", "");
    }
    this.call("LMSFinish", "");
  }
}

const api = findApi(window);
const report = api && new Report(api, globalThis.livingScorm);
const began = report?.begin();
document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector(".scorm-said");
  place.textContent = began ? report.words : "No course was found around this page: what you solve stays in this browser.";
});
