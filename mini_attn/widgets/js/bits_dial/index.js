// The dial of bits: keys and values of a trained head in few bits, their ladders, and what one query loses.
import { compute, put } from "./compute.js";
import { draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

const BITS = schema.k_bits.values.map((bits) => [bits, bits === 16 ? "bfloat16" : `${bits} bits`]);

const definition = {
  name: "bits_dial",
  title: "Bits per key and value",
  schema,
  controls: [
    { key: "k_bits", kind: "select", label: "Keys", options: BITS },
    { key: "v_bits", kind: "select", label: "Values", options: BITS },
    { key: "key_axis", kind: "select", label: "Keys' scales", options: [["channel", "per channel"], ["token", "per token"]], disabled: ({ k_bits }) => k_bits > 8 },
    { key: "outlier", kind: "range", label: "Outlier in the keys", show: (n) => `× ${n}` },
    { key: "show", kind: "select", label: "Show", options: ["keys", "values"] },
    { key: "channel", kind: "range", label: "Ladder of channel" },
  ],
  main: ["k_bits", "v_bits"],
  // What is changed is shown.
  update: (state, key, value) => {
    const show = { v_bits: "values", channel: state.show }[key] ?? "keys";
    return { ...state, show, [key]: value };
  },
  choose: (_, state, id) => (id < "n" ? { ...state, channel: Number(id.slice(2)) } : null),
  compute, draw, describe, table, explain,
};

// What the page carries; one that holds nothing shows the picture that was built.
function given(box) {
  const data = box.querySelector("script[data-head]");
  if (data) put(JSON.parse(data.textContent));
  return data && definition;
}

export default { ...definition, given };
