// The dial of bits: keys and values of a trained head in few bits, the ladder of a channel, and what one query loses.
import { compute, put } from "./compute.js";
import { drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

const BITS = schema.k_bits.values.map((bits) => [bits, String(bits)]);

const definition = {
  name: "bits_dial",
  title: "Bits per key and value",
  schema,
  controls: [
    { key: "k_bits", kind: "choice", label: "Bits of the keys", options: BITS },
    { key: "v_bits", kind: "choice", label: "Bits of the values", options: BITS },
    { key: "key_axis", kind: "choice", label: "Keys' scales", options: [["channel", "per channel"], ["token", "per token"]], disabled: ({ k_bits }) => k_bits > 8 },
  ],
  main: ["k_bits", "v_bits"],
  choose: (_, state, id) => {
    if (id === "show") return { ...state, show: state.show === "keys" ? "values" : "keys" };
    return id.startsWith("c-") ? { ...state, channel: Number(id.slice(2)) } : null;
  },
  drag, compute, draw, describe, table, explain,
};

// What the page carries; one that holds nothing shows the picture that was built.
function given(box) {
  const data = box.querySelector("script[data-head]");
  if (data) put(JSON.parse(data.textContent));
  return data && definition;
}

export default { ...definition, given };
