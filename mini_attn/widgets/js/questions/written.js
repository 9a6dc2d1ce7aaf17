// A number written as Python writes it: ".4g", ",.6g", ",.0f" and "".

// Digits as Python rounds them: what lies just between two goes to the even one, while the
// browser's own functions go up. `long` shows enough digits to tell that from a number near it.
const MORE = 40;

function rounded(write, digits) {
  const text = write(digits);
  const [long, power = ""] = write(Math.min(100, digits + MORE)).split(/(?=e)/);
  const kept = long.length - Math.min(100 - digits, MORE);
  if (!/^50*$/.test(long.slice(kept))) return text;
  const cut = long.slice(0, kept).replace(/\.$/, "");
  return Number(cut.at(-1)) % 2 ? text : cut + power;
}

function general(size, precision) {
  const [mantissa, exponent] = rounded((digits) => size.toExponential(digits), precision - 1).split("e");
  const bare = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  const power = Number(exponent);
  if (power >= -4 && power < precision) return bare(rounded((digits) => size.toFixed(digits), precision - 1 - power));
  return `${bare(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function fixed(size, decimals) {
  // Beyond that the browser writes powers of ten, and there are no decimals left.
  if (size >= 1e21) return BigInt(size).toString() + (decimals ? `.${"0".repeat(decimals)}` : "");
  return rounded((digits) => size.toFixed(digits), decimals);
}

export function show(value, spec) {
  if (typeof value === "string") return value;
  const [, comma, precision, kind] = /^(,?)(?:\.(\d+)([gf]))?$/.exec(spec);
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const size = Math.abs(value);
  if (!Number.isFinite(size)) return `${sign}inf`;
  const digits = kind === "g" ? general(size, Number(precision) || 1) : kind === "f" ? fixed(size, Number(precision)) : String(size);
  const [head, ...tail] = digits.split(/(?=[.e])/);
  return sign + (comma ? head.replace(/\B(?=(\d{3})+$)/g, ",") : head) + tail.join("");
}
