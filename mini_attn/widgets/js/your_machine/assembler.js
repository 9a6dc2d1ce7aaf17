// WebAssembly's text, as much of it as cpu.wat uses, into the bytes of a module: one byte an
// instruction, two for vectors, behind what it takes. Only the memory is imported.
const TYPES = { i32: 0x7f, f32: 0x7d, v128: 0x7b };
const CODES = {
  "i32.add": 0x6a, "i32.sub": 0x6b, "i32.mul": 0x6c, "i32.shl": 0x74, "i32.lt_u": 0x49, select: 0x1b,
  "f32.load": 0x2a, "f32.store": 0x38, "f32.add": 0x92, "f32.sub": 0x93, "f32.mul": 0x94, "f32.div": 0x95, "f32.max": 0x97,
};
const VECTORS = {
  "v128.load": 0x00, "v128.load32_splat": 0x09, "v128.store": 0x0b, "i32x4.splat": 0x11, "f32x4.splat": 0x13,
  "f32x4.extract_lane": 0x1f, "f32x4.nearest": 0x6a, "i32x4.shl": 0xab, "i32x4.add": 0xae,
  "f32x4.add": 0xe4, "f32x4.sub": 0xe5, "f32x4.mul": 0xe6, "f32x4.div": 0xe7, "f32x4.max": 0xe9,
  "i32x4.trunc_sat_f32x4_s": 0xf8,
};
const LOCALS = { "local.get": 0x20, "local.set": 0x21, "local.tee": 0x22 };

// Whole numbers in as few bytes as hold them, seven bits each; with a sign, or without one.
const unsigned = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...unsigned(n >>> 7)]);
const signed = (n) => (n >= -64 && n < 64 ? [n & 127] : [(n & 127) | 128, ...signed(n >> 7)]);
const float = (x) => [...new Uint8Array(new Float32Array([x]).buffer)];
const name = (words) => [...unsigned(words.length), ...new TextEncoder().encode(words)];
const vector = (items) => [...unsigned(items.length), ...items.flat()];
const section = (number, items) => [number, ...unsigned(vector(items).length), ...vector(items)];

// (a (b c) d) as ["a", ["b", "c"], "d"].
export function parse(text) {
  const open = [[]];
  for (const [word] of text.replace(/;;.*/g, "").matchAll(/[()]|"[^"]*"|[^\s()]+/g)) {
    if (word === "(") open.push([]);
    else if (word === ")") {
      const done = open.pop();
      open.at(-1).push(done);
    } else open.at(-1).push(word);
  }
  if (open.length !== 1) throw new SyntaxError("a bracket is missing");
  return open[0];
}

// The bytes of one instruction, what it takes first.
function emit(instruction, scope) {
  const [op, ...rest] = instruction;
  if (op === "loop") {
    const inner = { ...scope, labels: [rest[0], ...scope.labels] };
    return [0x03, 0x40, ...rest.slice(1).flatMap((one) => emit(one, inner)), 0x0b];
  }
  const words = rest.filter((one) => typeof one === "string");
  const taken = rest.filter(Array.isArray).flatMap((one) => emit(one, scope));
  return [...taken, ...itself(op, words, scope)];
}

function itself(op, [word], { locals, functions, labels }) {
  if (op in LOCALS) return [LOCALS[op], ...unsigned(known(locals, word))];
  if (op === "call") return [0x10, ...unsigned(known(functions, word))];
  if (op === "br_if") return [0x0d, ...unsigned(known(labels, word))];
  if (op === "i32.const") return [0x41, ...signed(Number(word))];
  if (op === "f32.const") return [0x43, ...float(Number(word))];
  const code = op in VECTORS ? [0xfd, ...unsigned(VECTORS[op])] : [CODES[op]];
  if (code[0] === undefined) throw new SyntaxError(`no instruction ${op}`);
  if (/load|store/.test(op)) return [...code, 2, ...unsigned(Number(word?.replace("offset=", "") ?? 0))];
  return op.endsWith("_lane") ? [...code, Number(word)] : code;
}

function known(names, word) {
  const at = names.indexOf(word);
  if (at < 0) throw new SyntaxError(`no name ${word}`);
  return at;
}

// What a function is declared with, apart: its name for others, what it takes, gives and keeps.
function signature(parts) {
  const all = (kind) => parts.filter(([first]) => first === kind);
  return {
    exported: all("export")[0]?.[1].slice(1, -1),
    params: all("param"), results: all("result"), kept: all("local"),
    body: parts.filter((part) => Array.isArray(part) && !["export", "param", "result", "local"].includes(part[0])),
  };
}

export function assemble(text) {
  const written = parse(text)[0].slice(1).map(([, ...parts]) => parts);
  const functions = written.map(([word]) => word);
  const made = written.map((parts) => signature(parts.slice(1)));
  const types = made.map(({ params, results }) => [0x60, ...vector(params.map((p) => [TYPES[p[2]]])), ...vector(results.map((r) => [TYPES[r[1]]]))]);
  const bodies = made.map(({ params, kept, body }) => {
    const scope = { functions, labels: [], locals: [...params, ...kept].map((one) => one[1]) };
    const code = [...vector(kept.map((one) => [1, TYPES[one[2]]])), ...body.flatMap((one) => emit(one, scope)), 0x0b];
    return [...unsigned(code.length), ...code];
  });
  const exported = made.flatMap(({ exported: word }, i) => (word ? [[...name(word), 0, ...unsigned(i)]] : []));
  const sections = [
    section(1, types), section(2, [[...name("js"), ...name("memory"), 2, 0, 1]]), section(3, made.map((_, i) => unsigned(i))),
    section(7, exported), section(10, bodies),
  ];
  return new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...sections.flat()]);
}
