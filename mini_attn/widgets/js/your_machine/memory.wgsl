// What is drawn, read and copied. Every thread takes each STEP-th place of an array.

struct Sizes { k: u32, v: u32, seed: u32, wide: f32 } // places of four numbers

@group(0) @binding(0) var<storage, read> k: array<vec4f>;
@group(0) @binding(1) var<storage, read> v: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> to: array<vec4f>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

const STEP = GROUPS * THREADS;

// The i-th number follows from i alone: random.js draws the same.
fn number(i: u32) -> f32 {
  var x = i * 0x9e3779b1u + sizes.seed * 0x85ebca6bu;
  x = (x ^ (x >> 16u)) * 0x21f0aaadu;
  x = (x ^ (x >> 15u)) * 0x735a2d97u;
  return sizes.wide * (f32((x ^ (x >> 15u)) >> 8u) / 8388608.0 - 1.0);
}

@compute @workgroup_size(THREADS)
fn draw(@builtin(global_invocation_id) id: vec3u) {
  for (var i = id.x; i < sizes.k; i += STEP) {
    to[i] = vec4f(number(4u * i), number(4u * i + 1u), number(4u * i + 2u), number(4u * i + 3u));
  }
}

@compute @workgroup_size(THREADS)
fn read_all(@builtin(global_invocation_id) id: vec3u) {
  var sum = vec4f();
  for (var i = id.x; i < sizes.k; i += STEP) { sum += k[i]; }
  for (var i = id.x; i < sizes.v; i += STEP) { sum += v[i]; }
  to[id.x] = sum; // or the compiler would leave out the reading
}

@compute @workgroup_size(THREADS)
fn copy(@builtin(global_invocation_id) id: vec3u) {
  for (var i = id.x; i < sizes.k; i += STEP) { to[i] = k[i]; }
}
