// c = a @ b, all (n, n). A workgroup of 16 x 16 threads computes a tile of 64 x 64, each thread 4 x 4
// numbers of it in registers. Tiles of a and b are 16 deep; n is a multiple of 64.

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(3) var<uniform> n: u32;

var<workgroup> left: array<array<vec4f, 4>, 64>; // 64 rows of a, 16 numbers of each
var<workgroup> right: array<array<vec4f, 16>, 16>; // 16 rows of b, 64 numbers of each

@compute @workgroup_size(16, 16)
fn matmul(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_id) local: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  let wide = n / 4u;
  var sums: array<vec4f, 4>;
  for (var deep = 0u; deep < n; deep += 16u) {
    left[thread / 4u][thread % 4u] = a[(group.y * 64u + thread / 4u) * wide + deep / 4u + thread % 4u];
    right[thread / 16u][thread % 16u] = b[(deep + thread / 16u) * wide + group.x * 16u + thread % 16u];
    workgroupBarrier();
    for (var p = 0u; p < 4u; p += 1u) {
      for (var i = 0u; i < 4u; i += 1u) {
        let four = left[local.y * 4u + i][p];
        sums[i] += four.x * right[4u * p][local.x] + four.y * right[4u * p + 1u][local.x]
          + four.z * right[4u * p + 2u][local.x] + four.w * right[4u * p + 3u][local.x];
      }
    }
    workgroupBarrier();
  }
  for (var i = 0u; i < 4u; i += 1u) {
    c[(group.y * 64u + local.y * 4u + i) * wide + group.x * 16u + local.x] = sums[i];
  }
}
