// One measurement from beginning to end: the rates, then what they predict, then decode attention.
import { CASES, NAMES, SETUP, TOLERANCE, difference, layersOf, predict, roof, work } from "./compare.js";
import { openCpu } from "./cpu.js";
import { Lost, openGpu } from "./gpu.js";
import { multiplyAdd, read } from "./plain.js";

export const REPEATS = 5;
const LEAST = 0.02; // seconds that a repeat takes at least; ten ticks of a coarser clock
const TICKS = 10;
const WAIT = 100; // milliseconds for a frame
const MOST_TIMES = 2 ** 16;
const [FEWEST_KEYS, MOST_KEYS, CPU_KEYS] = [1024, 8192, 4096];
const [SMALLEST, LARGEST] = [256, 2048]; // of a square matrix
const CHECK_SPAN = 64; // several spans, the last a short one
const ROUNDS = 1e5; // of multiply-adds in a call
// Calls of the loops in JavaScript before they are timed: what follows a loop has to have been run by
// then, or V8 compiles the loop without it and drops the code at the end of each call.
const WARM = 2000;
const CHAIN_FLOPS = { js: 24, wasm: 96 }; // of a round

export class Stopped extends Error {}

const now = () => performance.now() / 1e3;

// The longest of a few steps of the clock.
function tickOf(steps = 5) {
  let longest = 0;
  for (let step = 0, last = now(); step < steps; ) {
    const next = now();
    if (next === last) continue;
    longest = Math.max(longest, next - last);
    last = next;
    step += 1;
  }
  return longest;
}

export class Measurement {
  constructor({ show = () => {}, book = "", half } = {}) {
    Object.assign(this, { show, half, stopped: null });
    const tick = tickOf();
    this.least = Math.max(LEAST, TICKS * tick);
    this.result = {
      format: "your-machine 2", date: new Date().toISOString(), book,
      browser: { agent: navigator.userAgent, threads: navigator.hardwareConcurrency ?? 0 },
      clock: { tick_seconds: tick, least_seconds: this.least, isolated: globalThis.crossOriginIsolated === true },
      repeats: REPEATS, numbers: "float32", places: [], missing: {},
    };
  }

  stop(why) {
    this.stopped ??= why;
  }

  // The page is painted and hears its buttons, also where no frame comes; what was stopped ends.
  async pause() {
    await new Promise((resolve) => {
      requestAnimationFrame(() => setTimeout(resolve));
      setTimeout(resolve, WAIT);
    });
    if (this.stopped) throw new Stopped(this.stopped);
  }

  // Seconds of one, from repeats that each do so many that they are long enough for the clock.
  async timed(run) {
    let times = 1;
    await run(1); // compiles, and touches what is read
    for (;;) {
      const seconds = await run(times);
      await this.pause();
      if (seconds >= this.least || times >= MOST_TIMES) break;
      times = Math.min(MOST_TIMES, Math.ceil(times * Math.min(100, Math.max(2, (1.3 * this.least) / Math.max(seconds, 1e-6)))));
    }
    const all = [];
    for (let repeat = 0; repeat < REPEATS; repeat += 1) {
      all.push((await run(times)) / times);
      await this.pause();
    }
    const sorted = [...all].sort((a, b) => a - b);
    return { seconds: sorted[0], spread: sorted[REPEATS >> 1] / sorted[0] - 1, times, repeats: all };
  }

  // A task hears how often it was done before, so that it can take its layers in turn.
  clocked(task) {
    let turn = 0;
    return this.timed(async (times) => {
      const start = now();
      for (const end = turn + times; turn < end; turn += 1) task(turn);
      return now() - start;
    });
  }

  place(about) {
    const place = { ...about, keys: 0, rates: {}, tolerance: TOLERANCE, checks: {}, cases: {} };
    this.result.places.push(place);
    return place;
  }

  async rate(place, name, work, timing) {
    place.rates[name] = { ...work, ...(await timing) };
    this.show(this.result, "rates");
  }

  // All cases' predictions first, so that one sees them before any of them is measured.
  async predict(place, keys, half) {
    const rates = roof(place);
    place.keys = keys;
    for (const name of NAMES) {
      const { seconds, limit } = predict(work(name, keys), rates);
      place.cases[name] = { ...work(name, keys), layers: layersOf(CASES[name], keys, half).length, predicted_seconds: seconds, limit };
    }
    this.show(this.result, "predicted");
    await this.pause();
  }

  // Once NumPy's numbers have come out; of wrong ones no time is taken.
  async attend(place, half, { ask, output, attention, reading }) {
    for (const name of NAMES) {
      const { bytes_per_key: bytes, latent } = CASES[name];
      const [single, { keys }] = [CASES[name], place];
      await ask(single);
      const largest = difference(single.expected, await output(single, layersOf(single, SETUP.check_keys, half)[0]));
      place.checks[name] = { compared: single.expected.length, largest_difference: Number.isFinite(largest) ? largest : null };
      if (!(largest <= TOLERANCE)) continue;
      const layers = layersOf(single, keys, half);
      const halves = latent ? [bytes * keys, 0] : [(bytes * keys) / 2, (bytes * keys) / 2];
      const alone = await reading(halves, layers);
      const one = await attention(single, 1, layers.slice(0, 1));
      Object.assign(place.cases[name], { reading_seconds: alone.seconds, reading_spread: alone.spread, starting_seconds: one.seconds }, await attention(single, keys, layers));
      this.show(this.result, "attention");
    }
  }

  async cpu() {
    const cpu = await openCpu(this.half);
    const place = this.place({ kind: "cpu", name: "WebAssembly, one thread", adapter: null, clock: "performance.now" });
    await cpu.draw(SETUP.seeds, () => this.pause());
    const { half } = cpu;
    const plain = [cpu.numbers("k", half / 4), cpu.numbers("v", half / 4)];
    for (let call = 0; call < WARM; call += 1) read(plain[0].subarray(0, 4)) && multiplyAdd(1, 0.5);
    await this.rate(place, "read", { bytes: 2 * half }, this.clocked(() => cpu.read(half, half)));
    await this.rate(place, "read, JavaScript", { bytes: 2 * half }, this.clocked(() => plain.map((one) => read(one))));
    await this.rate(place, "multiply-add", { flops: CHAIN_FLOPS.wasm * ROUNDS }, this.clocked(() => cpu.exports.multiply_add(ROUNDS, 0.5)));
    await this.rate(place, "multiply-add, JavaScript", { flops: CHAIN_FLOPS.js * ROUNDS }, this.clocked(() => multiplyAdd(ROUNDS, 0.5)));
    await this.predict(place, Math.min(CPU_KEYS, ...NAMES.map((name) => cpu.holds(CASES[name]))), half);
    await this.attend(place, half, {
      ask: (single) => cpu.ask(single, SETUP.seeds.q, SETUP.query_width),
      output: (single, layer) => { cpu.attend(single, SETUP.check_keys, layer); return cpu.output(single); },
      attention: (single, keys, layers) => this.clocked((turn) => cpu.attend(single, keys, layers[turn % layers.length])),
      reading: ([keys, values], layers) => this.clocked((turn) => cpu.read(keys, values, layers[turn % layers.length])),
    });
  }

  async gpu() {
    const { gpu, why } = await openGpu();
    if (!gpu) {
      this.result.missing.gpu = why;
      return;
    }
    try {
      await this.onDevice(gpu);
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      this.result.places = this.result.places.filter(({ kind }) => kind !== "gpu");
      this.result.missing.gpu = `lost: ${error.message.slice(0, 300)}`;
    } finally {
      gpu.close();
    }
  }

  // More keys until the widest case takes long enough, as far as the device has room for them.
  async grow(gpu) {
    for (let keys = FEWEST_KEYS; ; keys *= 2) {
      if (!(await gpu.allocate(keys))) {
        if (keys === FEWEST_KEYS || !(await gpu.allocate(keys / 2))) throw new Lost("there is no room for 1,024 keys");
        keys = MOST_KEYS; // no more than these
      }
      for (const name of ["k", "v"]) await gpu.run(gpu.drawing(name, SETUP.seeds[name], gpu.buffers[name].size / 4));
      const steps = gpu.attention(CASES.mha, gpu.keys, layersOf(CASES.mha, gpu.keys, gpu.buffers.k.size));
      await gpu.run(steps);
      await this.pause();
      if (keys >= MOST_KEYS || (await gpu.run(steps)) >= this.least) return;
    }
  }

  // The largest square matrices that don't take too long, and eight of their product's numbers.
  async product(gpu, place) {
    let n = SMALLEST;
    const few = gpu.product(n);
    await gpu.run(few);
    place.checks.matmul = await productCheck(gpu, n);
    while (n < LARGEST && (await gpu.run(gpu.product(n))) < this.least) n *= 2;
    const steps = gpu.product(n);
    await this.rate(place, "matmul", { flops: 2 * n ** 3 }, this.timed((times) => gpu.run(steps, times)));
  }

  async onDevice(gpu) {
    const { adapter } = gpu;
    const named = adapter.description || [adapter.vendor, adapter.device || adapter.architecture].filter(Boolean).join(" ") || "unnamed adapter";
    await this.grow(gpu);
    const place = this.place({ kind: "gpu", name: named, adapter, clock: gpu.clock });
    const half = gpu.buffers.k.size;
    const timed = (steps) => this.timed((times) => gpu.run(steps, times));
    await this.rate(place, "read", { bytes: 2 * half }, timed(gpu.reading(half, half)));
    await this.product(gpu, place);
    await this.rate(place, "copy", { bytes: 2 * half }, timed(gpu.copying(half)));
    await gpu.run(gpu.drawing("v", SETUP.seeds.v, half / 4)); // what the copy wrote over
    await this.predict(place, gpu.keys, half);
    await this.attend(place, half, {
      ask: ({ n_heads, key_dim }) => gpu.run(gpu.drawing("q", SETUP.seeds.q, n_heads * key_dim, SETUP.query_width)),
      output: async (single, layer) => {
        await gpu.run(gpu.attention(single, SETUP.check_keys, [layer], CHECK_SPAN));
        return gpu.numbers("out", single.n_heads * single.value_dim);
      },
      attention: (single, keys, layers) => timed(gpu.attention(single, keys, layers)),
      reading: ([keys, values], layers) => timed(gpu.reading(keys, values, layers)),
    });
    place.clock = gpu.clock;
  }

  async run() {
    await this.pause();
    try {
      await this.cpu();
    } catch (error) {
      if (!(error instanceof WebAssembly.CompileError || error instanceof RangeError)) throw error;
      this.result.missing.cpu = error.message.slice(0, 300);
    }
    await this.gpu();
    return this.result;
  }
}

// Eight numbers along the diagonal of the product, computed here from what the device drew.
async function productCheck(gpu, n) {
  const [a, b, c] = await Promise.all(["k", "v", "c"].map((name) => gpu.numbers(name, n * n)));
  const differences = Array.from({ length: 8 }, (_, i) => {
    const at = (i * n) / 8 + i;
    let sum = 0;
    for (let p = 0; p < n; p += 1) sum += a[at * n + p] * b[p * n + at];
    return Math.abs(sum - c[at * n + at]);
  });
  return { compared: 8, largest_difference: Math.max(...differences) };
}
