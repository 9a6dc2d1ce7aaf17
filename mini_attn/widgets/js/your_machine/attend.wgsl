// Decode attention, first pass. A workgroup reads one span of one head's keys, once, for HEADS
// query heads that share them. What it keeps per head is a running maximum, a running sum and a
// running output; no score leaves the workgroup. For MLA, k and v are the same latents.

struct Sizes { keys: u32, span: u32, spans: u32, scale: f32 }

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> sums: array<vec4f>; // not yet divided
@group(0) @binding(4) var<storage, read_write> states: array<vec2f>; // maximum, sum of weights
@group(0) @binding(5) var<uniform> sizes: Sizes;

const LANES = 4u; // threads that share the dot products of one key
const AT_ONCE = THREADS / LANES; // keys
const COLUMNS = VALUE_DIM / 4u; // one thread per column: four values
const ROWS = THREADS / COLUMNS; // values that are added at the same time
const TILE = 32u; // keys between two looks at the maximum
const LOW = -1e30; // below every score

var<workgroup> queries: array<vec4f, HEADS * KEY_DIM / 4u>;
var<workgroup> parts: array<f32, HEADS * TILE * LANES>;
var<workgroup> scores: array<f32, HEADS * TILE>;
var<workgroup> weights: array<f32, HEADS * TILE>;
var<workgroup> row_outs: array<vec4f, THREADS>;
var<workgroup> row_sums: array<f32, THREADS>;

@compute @workgroup_size(THREADS)
fn attend(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let first_head = group.x * HEADS;
  let from_key = group.x / BLOCKS * sizes.keys; // of this key/value head
  let start = group.y * sizes.span;
  let end = min(start + sizes.span, sizes.keys);
  let lane = thread % LANES;
  let column = thread % COLUMNS;
  let row = thread / COLUMNS;
  for (var i = thread; i < HEADS * KEY_DIM / 4u; i += THREADS) {
    queries[i] = q[first_head * KEY_DIM / 4u + i];
  }
  var top: array<f32, HEADS>;
  var sum: array<f32, HEADS>;
  var out: array<vec4f, HEADS>;
  for (var h = 0u; h < HEADS; h += 1u) { top[h] = LOW; }
  workgroupBarrier();

  for (var tile = start; tile < end; tile += TILE) {
    // Each lane multiplies its columns of a key with those of every query.
    for (var at = thread / LANES; at < TILE; at += AT_ONCE) {
      var dots = array<f32, HEADS>(); // SwiftShader keeps the last round's where no value is given
      if (tile + at < end) {
        let key = (from_key + tile + at) * (KEY_DIM / 4u);
        for (var c = lane; c < KEY_DIM / 4u; c += LANES) {
          let four = k[key + c];
          for (var h = 0u; h < HEADS; h += 1u) { dots[h] += dot(four, queries[h * KEY_DIM / 4u + c]); }
        }
      }
      for (var h = 0u; h < HEADS; h += 1u) { parts[(h * TILE + at) * LANES + lane] = dots[h]; }
    }
    workgroupBarrier();
    if (thread < HEADS * TILE) {
      var score = 0.0;
      for (var l = 0u; l < LANES; l += 1u) { score += parts[thread * LANES + l]; }
      scores[thread] = select(LOW, score * sizes.scale, tile + thread % TILE < end);
    }
    workgroupBarrier();
    // A new maximum shrinks all that was added before it.
    for (var h = 0u; h < HEADS; h += 1u) {
      var high = top[h];
      for (var at = 0u; at < TILE; at += 1u) { high = max(high, scores[h * TILE + at]); }
      let shrink = exp(top[h] - high);
      top[h] = high;
      sum[h] *= shrink;
      out[h] *= shrink;
      if (thread / TILE == h) { weights[thread] = exp(scores[thread] - high); }
    }
    workgroupBarrier();
    for (var at = row; at < min(TILE, end - tile); at += ROWS) {
      let four = v[(from_key + tile + at) * STRIDE + column];
      for (var h = 0u; h < HEADS; h += 1u) {
        out[h] += weights[h * TILE + at] * four;
        sum[h] += weights[h * TILE + at];
      }
    }
  }

  // The rows added different values: their sums are added up, and written.
  for (var h = 0u; h < HEADS; h += 1u) {
    row_outs[thread] = out[h];
    row_sums[thread] = sum[h];
    workgroupBarrier();
    if (row == 0u) {
      for (var r = 1u; r < ROWS; r += 1u) {
        out[h] += row_outs[r * COLUMNS + column];
        sum[h] += row_sums[r * COLUMNS + column];
      }
      let place = (first_head + h) * sizes.spans + group.y;
      sums[place * COLUMNS + column] = out[h];
      if (column == 0u) { states[place] = vec2f(top[h], sum[h]); }
    }
    workgroupBarrier();
  }
}
