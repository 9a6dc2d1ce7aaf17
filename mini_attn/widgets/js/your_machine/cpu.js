// One thread of the processor: the module that cpu.wat describes, its memory, and what it is asked.
import { assemble } from "./assembler.js";
import text from "./cpu.wat";
import { CHAINS } from "./plain.js";
import { fill } from "./random.js";

const PAGE = 65536;
const HALF = 2 ** 26; // bytes of keys, and as many of values; fewer where a tab gets no more
const LEAST_HALF = 2 ** 22;
const ROOM = 2 ** 18; // for queries, outputs and what is running

// The chains of the arithmetic, written out: there is one register for each.
export function written() {
  const each = (line) => Array.from({ length: CHAINS }, (_, n) => line(`$c${n}`, n)).join("\n    ");
  const sum = Array.from({ length: CHAINS - 1 }, (_, n) => n + 1).reduce((before, n) => `(f32x4.add ${before} (local.get $c${n}))`, "(local.get $c0)");
  return text
    .replace("CHAINS.locals", each((c) => `(local ${c} v128)`))
    .replace("CHAINS.start", each((c, n) => `(local.set ${c} (f32x4.splat (f32.add (local.get $start) (f32.const ${n}))))`))
    .replace("CHAINS.step", each((c) => `(local.set ${c} (f32x4.add (f32x4.mul (local.get ${c}) (local.get $by)) (local.get $plus)))`))
    .replace("CHAINS.sum", sum);
}

// As much memory as the tab gets: a browser may refuse what is large.
function claim(half = HALF) {
  const pages = (2 * half + ROOM) / PAGE;
  try {
    return { half, memory: new WebAssembly.Memory({ initial: pages, maximum: pages }) };
  } catch (error) {
    if (half === LEAST_HALF) throw error;
    return claim(half / 2);
  }
}

export async function openCpu(half) {
  const module = await WebAssembly.compile(assemble(written())); // refused where there are no vectors
  const claimed = claim(half);
  const { exports } = await WebAssembly.instantiate(module, { js: { memory: claimed.memory } });
  return new Cpu(claimed, exports);
}

export class Cpu {
  constructor({ half, memory }, exports) {
    Object.assign(this, { half, memory, exports });
    this.places = { k: 0, v: half, q: 2 * half, out: 2 * half + ROOM / 4, room: 2 * half + ROOM / 2 };
  }

  numbers(place, count) {
    return new Float32Array(this.memory.buffer, this.places[place], count);
  }

  // Keys and values, part by part so that the page stays awake.
  async draw(seeds, pause, part = 2 ** 22) {
    for (const place of ["k", "v"]) {
      for (let from = 0; from < this.half / 4; from += part) {
        const count = Math.min(part, this.half / 4 - from);
        fill(new Float32Array(this.memory.buffer, this.places[place] + 4 * from, count), seeds[place], from);
        await pause();
      }
    }
  }

  // Where a layer's keys or values begin.
  at([place, offset]) {
    return this.places[place] + offset;
  }

  // The most keys for which a case fits.
  holds({ n_kv_heads, key_dim }) {
    return Math.floor(this.half / (4 * n_kv_heads * key_dim));
  }

  read(keyBytes, valueBytes, layer = { k: ["k", 0], v: ["v", 0] }) {
    const [k, v] = [this.at(layer.k), this.at(layer.v)];
    return this.exports.read(k, k + keyBytes) + (valueBytes ? this.exports.read(v, v + valueBytes) : 0);
  }

  ask({ n_heads, key_dim }, seed, wide) {
    fill(this.numbers("q", n_heads * key_dim), seed, 0, wide);
  }

  // One layer's decode attention: one call for each key/value head.
  attend({ n_heads, n_kv_heads, key_dim, value_dim, latent, scale }, keys, layer) {
    const { q, out, room } = this.places;
    const [k, v] = [this.at(layer.k), this.at(layer.v)];
    const heads = n_heads / n_kv_heads;
    const stride = 4 * (latent ? key_dim : value_dim);
    for (let kv = 0; kv < n_kv_heads; kv += 1) {
      this.exports.attend(
        q + kv * heads * 4 * key_dim, k + kv * keys * 4 * key_dim, v + kv * keys * stride,
        out + kv * heads * 4 * value_dim, room, heads, keys, 4 * key_dim, 4 * value_dim, stride, scale,
      );
    }
  }

  output({ n_heads, value_dim }) {
    return this.numbers("out", n_heads * value_dim).slice();
  }
}
