// What benchmarks/pages.py asks of a page's pictures, behind pages_counts.js: where a phrase takes the
// reader, which parts can be taken hold of, what moves, and how fast.
Object.assign(globalThis.pageFacts, (() => {
  const { NEAR, shown, all, css, box, distinct, sleep, frames, unfold } = globalThis.pageFacts;
  const WIDGET = ".living[data-widget]:not([data-widget=prediction])"; // the first is the central one
  const [MOST, TALL] = [0.6, 0.6]; // of what has changed, or of a place that's too small for it

  // --- phrases that set a picture ----------------------------------------------------------

  const meet = (a, b) => ({ left: Math.max(a.left, b.left), top: Math.max(a.top, b.top), right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom) });
  const area = ({ left, top, right, bottom }) => Math.max(0, right - left) * Math.max(0, bottom - top);
  const union = (rects) => ({
    left: Math.min(...rects.map(({ left }) => left)), top: Math.min(...rects.map(({ top }) => top)),
    right: Math.max(...rects.map(({ right }) => right)), bottom: Math.max(...rects.map(({ bottom }) => bottom)),
  });
  const inside = (rect, { left, top, right, bottom }) => (
    rect.left >= left - NEAR && rect.top >= top - NEAR && rect.right <= right + NEAR && rect.bottom <= bottom + NEAR);

  // A bar that sticks over this point and isn't around the node.
  function bar(x, y, node) {
    let at = document.elementFromPoint(x, y);
    while (at && !["sticky", "fixed"].includes(css(at).position)) at = at.parentElement;
    return at && !at.contains(node) ? box(at) : null;
  }

  // Where a node could be seen: what the window, scrolling ancestors and sticking bars leave.
  function place(node) {
    let room = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    for (let up = node.parentElement; up && up !== document.body; up = up.parentElement) {
      if (css(up).overflowX !== "visible" || css(up).overflowY !== "visible") room = meet(room, box(up));
    }
    const over = bar((room.left + room.right) / 2, room.top + 2, node);
    return over ? { ...room, top: Math.max(room.top, over.bottom) } : room;
  }

  function readable(node) {
    if (!node || !shown(node) || !node.textContent.trim()) return false;
    const range = document.createRange();
    range.selectNodeContents(node);
    const rect = box(range);
    const onTop = ([x, y]) => {
      const hit = document.elementFromPoint(x, y);
      return Boolean(hit) && (node.contains(hit) || hit.contains(node));
    };
    const { left, top, right, bottom } = rect;
    return inside(rect, place(node)) && [[left + 2, top + 2], [(left + right) / 2, (top + bottom) / 2], [left + 2, bottom - 2]].every(onTop);
  }

  // The leaves of what is drawn, each with how it is drawn: names and words for readers don't show.
  function leaves(live) {
    const drawn = all(".living-output svg *", live).filter((node) => !node.childElementCount && !node.closest("defs, style, title, clipPath, pattern, marker"));
    const moved = (node) => (node.tagName === "svg" ? "" : (node.getAttribute("transform") ?? "") + moved(node.parentElement));
    const written = (node) => node.outerHTML.replace(/ (?:aria-[\w-]+|data-[\w-]+|tabindex|role|id)="[^"]*"/g, "").replace(/ ?living-(?:lit|also)/g, "");
    return drawn.map((node) => [node, written(node) + moved(node)]);
  }

  // The leaves of the second drawing that the first doesn't have, as rectangles that were measured.
  function fresh(before, after) {
    const left = new Map();
    for (const how of before) left.set(how, (left.get(how) ?? 0) + 1);
    return after.filter(([, how]) => !left.get(how) || !left.set(how, left.get(how) - 1)).map(([rect]) => rect);
  }

  async function settled(root) {
    for (let i = 0; i < 100 && root.querySelector("[aria-busy]"); i++) await sleep(50);
    await frames(3);
    for (const one of document.getAnimations()) if (Number.isFinite(one.effect?.getComputedTiming().endTime)) one.finish();
    await frames(1);
  }

  // Set a picture as a phrase does; with nothing behind the name it is as the page was built.
  function set(name, beside, state = "") {
    const link = Object.assign(document.createElement("a"), { className: "sets", href: `#${name}:${state}` });
    beside.append(link);
    link.click();
    link.remove();
  }

  function escape() {
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  }

  function seenEnough(rects, room) {
    if (!rects.length) return false;
    const whole = union(rects);
    const part = meet(whole, room);
    const fits = whole.bottom - whole.top <= room.bottom - room.top;
    return fits ? area(part) >= MOST * area(whole) : part.bottom - part.top >= TALL * (room.bottom - room.top);
  }

  // What is in sight, of a picture that a phrase has just set, and how all of it is drawn.
  function look(live) {
    const dock = document.querySelector(".living-dock");
    const svgs = all(".living-first svg", live);
    const room = place(svgs[0] ?? live);
    const say = dock?.querySelector(".living-say") ?? live.querySelector(".living-say");
    const drawn = leaves(live).map(([node, how]) => [box(node), how]).filter(([{ width, height }]) => width || height);
    const whole = svgs.length > 0 && inside(union(svgs.map(box)), room);
    return { room, drawn, seen: { dock: Boolean(dock), say: readable(say), whole } };
  }

  // Press the phrase, and look; what has changed is told from the same picture, in the same place,
  // as the page was built. The dock is closed and the picture put back at the end.
  async function phrase(link) {
    const name = link.hash.slice(1).split(":")[0];
    const live = document.querySelector(`.living[data-widget="${name}"] .living-live`);
    link.scrollIntoView({ block: "center", behavior: "instant" });
    await frames(2);
    link.click();
    await settled(live);
    const { room, drawn, seen } = look(live);
    set(name, link.parentElement);
    await settled(live);
    const changed = fresh(leaves(live).map(([, how]) => how), drawn);
    escape();
    await frames(2);
    const rects = changed.length ? changed : drawn.map(([rect]) => rect);
    return { text: link.textContent, sets: link.hash, ...seen, changes: changed.length, changed: seenEnough(rects, room) };
  }

  async function phrases() {
    unfold();
    await frames(3);
    const found = [];
    for (const link of document.querySelectorAll("article a.sets")) found.push(await phrase(link));
    return found;
  }

  // --- the central picture in the hand -----------------------------------------------------

  const central = () => document.querySelector(WIDGET);
  let copied = "";

  // What a picture's state is: the link it gives, and what its fields say.
  function state(live) {
    const fields = [...live.querySelectorAll("[data-key]")].map((one) => (["checkbox", "radio"].includes(one.type) ? one.checked : one.value));
    live.querySelector("[data-do=copy]")?.click();
    return JSON.stringify([copied, fields]);
  }

  const DRAGS = [[80, 0], [0, 80], [-80, 0], [0, -80]];
  const part = (live, id) => live.querySelector(`.living-output [data-id="${CSS.escape(id)}"]`);

  // Whether a part's state changes while it's held and moved, or when it's pressed.
  function tried(live, id, { left, top, width, height }, before, act) {
    const [x, y] = [left + width / 2, top + height / 2];
    const usual = { bubbles: true, cancelable: true, pointerId: 1, isPrimary: true, buttons: 1 };
    const send = (type, dx = 0, dy = 0, Kind = PointerEvent) => {
      const at = { clientX: x + dx, clientY: y + dy, button: type === "pointermove" ? -1 : 0 };
      (part(live, id) ?? live.querySelector(".living-output")).dispatchEvent(new Kind(type, { ...usual, ...at }));
    };
    return act(send, () => state(live) !== before);
  }

  function dragged(send, changed) {
    send("pointerdown");
    const held = DRAGS.some(([dx, dy]) => {
      for (const share of [0.5, 1]) send("pointermove", share * dx, share * dy);
      return changed();
    });
    send("pointerup");
    return held;
  }

  function pressed(send, changed) {
    send("click", 0, 0, MouseEvent);
    return changed();
  }

  // Nothing but this on the page: each of the many looks at where its parts are costs a layout.
  function alone(node) {
    for (let up = node; up.tagName !== "ARTICLE"; up = up.parentElement) {
      for (const other of up.parentElement.children) if (other !== up) other.style.display = "none";
    }
  }

  async function handling() {
    navigator.clipboard.writeText = async (words) => { copied = words; };
    Element.prototype.setPointerCapture = () => {}; // these pointers are no real ones
    const root = central();
    const live = root.querySelector(".living-live");
    alone(root);
    root.scrollIntoView({ block: "start", behavior: "instant" });
    await frames(2);
    set(root.dataset.widget, root.parentElement);
    await settled(live);
    const ids = distinct(all(".living-output [data-id]", live).map((node) => node.dataset.id));
    const places = new Map(ids.map((id) => [id, box(part(live, id))])); // at once: each asks for a layout
    const found = { parts: ids.length, drag: [], press: [] };
    const start = state(live);
    for (const id of ids) {
      for (const [kind, act] of [["drag", dragged], ["press", pressed]]) {
        if (!part(live, id) || !tried(live, id, places.get(id), start, act)) continue;
        found[kind].push(id);
        set(root.dataset.widget, root.parentElement);
        if (live.querySelector("[aria-busy]")) await settled(live); // what is drawn at once is drawn
      }
    }
    return found;
  }

  // --- motion and paint --------------------------------------------------------------------

  const usable = (selector) => [...central().querySelectorAll(selector)].find((node) => shown(node) && !node.disabled);

  function reach(selector) {
    central().scrollIntoView({ block: "start", behavior: "instant" });
    if (!usable(selector)) central().querySelector(".living-settings[aria-expanded=false]")?.click();
    const found = usable(selector);
    found?.focus({ preventScroll: true });
    return found;
  }

  const KEYS = { button: ["Enter"], range: ["ArrowRight", "ArrowLeft"], radio: ["ArrowRight", "ArrowLeft"], checkbox: ["Space"], "select-one": ["ArrowDown", "ArrowUp"] };
  let moving = null;

  // Watch the central picture; gives the keys that should change it. The first key pressed starts.
  async function watchMotion() {
    const control = reach("[data-do=step]") ?? reach("[data-key]:not(textarea, [type=number])");
    if (!control) return null;
    await settled(central());
    const output = central().querySelector(".living-output");
    const first = output.querySelector(".living-first");
    const found = { animations: new Set(), drawings: 0, drawings_per_frame: 0, frames: 0 };
    moving = new Promise((done) => addEventListener("keydown", () => {
      const [start, before] = [performance.now(), new Set(document.getAnimations())];
      const kept = [];
      new MutationObserver((records) => kept.push(...records)).observe(output, { childList: true, subtree: true, attributes: true, characterData: true });
      const tick = () => {
        const records = kept.splice(0);
        const drawn = records.filter(({ target, addedNodes }) => target === first && addedNodes.length).length;
        found.drawings += drawn;
        found.drawings_per_frame = Math.max(found.drawings_per_frame, drawn);
        found.frames += records.length > 0;
        const since = performance.now() - start;
        for (const one of document.getAnimations()) if (since < 150 && !before.has(one) && output.contains(one.effect?.target)) found.animations.add(one);
        since < 600 ? requestAnimationFrame(tick) : done({ ...found, animations: found.animations.size });
      };
      requestAnimationFrame(tick);
    }, { once: true, capture: true }));
    return { control: control.dataset.do ?? control.type, keys: KEYS[control.dataset.do ? "button" : control.type] };
  }

  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(0);
  }));

  let paint = null;

  // Time every key until the frame after it, the script of every input event, and long tasks.
  async function watchPaint() {
    const range = reach("input[type=range]");
    if (!range) return null;
    await settled(central());
    paint = { next: [], script: [], long: [], last: null };
    addEventListener("keydown", ({ timeStamp }) => { paint.last = painted().then((end) => paint.next.push(end - timeStamp)); }, true);
    let start = 0;
    addEventListener("input", () => { start = performance.now(); }, true);
    addEventListener("input", () => paint.script.push(performance.now() - start));
    new PerformanceObserver((list) => paint.long.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
    const steps = Math.round((range.max - range.min) / (Number(range.step) || 1));
    return { steps, at: Math.round((range.value - range.min) / (Number(range.step) || 1)) };
  }

  const paintOver = async () => { await paint.last; };

  async function paintFound() {
    await sleep(100);
    const { next, script, long } = paint;
    return { next, script, longest_task: Math.max(0, ...long) };
  }

  return { phrases, handling, watchMotion, moved: () => moving, watchPaint, paintOver, paintFound };
})());
