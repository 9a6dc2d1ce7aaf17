// The graphics processor, through WebGPU: its buffers, its kernels, and a run of them with a time.
import attend from "./attend.wgsl";
import matmul from "./matmul.wgsl";
import memory from "./memory.wgsl";
import merge from "./merge.wgsl";

export const SPAN = 256; // keys of one workgroup
const [ATTEND, MERGE, MEMORY, GROUPS] = [128, 64, 256, 1024]; // threads of a workgroup; workgroups that read
const TOGETHER = 4; // query heads whose queries fit into 16 kB, which every device has
const KEY_BYTES = 16384; // of the keys of MHA, the widest case; its values take as many
const STAMPS = "timestamp-query";

// Sizes as constants in front of a kernel: loops over them can be unrolled.
const constants = (sizes) => Object.entries(sizes).map(([name, size]) => `const ${name} = ${size}u;\n`).join("");

export function shape({ n_heads, n_kv_heads, key_dim, value_dim, latent }) {
  const group = n_heads / n_kv_heads;
  const heads = Math.min(group, TOGETHER);
  return { HEADS: heads, BLOCKS: group / heads, KEY_DIM: key_dim, VALUE_DIM: value_dim, STRIDE: (latent ? key_dim : value_dim) / 4, THREADS: ATTEND };
}

// A reason why there is none, or one.
export async function openGpu() {
  if (!isSecureContext) return { why: "insecure" };
  if (!navigator.gpu) return { why: "missing" };
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" }).catch(() => null);
  if (!adapter) return { why: "adapter" };
  const stamps = adapter.features.has(STAMPS);
  const device = await adapter.requestDevice({ requiredFeatures: stamps ? [STAMPS] : [] }).catch(() => null);
  return device ? { gpu: new Gpu(adapter, device, stamps) } : { why: "device" };
}

export class Lost extends Error {}

export class Gpu {
  constructor(adapter, device, stamps) {
    Object.assign(this, { device, stamps, limits: device.limits, buffers: {}, pipelines: {} });
    const { vendor, architecture, device: model, description } = adapter.info ?? {};
    const software = adapter.info?.isFallbackAdapter ?? adapter.isFallbackAdapter ?? false;
    this.adapter = { vendor: vendor ?? "", architecture: architecture ?? "", device: model ?? "", description: description ?? "", software };
    this.fault = new Promise((_, refuse) => {
      device.lost.then(({ reason, message }) => refuse(new Lost(message || reason)));
      device.addEventListener("uncapturederror", ({ error }) => refuse(new Lost(error.message)));
    });
    this.fault.catch(() => {}); // whoever waits for something hears of it
    if (stamps) this.addStamps();
  }

  addStamps() {
    this.queries = this.device.createQuerySet({ type: "timestamp", count: 2 });
    this.resolved = this.device.createBuffer({ size: 16, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
    this.told = this.device.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  }

  // What takes long either comes, or the device is lost.
  soon(promise) {
    return Promise.race([promise, this.fault]);
  }

  storage(name, size) {
    this.buffers[name]?.destroy();
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    this.buffers[name] = this.device.createBuffer({ size, usage });
    return this.buffers[name];
  }

  // Room for the keys and values of so many keys; says whether there is.
  async allocate(keys) {
    const most = Math.min(this.limits.maxStorageBufferBindingSize, this.limits.maxBufferSize);
    if (keys * KEY_BYTES > most) return false;
    this.device.pushErrorScope("out-of-memory");
    for (const name of ["k", "v"]) this.storage(name, keys * KEY_BYTES);
    for (const [name, size] of [["q", 2 ** 16], ["out", 2 ** 16], ["sums", 2 ** 21], ["states", 2 ** 14], ["to", GROUPS * MEMORY * 16]]) {
      if (!this.buffers[name]) this.storage(name, size);
    }
    if (await this.soon(this.device.popErrorScope())) return false;
    this.keys = keys;
    return true;
  }

  pipeline(code, entryPoint, sizes) {
    const key = JSON.stringify([entryPoint, sizes]);
    this.pipelines[key] ??= this.device.createComputePipeline({
      layout: "auto", compute: { entryPoint, module: this.device.createShaderModule({ code: constants(sizes) + code }) },
    });
    return this.pipelines[key];
  }

  uniform(whole, last = []) {
    const size = 4 * (whole.length + last.length);
    const buffer = this.device.createBuffer({ size: Math.max(16, size), usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
    this.device.queue.writeBuffer(buffer, 0, new Uint32Array(whole));
    if (last.length) this.device.queue.writeBuffer(buffer, 4 * whole.length, new Float32Array(last));
    return buffer;
  }

  // A part of a layer, for one of a kernel's places.
  part([name, offset], size) {
    return { buffer: this.buffers[name], offset, size };
  }

  // One dispatch: a pipeline, what is at its places (or in each turn's), and how many workgroups.
  step(pipeline, turns, x, y = 1) {
    const layout = pipeline.getBindGroupLayout(0);
    const resource = (one) => (one instanceof GPUBuffer ? { buffer: one } : one);
    const groups = [turns].flat().map((places) => this.device.createBindGroup({
      layout, entries: Object.entries(places).map(([binding, one]) => ({ binding: Number(binding), resource: resource(one) })),
    }));
    return { pipeline, x, y, groups, turn: 0 };
  }

  drawing(name, seed, count, wide = 1) {
    const pipeline = this.pipeline(memory, "draw", { GROUPS, THREADS: MEMORY });
    return [this.step(pipeline, { 2: this.buffers[name], 3: this.uniform([count / 4, 0, seed], [wide]) }, GROUPS)];
  }

  // Keys and values of one layer after the other; of latents there are no others.
  reading(keyBytes, valueBytes, layers = [{ k: ["k", 0], v: ["v", 0] }]) {
    const pipeline = this.pipeline(memory, "read_all", { GROUPS, THREADS: MEMORY });
    const others = { 2: this.buffers.to, 3: this.uniform([keyBytes / 16, valueBytes / 16, 0, 0]) };
    return [this.step(pipeline, layers.map(({ k, v }) => ({ 0: this.part(k, keyBytes), 1: this.part(v, valueBytes || keyBytes), ...others })), GROUPS)];
  }

  copying(bytes) {
    const { k, v } = this.buffers;
    const pipeline = this.pipeline(memory, "copy", { GROUPS, THREADS: MEMORY });
    return [this.step(pipeline, { 0: k, 2: v, 3: this.uniform([bytes / 16, 0, 0, 0]) }, GROUPS)];
  }

  product(n) {
    const { k, v } = this.buffers;
    const c = this.storage("c", 4 * n * n);
    return [this.step(this.pipeline(matmul, "matmul", {}), { 0: k, 1: v, 2: c, 3: this.uniform([n, 0, 0, 0]) }, n / 64, n / 64)];
  }

  // Decode attention of one layer after the other: spans of keys, then their merger.
  attention(single, keys, layers, span = SPAN) {
    const { q, out, sums, states } = this.buffers;
    const size = 4 * keys * single.n_kv_heads * single.key_dim;
    const sizes = shape(single);
    const spans = Math.ceil(keys / span);
    const told = this.uniform([keys, span, spans], [single.scale]);
    const first = this.pipeline(attend, "attend", sizes);
    const second = this.pipeline(merge, "merge", { VALUE_DIM: single.value_dim, THREADS: MERGE });
    return [
      this.step(first, layers.map(({ k, v }) => ({ 0: q, 1: this.part(k, size), 2: this.part(v, size), 3: sums, 4: states, 5: told })), single.n_heads / sizes.HEADS, spans),
      this.step(second, { 0: sums, 1: states, 2: out, 3: told }, single.n_heads),
    ];
  }

  // Seconds of some steps, done so often in one submission. Turns go on from where the last one ended.
  async run(steps, times = 1) {
    const encoder = this.device.createCommandEncoder();
    const timestampWrites = this.stamps ? { querySet: this.queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 } : undefined;
    const pass = encoder.beginComputePass({ timestampWrites });
    for (let time = 0; time < times; time += 1) {
      for (const step of steps) {
        pass.setPipeline(step.pipeline);
        pass.setBindGroup(0, step.groups[step.turn]);
        pass.dispatchWorkgroups(step.x, step.y);
        step.turn = (step.turn + 1) % step.groups.length;
      }
    }
    pass.end();
    if (this.stamps) {
      encoder.resolveQuerySet(this.queries, 0, 2, this.resolved, 0);
      encoder.copyBufferToBuffer(this.resolved, 0, this.told, 0, 16);
    }
    const start = performance.now();
    this.device.queue.submit([encoder.finish()]);
    await this.soon(this.device.queue.onSubmittedWorkDone());
    const wall = (performance.now() - start) / 1e3;
    return this.stamps ? this.stamped(wall) : wall;
  }

  // The device's own clock, unless what it says can't be: then it isn't asked again.
  async stamped(wall) {
    await this.soon(this.told.mapAsync(GPUMapMode.READ));
    const [start, end] = new BigUint64Array(this.told.getMappedRange().slice(0));
    this.told.unmap();
    const seconds = Number(end - start) / 1e9;
    if (seconds >= 0 && seconds <= 1.05 * wall + 1e-3) return seconds;
    this.stamps = false;
    return wall;
  }

  get clock() {
    return this.stamps ? STAMPS : "performance.now";
  }

  async numbers(name, count) {
    const bytes = 4 * count;
    const read = this.device.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.buffers[name], 0, read, 0, bytes);
    this.device.queue.submit([encoder.finish()]);
    await this.soon(read.mapAsync(GPUMapMode.READ));
    const found = new Float32Array(read.getMappedRange().slice(0));
    read.destroy();
    return found;
  }

  close() {
    this.device.destroy();
  }
}

export const kernels = { attend, merge, memory, matmul };
