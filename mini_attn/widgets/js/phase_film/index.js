// Twelve moments of one training: two losses, and what each head has come to look at.
import { compute, frames } from "./compute.js";
import { draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "phase_film",
  title: "A model learns to copy",
  schema,
  controls: [
    { key: "mark", kind: "choice", label: "Outline", options: [["none", "nothing"], ["before", "the word before"], ["copies", "what followed a copy"]] },
    { key: "frame", kind: "range", label: "Moment", show: (n) => `${n + 1} of ${frames.length}: step ${frames[n].step.toLocaleString("en")}` },
  ],
  play: { key: "frame", milliseconds: 1200 },
  compute, draw, describe, table, explain,
};
