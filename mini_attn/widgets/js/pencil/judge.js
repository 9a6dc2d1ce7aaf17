// Judges the number of a pencil exercise by the lists that book/_ext/pencil.py makes of its judge.
import { show } from "./number.js";

const near = (a, b, rel, abs) => a === b || Math.abs(a - b) <= Math.max(rel * Math.max(Math.abs(a), Math.abs(b)), abs);

const WORDS = {
  "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b,
  "**": (a, b) => a ** b, "//": (a, b) => Math.floor(a / b), "%": (a, b) => a - b * Math.floor(a / b),
  neg: (a) => -a, not: (a) => !a, far: () => Infinity,
  "==": (a, b) => a === b, "!=": (a, b) => a !== b,
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
  abs: Math.abs, min: Math.min, max: Math.max, int: Math.trunc, float: Number,
  ceil: Math.ceil, floor: Math.floor, exp: Math.exp, log: Math.log, sqrt: Math.sqrt,
  close: near, tuple: (...items) => items,
};

// Those that do not need all of what they are given, or put names into the scope.
const FORMS = {
  get: (scope, name) => scope[name],
  let: (scope, name, value) => (scope[name] = term(value, scope)),
  and: (scope, ...parts) => parts.every((part) => term(part, scope)),
  or: (scope, ...parts) => parts.some((part) => term(part, scope)),
  choose: (scope, test, yes, no) => term(term(test, scope) ? yes : no, scope),
  show: (scope, value, spec) => show(term(value, scope), spec),
  text: (scope, ...parts) => parts.map((part) => term(part, scope)).join(""),
  call: (scope, names, body, ...given) => run(body, Object.fromEntries(names.map((name, i) => [name, term(given[i], scope)]))),
  explain(scope, value, guesses, same) {
    const number = term(value, scope);
    return guesses.find(([guess]) => term(same, { 0: number, 1: guess }))?.[1] ?? null;
  },
};

function term(node, scope) {
  if (!Array.isArray(node)) return node;
  const [word, ...rest] = node;
  return Object.hasOwn(FORMS, word) ? FORMS[word](scope, ...rest) : WORDS[word](...rest.map((part) => term(part, scope)));
}

// What the first return gives; undefined where none is reached.
function run(block, scope) {
  for (const [word, ...rest] of block) {
    if (word === "return") return term(rest[0], scope);
    if (word === "set") scope[rest[0]] = term(rest[1], scope);
    else if (word === "unpack") term(rest[1], scope).forEach((item, i) => (scope[rest[0][i]] = item));
    else {
      const found = run(term(rest[0], scope) ? rest[1] : rest[2], scope);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

// The numbers of an assessed exercise do not stand in the page's source for everyone to see.
function readable(text, key) {
  let state = [...new TextEncoder().encode(key)].reduce((sum, byte) => sum + byte, 0);
  const bytes = Uint8Array.from(atob(text), (char) => {
    state = (state * 75 + 74) % 65537;
    return char.charCodeAt(0) ^ (state & 255);
  });
  return JSON.parse(new TextDecoder().decode(bytes));
}

// The idea that a number lacks, or null for the right one.
export function judgeNumber({ id, judge }, answer) {
  return run(typeof judge === "string" ? readable(judge, id) : judge, { answer }) ?? null;
}
