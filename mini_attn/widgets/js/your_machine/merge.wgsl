// Decode attention, second pass. A workgroup joins the spans of one head: each had its own maximum,
// so its sums are scaled to the largest of all. Then the output is divided by the sum of weights.

struct Sizes { keys: u32, span: u32, spans: u32, scale: f32 }

@group(0) @binding(0) var<storage, read> sums: array<vec4f>;
@group(0) @binding(1) var<storage, read> states: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

const COLUMNS = VALUE_DIM / 4u;

@compute @workgroup_size(THREADS)
fn merge(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let first = group.x * sizes.spans;
  var top = states[first].x;
  for (var s = 1u; s < sizes.spans; s += 1u) { top = max(top, states[first + s].x); }
  var sum = 0.0;
  for (var s = 0u; s < sizes.spans; s += 1u) {
    sum += exp(states[first + s].x - top) * states[first + s].y;
  }
  for (var c = thread; c < COLUMNS; c += THREADS) {
    var total = vec4f();
    for (var s = 0u; s < sizes.spans; s += 1u) {
      total += exp(states[first + s].x - top) * sums[(first + s) * COLUMNS + c];
    }
    out[group.x * COLUMNS + c] = total / sum;
  }
}
