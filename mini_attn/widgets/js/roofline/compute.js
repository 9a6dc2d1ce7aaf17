// FLOPs and bytes of a pass and its parts, and the time that a device needs for them.
import roofline from "../data/roofline.json" with { type: "json" };

const NUMBER_BYTES = 2; // bfloat16, weights and cache alike
export const MODELS = new Map(roofline.models.map((model) => [model.name, model]));
export const DEVICES = new Map(roofline.devices.map((device) => [device.key, device]));

// FLOPs of both parts of a pass and the bytes that each has to read or write.
function work(model, { phase, batch, context }) {
  const rows = phase === "decode" ? 1 : context; // new tokens of a sequence
  const pairs = rows * context - (rows * (rows - 1)) / 2; // visible pairs of a query and a key
  return {
    weights: {
      flops: batch * (rows * model.row_flops + model.logit_flops),
      bytes: NUMBER_BYTES * model.read,
    },
    attention: {
      flops: batch * pairs * model.pair_flops,
      bytes: NUMBER_BYTES * batch * model.kept * (context + rows),
    },
  };
}

// Intensity, the speed that the roof allows there, and the time that each side would take alone.
function placed({ flops, bytes }, device) {
  const intensity = flops / bytes;
  const speed = Math.min(device.flops_per_second, intensity * device.bytes_per_second);
  return {
    flops, bytes, intensity, speed, share: speed / device.flops_per_second,
    reading: bytes / device.bytes_per_second, computing: flops / device.flops_per_second,
  };
}

export function compute(state) {
  const model = MODELS.get(state.model);
  const device = DEVICES.get(state.device);
  const { weights, attention } = work(model, state);
  const whole = placed({ flops: weights.flops + attention.flops, bytes: weights.bytes + attention.bytes }, device);
  const tokens = state.batch * (state.phase === "decode" ? 1 : state.context);
  const seconds = Math.max(whole.reading, whole.computing);
  const needed = NUMBER_BYTES * (model.parameters + state.batch * state.context * model.kept);
  return {
    ...state, model, device, ridge: device.flops_per_second / device.bytes_per_second,
    parts: { weights: placed(weights, device), attention: placed(attention, device), whole },
    seconds, tokens, tokens_per_second: tokens / seconds, needed, fits: needed <= device.memory_bytes,
    bound: whole.reading > whole.computing ? "reading" : "computing",
  };
}
