// The methods in words: the sentence, the table, and what happens to each plane.
import { decimal, whole } from "../core/text.js";

const STATUS = {
  seen: "completed a rotation in training, so the model knows all its angles",
  inside: "didn't complete a rotation in training, but rotates no further now",
  fresh: "meets angles that training never showed",
};

const times = (value) => `${value < 1.0005 ? "1" : decimal(value)} ${value < 1.0005 ? "time" : "times"}`;

const HOW = {
  none: () => "No method",
  interpolation: ({ factor }) => `Position interpolation slows all planes ${whole(factor)} times`,
  ntk: ({ base }) => `The larger base ${whole(Math.round(base))} keeps the fastest plane`,
  dynamic: ({ base, theta }) => (base > theta ? `The base has grown to ${whole(Math.round(base))}` : "No longer than in training, so nothing changes"),
  yarn_code: ({ kept, full, rope_factor: f }) => `YaRN keeps ${whole(kept)} planes and slows ${whole(full)} in full; scores get the factor ${decimal(f)}² = ${decimal(f * f)}`,
  yarn_paper: ({ kept, full, rope_factor: f }) => `YaRN keeps ${whole(kept)} planes and slows ${whole(full)} in full; scores get the factor ${decimal(f)}² = ${decimal(f * f)}`,
  llama3: ({ kept, full }) => `Llama 3's method keeps ${whole(kept)} planes and slows ${whole(full)} in full`,
};

export function describe(result) {
  const { rule, length, counts, farthest, planes } = result;
  const news = counts.fresh
    ? `${whole(counts.fresh)} of ${whole(planes.length)} planes meet angles that training never showed, up to ${times(farthest)} as far`
    : "no plane meets a new angle";
  const near = planes[0].slower > 1.0005 ? `, but in the fastest plane, neighbors are ${times(planes[0].slower)} closer together` : "";
  const how = length > result.trained || rule === "none" ? HOW[rule](result) : "No longer than in training, so nothing changes";
  return `${how}. At ${whole(length)} tokens, ${news}${near}.`;
}

export function table(result) {
  const { planes, length, trained } = result;
  return {
    caption: `Every fourth plane of a ${2 * planes.length}-dimensional head, trained with ${whole(trained)} tokens and used at ${whole(length)}`,
    head: ["plane", "wavelength before", "wavelength now", "times slower", "rotations in training", "rotations now", "so it"],
    rows: planes.map((plane, i) => [String(i), tokensOf(plane.waveBefore), tokensOf(plane.wave), decimal(plane.slower), turns(plane.known), turns(plane.now), STATUS[plane.status]])
      .filter((_, i) => i % 4 === 0 || i === planes.length - 1),
  };
}

const tokensOf = (value) => (value < 100 ? decimal(value, 1) : whole(Math.round(value)));
const turns = (value) => decimal(value, value < 10 ? 3 : 1);

export function explain(result, id) {
  if (id === "used") return { text: `Used at ${whole(result.length)} tokens. Drag the line, or use the arrow keys.`, also: [] };
  const i = Number(id.split("-")[1]);
  const { trained, length, theta, planes } = result;
  const { slower, wave, waveBefore, known, now, status } = planes[i];
  const size = 2 * planes.length;
  const speed = slower < 1.0005 ? "It keeps its frequency" : `It's slowed ${times(slower)}, to a wavelength of ${tokensOf(wave)}`;
  return {
    text: `Plane ${i} rotates by ${whole(theta)} to the −${2 * i}/${size} radians per token: one rotation in ${tokensOf(waveBefore)} tokens, ${turns(known)} rotations in the ${whole(trained)} of training. ${speed}: ${turns(now)} rotations in ${whole(length)} tokens. It ${STATUS[status]}.`,
    also: [`s-${i}`, `p-${i}`].filter((other) => other !== id),
  };
}
