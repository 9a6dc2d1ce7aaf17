// Requests on the blocks of one pool, step by step: what the package's Scheduler and Blocks do when
// no step has a limit of tokens, as far as these requests need it (the tests compare every state).
// A reservation of the longest length is a block of that size.
import pool from "../data/page_pool.json" with { type: "json" };

export function serve(shared, size) {
  const references = Array(pool.slots / size).fill(0);
  const line = [...references.keys()]; // free blocks, the one that is taken next first
  const found = {}; // the tokens up to the end of a full block: that block
  const known = []; // the same the other way round
  const runs = []; // in the order in which they came
  const are = (state) => runs.filter((run) => run.state === state);
  const hold = (block) => { if (!references[block]++) line.splice(line.indexOf(block), 1); };
  // A known block goes to the end of the line: somebody may still want what it holds.
  const release = (block) => --references[block] || line[known[block] ? "push" : "unshift"](block);
  const upTo = (tokens, i) => tokens.slice(0, i * size + size).join();
  const last = ({ done, table }) => table[Math.floor(done / size)]; // where it writes next
  const copies = (run, held = references) => run.done % size && held[last(run)] > 1;
  const lacks = (run, n, held) => Math.ceil((run.done + n) / size) - run.table.length + (copies(run, held) ? 1 : 0);
  let copied;

  // Whether each can have what it lacks for one token. A copy leaves the others one holder less.
  function fit(those) {
    const held = [...references];
    let free = line.length;
    return those.every((run) => {
      free -= lacks(run, 1, held);
      if (copies(run, held)) held[last(run)] -= 1;
      return free >= 0;
    });
  }

  function come([name, , prompt, fresh, prefix, parent]) {
    const from = runs.find((run) => run.name === parent);
    if (shared && from) {
      from.table.forEach(hold);
      runs.push({ ...from, name });
      return;
    }
    const tokens = Array.from({ length: from?.tokens.length ?? prompt }, (_, i) => (shared && i < prefix ? i : name + i));
    runs.push({ name, tokens, limit: from?.limit ?? prompt + fresh, state: "waits", table: [], done: 0 });
  }

  // Blocks for so many tokens more; a copy first of one that others hold, too.
  function give(run, n) {
    const taken = line.slice(0, lacks(run, n));
    for (const block of taken) {
      hold(block);
      delete found[known[block]];
      delete known[block]; // whoever takes it writes into it
    }
    if (copies(run)) {
      const old = last(run);
      release(old);
      copied.push([run.name, old, taken[0]]);
      run.table = run.table.filter((block) => block !== old); // it was the last
    }
    run.table = [...run.table, ...taken];
    run.done += n;
  }

  function empty(run, state) {
    [...run.table].reverse().forEach(release);
    Object.assign(run, { state, table: [], done: 0 });
  }

  function admit(run) {
    const { tokens } = run;
    const table = [];
    for (let i = 0; (i + 1) * size < tokens.length && upTo(tokens, i) in found; i += 1) table.push(found[upTo(tokens, i)]);
    const done = table.length * size;
    const left = tokens.length - done;
    const fits = lacks({ table, done }, left) <= line.length;
    if (fits) {
      table.forEach(hold);
      give(Object.assign(run, { table, done, state: "runs" }), left);
    }
    return fits;
  }

  return Array.from({ length: pool.steps }, (_, i) => {
    const preempted = [];
    copied = [];
    pool.requests.filter(([, step]) => step === i + 1).forEach(come);
    while (!fit(are("runs"))) {
      const latest = are("runs").at(-1); // gives way
      empty(latest, "waits");
      preempted.push(latest.name);
    }
    for (const run of are("runs")) give(run, 1);
    if (!preempted.length) are("waits").every(admit);
    // The step is run: full blocks are known, each has one token more, who is done goes.
    for (const run of are("runs")) {
      run.table.forEach((block, k) => {
        const words = upTo(run.tokens, k);
        if (k * size + size > run.done || known[block] || words in found) return;
        known[block] = words;
        found[words] = block;
      });
      run.tokens = [...run.tokens, run.name + run.tokens.length];
    }
    for (const run of are("runs")) if (run.tokens.length === run.limit) empty(run, "done");
    return { runs: runs.map((run) => ({ ...run })), copied, preempted };
  });
}
