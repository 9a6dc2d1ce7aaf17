// What benchmarks/pages.py asks of an open page: what stands on it, what is cut off, what moves by
// itself. It is put there before the page's own scripts run; its answers are plain data.
globalThis.pageFacts = (() => {
  const CONTROLS = "button, input:not([type=hidden]), select, textarea, summary, [role=button]";
  const FORMULA = ".katex, mjx-container, .MathJax";
  const NEAR = 1; // pixels that rounding may take

  const article = () => document.querySelector("article");
  const shown = (node) => node.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: false });
  const all = (selector, root = article()) => [...root.querySelectorAll(selector)].filter(shown);
  const css = (node) => getComputedStyle(node);
  const box = (node) => node.getBoundingClientRect();
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const distinct = (values) => [...new Set(values)].sort();
  const clear = (colour) => colour === "transparent" || /^rgba.*, 0\)$/.test(colour);
  const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  const frames = async (count) => { for (let i = 0; i < count; i++) await new Promise(requestAnimationFrame); };

  // --- what is on the page -----------------------------------------------------------------

  const ground = (node) => (!node ? "" : clear(css(node).backgroundColor) ? ground(node.parentElement) : css(node).backgroundColor);
  const SIDES = ["Top", "Right", "Bottom", "Left"];

  // How a box looks, or null where there's none: it has a border, or a ground that differs from
  // what it lies on.
  function look(node) {
    const style = css(node);
    const sides = SIDES.map((side) => [style[`border${side}Width`], style[`border${side}Style`], style[`border${side}Color`]]);
    const drawn = sides.map(([width, kind, colour]) => parseFloat(width) > 0 && kind !== "none" && !clear(colour));
    const own = clear(style.backgroundColor) ? "" : style.backgroundColor;
    const laid = own && own !== ground(node.parentElement);
    if (!box(node).height || !(laid || drawn.some(Boolean))) return null;
    return [distinct(sides.map((side, i) => (drawn[i] ? side.join(" ") : "none"))).join(), own, style.borderRadius].join(" | ");
  }

  // All boxes, and of them the blocks: what holds text, and isn't a control, a cell or a lone rule.
  function boxes() {
    const found = all("*").filter((node) => !node.closest(`svg, ${FORMULA}`)).map((node) => ({ node, how: look(node) })).filter(({ how }) => how);
    const small = `${CONTROLS}, a, label, kbd, code, span, hr, h1, h2, h3, table, table *`;
    const blocks = found.filter(({ node }) => !node.closest(small));
    const styles = (some) => distinct(some.map(({ how }) => how));
    const classes = (some) => distinct(some.map(({ node }) => node.classList[0] ?? node.tagName.toLowerCase()));
    const nodes = new Set(blocks.map(({ node }) => node));
    return { nodes, styles: styles(found), classes: classes(found), blocks: styles(blocks), block_classes: classes(blocks) };
  }

  // Words that run down the column: outside boxes, folds, pictures, cells and tables.
  function running(selector, boxed) {
    const apart = (node) => node.closest("details, .living, .cell, figure, table, aside, nav, form, li *, blockquote *");
    const within = (node) => node && node !== article() && (boxed.has(node) || within(node.parentElement));
    return all(selector).filter((node) => !apart(node) && !within(node));
  }

  // Characters in each line of a paragraph but its last: a word further left begins a line.
  function lineLengths(paragraph) {
    const lines = [0];
    const walk = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    let last = -1;
    while (walk.nextNode()) {
      for (const { 0: word, index } of walk.currentNode.data.matchAll(/\S+\s*/g)) {
        range.setStart(walk.currentNode, index);
        range.setEnd(walk.currentNode, index + word.trimEnd().length);
        const rect = range.getClientRects()[0];
        if (!rect) continue;
        if (rect.left < last - NEAR) lines.push(0);
        last = rect.left;
        lines[lines.length - 1] += word.length;
      }
    }
    return lines.slice(0, -1);
  }

  function fontSizes() {
    const lettered = (node) => [...node.childNodes].some((one) => one.nodeType === Node.TEXT_NODE && one.data.trim());
    const nodes = all("*").filter((node) => lettered(node) && !node.closest(`svg, style, script, ${FORMULA}`));
    return distinct(nodes.map((node) => Math.round(100 * parseFloat(css(node).fontSize)) / 100));
  }

  function unfold(root = document) {
    document.documentElement.classList.remove("guess-first");
    for (const fold of root.querySelectorAll("details")) fold.open = true;
  }

  const BLOCKS = {
    code: ["pre", (node) => !node.closest(".cell_output, .living")],
    output: [".cell_output > .output", (node) => !node.querySelector(".living")],
    equation: ["div.math, mjx-container[display=true]", () => true],
    table: ["table", (node) => !node.closest(".living, .cell_output")],
    figure: ["figure, .drawn", (node) => !node.closest(".living, .cell_output")],
    picture: [".living-output", () => true],
  };
  const cut = (node) => node.scrollWidth > node.clientWidth + NEAR && node.clientWidth > 0;

  // A block is clipped if it, its parent that scrolls, or a part that scrolls holds more than it shows.
  function clipped() {
    return Object.fromEntries(Object.entries(BLOCKS).map(([kind, [selector, wanted]]) => {
      const nodes = all(selector).filter(wanted);
      const parts = (node) => [node, ...node.querySelectorAll("pre, .katex-display, .highlight"), ...(kind === "table" ? [node.parentElement] : [])];
      return [kind, { all: nodes.length, clipped: nodes.filter((node) => parts(node).some(cut)).length }];
    }));
  }

  // Everything that can be counted on a page as it opens, and what is clipped once all folds are open.
  function counts() {
    const kinds = boxes();
    const height = box(article()).height;
    const prose = running("p, ul, ol, dl, h1, h2, h3, h4, h5, h6", kinds.nodes);
    const lines = running("p", kinds.nodes).filter((node) => !node.querySelector(FORMULA)).flatMap(lineLengths);
    const sizes = fontSizes();
    const found = {
      controls: all(CONTROLS).length, height, prose_share: sum(prose.map((node) => box(node).height)) / height,
      boxes_per_screen: (kinds.nodes.size * innerHeight) / height, font_sizes: sizes,
      box_styles: kinds.styles, box_classes: kinds.classes, block_styles: kinds.blocks, block_classes: kinds.block_classes,
      lines: lines.length, line_characters: lines.length ? sum(lines) / lines.length : null,
    };
    unfold();
    return { ...found, controls_unfolded: all(CONTROLS).length, clipped: clipped() };
  }

  // --- opening and scrolling ---------------------------------------------------------------

  let shift = 0;
  new PerformanceObserver((list) => { for (const { value } of list.getEntries()) shift += value; }).observe({ type: "layout-shift", buffered: true });

  async function shifts() {
    await sleep(500);
    const load = shift;
    for (let y = 0; y < document.documentElement.scrollHeight; y += 0.8 * innerHeight) {
      scrollTo({ top: y, behavior: "instant" });
      await frames(2);
    }
    await sleep(100);
    return { load, scrolling: shift - load };
  }

  const firstPicture = () => performance.getEntriesByName("living:first")[0]?.startTime ?? null;

  return { NEAR, shown, all, css, box, distinct, sleep, frames, unfold, counts, shifts, firstPicture };
})();
