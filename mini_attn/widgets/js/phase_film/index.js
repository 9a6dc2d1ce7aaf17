// Twelve moments of one training: two losses, and what each head has come to look at.
import { compute, frames } from "./compute.js";
import { draw, momentAt } from "./picture.js";
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
  // The line of the moment is dragged along the curves, or a moment is tapped.
  drag: (result, id, { width }) => (id.startsWith("frame") ? ({ to }) => ({ frame: momentAt(result, width, to[0]) }) : null),
  choose: (_, state, id) => (id.startsWith("frame") ? { ...state, frame: Number(id.slice(6)) } : null),
  compute, draw, describe, table, explain,
};
