// Reads what people write for a number: digits with either decimal mark and any thousands mark,
// fractions, powers, roots, small sums and products. What is left over is for the units.
const SPACES = /[\u00a0\u2007\u2009\u202f]/g;
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const VULGAR = { "½": 1 / 2, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 1 / 4, "¾": 3 / 4, "⅕": 1 / 5, "⅙": 1 / 6, "⅛": 1 / 8 };
const WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
const NAMES = new Map([...WORDS.entries()].map(([value, word]) => [word, value]));
for (const [word, value] of [["none", 0], ["half", 0.5], ["pi", Math.PI], ["π", Math.PI], ["e", Math.E]]) NAMES.set(word, value);
const FUNCTIONS = { sqrt: Math.sqrt, "√": Math.sqrt, exp: Math.exp, ln: Math.log, log: Math.log, log2: Math.log2, log10: Math.log10 };
const ABOUT = /^(?:(?:about|approximately|approx\.?|around|roughly|circa|ca\.?|some|nearly|almost)\s|[~≈≃=])\s*/i;

class Unreadable extends Error {}

export function tidy(text) {
  return String(text).replace(SPACES, " ").replace(/[−﹣－]/g, "-").replace(/[’‘`´]/g, "'")
    .replace(/[⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, (raised) => `^${[...raised].map((c) => (c === "⁻" ? "-" : RAISED.indexOf(c))).join("")}`)
    .replace(/(?<=\d)\s*[×·⋅*xX]\s*10\s*(?:\^|\*\*)\s*(-?\d+)/g, "e$1").trim().replace(ABOUT, "");
}

// Digits as written, and what they may mean: a point or comma before three last digits is either
// mark, the first reading being the English one; nobody writes 2,500 for two and a half, and 130,548
// is read as English. Null where the marks make no number.
export function readDigits(text) {
  const marks = text.match(/[.,'_ ]/g) ?? [];
  const groups = text.split(/[.,'_ ]/);
  const last = marks.at(-1);
  const whole = () => ({ value: Number(groups.join("")), decimals: 0 });
  const decimal = () => ({ value: Number(`${groups.slice(0, -1).join("")}.${groups.at(-1)}`), decimals: groups.at(-1).length });
  const thousands = /^[1-9]\d{0,2}$/.test(groups[0]) && groups.slice(1).every((group) => group.length === 3);
  if (!marks.length) return [whole()];
  if (marks.length === 1 && ".,".includes(last)) {
    if (!thousands) return [decimal()];
    if (last === ".") return [decimal(), whole()];
    return groups[1].endsWith("0") || groups[0].length > 2 ? [whole()] : [whole(), decimal()];
  }
  const grouped = marks.slice(0, -1);
  const same = grouped.every((mark) => mark === marks[0]);
  if (thousands && same && last === marks[0]) return [whole()];
  const front = groups.slice(1, -1).every((group) => group.length === 3) && /^\d{1,3}$/.test(groups[0]);
  return grouped.length && same && front && last !== marks[0] && ".,".includes(last) ? [decimal()] : null;
}

// A reader of one text; `which` chooses among the readings of an ambiguous number.
class Reader {
  constructor(text, which) {
    Object.assign(this, { text, which, at: 0, plain: true, digits: 0, half: 0, readings: 1, depth: 0 });
  }

  take(pattern) {
    const found = pattern.exec(this.text.slice(this.at));
    if (found) this.at += found[0].length;
    return found;
  }

  // An operator counts only where an operand follows: "8 ×" says what is counted.
  chain(operators, operand, combine) {
    let value = operand();
    for (;;) {
      const [before, operator] = [this.at, this.take(operators)];
      if (!operator) return value;
      try {
        value = combine(value, operator[0].trim(), operand());
        this.plain = false;
      } catch (reason) {
        if (!(reason instanceof Unreadable) || reason.message) throw reason;
        this.at = before;
        return value;
      }
    }
  }

  sum() {
    let sign = this.take(/^[+-]\s*(?=[^+\s-])/)?.[0].startsWith("-") ? -1 : 1;
    const signed = () => {
      const value = sign * this.product();
      sign = 1; // of the first term alone
      return value;
    };
    return this.chain(/^\s*[+-]\s*/, signed, (a, sign, b) => (sign === "+" ? a + b : a - b));
  }

  product() {
    const value = this.chain(/^\s*(?:\*(?!\*)|[×·⋅xX/÷:])\s*/, () => this.power(), (a, sign, b) => ("/÷:".includes(sign) ? a / b : a * b));
    if (!/^\s?(?:[√π(]|sqrt|pi\b)/.test(this.text.slice(this.at))) return value;
    this.take(/^\s/);
    this.plain = false;
    return value * this.product(); // 2π, 3√2
  }

  power() {
    const base = this.operand();
    if (this.take(/^!/)) {
      this.plain = false;
      return Array.from({ length: Math.min(base, 200) }, (_, i) => i + 1).reduce((a, b) => a * b, 1);
    }
    if (!this.take(/^\s*(?:\^|\*\*)\s*/)) return base;
    this.plain = false;
    const sign = this.take(/^-/) ? -1 : 1;
    return base ** (sign * this.power());
  }

  operand() {
    const name = this.take(/^(?:sqrt|exp|log10|log2|log|ln|√)\s*(?=[\d(.πe])/);
    if (name) {
      this.plain = false;
      return FUNCTIONS[name[0].trim()](this.operand());
    }
    if (this.take(/^\(\s*/)) {
      if ((this.depth += 1) > 20) throw new Unreadable("Too many brackets.");
      const value = this.sum();
      if (!this.take(/^\s*\)/)) throw new Unreadable("A bracket is not closed.");
      return value;
    }
    return this.number() ?? this.named();
  }

  number() {
    const found = this.take(/^(\d+(?:[.,'_]\d+| \d{3}(?!\d))*[.,]?|[.,]\d+)(?:[eE]([+-]?\d+))?/);
    if (!found) return null;
    const written = found[1].replace(/(?<=\d)[.,]$/, "");
    const readings = readDigits(/^[.,]/.test(written) ? `0${written}` : written);
    if (!readings) throw new Unreadable("Its marks do not fit: write 7.37 or 7,37, and 1,234,567 or 1 234 567.");
    const { value, decimals } = readings[Math.min(this.which, readings.length - 1)];
    const power = Number(found[2] ?? 0);
    this.readings = Math.max(this.readings, readings.length);
    this.digits = written.replace(/\D/g, "").replace(/^0+/, "").length;
    this.half = 0.5 * 10 ** (power - decimals);
    return Number(`${value}e${power}`);
  }

  named() {
    const vulgar = this.take(/^[½⅓⅔¼¾⅕⅙⅛]/);
    const found = vulgar ?? this.take(/^(?:a |one )?(?:half|third|quarter)\b|^π|^[a-z]+\b/i);
    if (!found) throw new Unreadable("");
    const word = found[0].toLowerCase().replace(/^(?:a|one) /, "");
    const value = VULGAR[word] ?? { third: 1 / 3, quarter: 1 / 4 }[word] ?? NAMES.get(word);
    if (value === undefined) throw new Unreadable("");
    this.plain = false;
    return value;
  }
}

function readOnce(text, which) {
  const reader = new Reader(text, which);
  const value = reader.sum();
  const { plain, digits, half, readings } = reader;
  return { value, rest: text.slice(reader.at).trim(), plain, digits, half, readings };
}

// {value, other, rest, plain, digits, half} or {error}: `other` is the second reading of an ambiguous
// number, `rest` what stands behind it; a plain number has so many digits, and `half` is half of the
// last one's place.
export function readNumber(typed) {
  const text = tidy(typed);
  if (/\d\s*[–—]\s*\d|\d\s*(?:to|\.\.\.?|…)\s*\d/.test(text)) return { error: "Write one number, not a range." };
  try {
    const first = readOnce(text, 0);
    return first.readings > 1 ? { ...first, other: readOnce(text, 1) } : first;
  } catch (reason) {
    if (reason instanceof Unreadable) return { error: reason.message || null };
    throw reason;
  }
}
