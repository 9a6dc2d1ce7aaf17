// The page's one Python. Exercises and cells share it; it starts at the first use and can be
// ended at any time, and then all that it held is gone.
//
//   start({tell})                  resolves when it runs; rejects with an Unavailable
//   run(code, {name, tell})        {value, error, cut, seconds}
//   check(exercise, code, {tell})  the same with {report, kept}
//   stop()                         ends it: what is under way rejects with a Stopped
//   state                          "none", "starting", "ready", "busy" or "gone"
//   watch(callback)                called with the state at each change; gives the way to stop
//   life                           how often it was started: cells of another life are gone
//
// `tell(kind, text)` hears "phase" ("core", then "package") while Python starts; while code runs
// "stdout", "stderr", "figure" (the address of a picture), "loading" and "loaded" (what came at
// first use, and in how many seconds).
export class Stopped extends Error {}
export class Unavailable extends Error {}

export const WORDS = {
  file: "Opened as a file, this page cannot run Python: browsers start none from a disk or a USB stick.",
  absent: "Python did not come: this copy of the book has none for the browser, or the connection broke.",
  broken: "Python broke down, and what it held is gone.",
};

export class Interpreter {
  constructor(addresses, makeWorker = (address) => new Worker(address)) {
    Object.assign(this, { addresses, makeWorker, worker: null, state: "none", life: 0 });
    this.waiting = new Map(); // by id: what to call when it is done
    this.watchers = new Set();
    this.last = 0;
  }

  // Where Python can run at all: else the words that say why not.
  get refusal() {
    return /^https?:$/.test(this.addresses.protocol) ? null : WORDS.file;
  }

  watch(callback) {
    this.watchers.add(callback);
    return () => this.watchers.delete(callback);
  }

  become(state) {
    if (state === this.state) return;
    this.state = state;
    for (const callback of this.watchers) callback(state);
  }

  start({ tell } = {}) {
    return this.ask({ ask: "start" }, { tell });
  }

  run(code, { name, tell }) {
    return this.ask({ ask: "run", code, name }, { tell });
  }

  check(exercise, code, { tell }) {
    return this.ask({ ask: "check", exercise, code }, { tell });
  }

  ask(message, { tell }) {
    if (this.refusal) return Promise.reject(new Unavailable(this.refusal));
    if (!this.worker) this.begin();
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, tell });
      if (this.state === "ready") this.become("busy");
      this.worker.postMessage({ ...message, id, pyodide: this.addresses.pyodide });
    });
  }

  begin() {
    this.life += 1;
    this.worker = this.makeWorker(this.addresses.worker);
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.onerror = (event) => {
      event.preventDefault?.();
      this.end(new Unavailable(WORDS.broken));
    };
    this.become("starting");
  }

  hear({ id, tell, text, done, failed }) {
    const asked = this.waiting.get(id);
    if (!asked) return;
    if (tell) {
      asked.tell?.(tell, text);
      return;
    }
    if (failed !== undefined) {
      // Python answers each fault of the reader's; what comes here leaves it in an unknown state.
      this.end(new Unavailable(failed === "absent" ? WORDS.absent : `${WORDS.broken} (${failed.trim().split("\n").at(-1).slice(0, 200)})`));
      return;
    }
    this.waiting.delete(id);
    this.become(this.waiting.size ? "busy" : "ready");
    asked.resolve(done);
  }

  stop() {
    this.end(new Stopped("Stopped."));
  }

  end(reason) {
    if (!this.worker) return;
    this.worker.terminate();
    this.worker = null;
    const asked = [...this.waiting.values()];
    this.waiting.clear();
    this.become("gone");
    for (const { reject } of asked) reject(reason);
  }
}

// The files lie beside this script; Python lies where the browser notebooks have it.
function addresses() {
  const own = document.currentScript?.src ?? location.href;
  const { worker, editor } = globalThis.livingPython ?? {};
  const beside = (name) => new URL(name, own).href;
  return {
    protocol: location.protocol, worker: beside(worker), editor: beside(editor),
    pyodide: beside("../lite/static/pyodide/"),
  };
}

export const python = typeof document === "undefined" ? null : new Interpreter(addresses());
