// How a file says its weights are stored: quantization_config, as the usual methods write it.
import { isMapping, shown } from "./sizes.js";

const METHODS = {
  fp8: () => "float8", fbgemm_fp8: () => "float8", mxfp4: () => "mxfp4",
  gptq: ({ bits }) => ({ 4: "int4", 8: "int8" })[bits],
  awq: ({ bits, w_bit }) => ({ 4: "int4", 8: "int8" })[bits ?? w_bit],
  bitsandbytes: (how) => (how.load_in_4bit === true ? "int4" : how.load_in_8bit === true ? "int8" : undefined),
};
export const STORED = ["float8", "mxfp4", "int8", "int4"];

// {stored, unread}: the type whose size is known, or the method that nobody here knows.
export function storedIn(how) {
  if (how === null || how === undefined || how === false || (isMapping(how) && !Object.keys(how).length)) return { stored: null, unread: null };
  const method = isMapping(how) ? how.quant_method : how;
  const known = isMapping(how) && typeof method === "string" && Object.hasOwn(METHODS, method);
  const stored = (known && METHODS[method](how)) || null;
  return { stored, unread: stored ? null : typeof method === "string" ? method.slice(0, 40) : shown(method ?? how) };
}

const CALLED = { float8: "fp8, 1 byte each", mxfp4: "mxfp4, 4 ¼ bits each", int8: "8-bit numbers", int4: "4-bit numbers" };

// What stands below a model whose file says so.
export function storedWords({ stored }, unread, { weight_dtype }) {
  if (unread) return `This file says its weights are quantized (${unread}), in a way this page can't read: choose a type under “Weights stored as”.`;
  if (!stored) return "";
  const said = `This file says its weights are stored as ${CALLED[stored]}`;
  if (weight_dtype === "file") return `${said}, and so all of them count here. Scales, and parts that stay in 16 bits, would add a little.`;
  return weight_dtype === stored ? `${said}.` : `${said}, but they count as ${weight_dtype}: “Weights stored as” says so.`;
}
