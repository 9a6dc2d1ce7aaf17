// What a reader says to a claim, kept like the answer of a prediction. In the head of the page.
var livingClaims = (function () {
  "use strict";
  var YOU = { agree: "You agree", "it depends": "You say that it depends", disagree: "You disagree" };
  var BOOK = { "it depends": "this book says that it depends", disagree: "this book disagrees" };
  var memory = (window.livingMemory = window.livingMemory || new Map()); // shared by the page's scripts

  function nameOf(card) { return "living:prediction:" + card.dataset.claim; }

  function kept(card) {
    var text = null;
    try {
      text = localStorage.getItem(nameOf(card));
    } catch (refused) {
      // A folder or a private window may have no storage: the page works without.
    }
    try {
      return JSON.parse(text || memory.get(nameOf(card)) || "null") || {};
    } catch (unreadable) {
      return {};
    }
  }

  function keep(card, entry) {
    var text = entry && JSON.stringify(entry);
    memory.delete(nameOf(card));
    try {
      if (text) localStorage.setItem(nameOf(card), text);
      else localStorage.removeItem(nameOf(card));
    } catch (refused) {
      if (text) memory.set(nameOf(card), text);
    }
  }

  function words(said, holds) {
    if (!YOU[said]) return "";
    return said === holds ? "✓ " + YOU[said] + ", and so does this book." : "→ " + YOU[said] + "; " + BOOK[holds] + ".";
  }

  function see(card) {
    var said = kept(card).attempt, isShown = kept(card).shown === true;
    var show = card.querySelector(".claim-show"), word = isShown ? "Cover it again" : "Show me";
    show.hidden = Boolean(said);
    show.setAttribute("aria-expanded", String(isShown));
    show.setAttribute("aria-label", show.getAttribute("aria-label").replace(/^[^:]*/, word));
    show.textContent = word;
    card.querySelectorAll("[data-say]").forEach(function (button) {
      button.setAttribute("aria-pressed", String(button.dataset.say === said));
    });
    var line = card.querySelector(".claim-said");
    var text = words(said, card.dataset.holds);
    if (line.textContent !== text) line.textContent = text; // the same again would be read aloud again
  }

  function look() {
    document.querySelectorAll(".claim").forEach(see);
  }

  document.addEventListener("click", function (event) {
    var button = event.target.closest && event.target.closest(".claim-ask button");
    if (!button) return;
    var card = button.closest(".claim"), say = button.dataset.say, before = kept(card);
    var right = say === card.dataset.holds;
    // Pressed again it is taken back. What was right once stays right, as with a prediction.
    if (say ? before.attempt === say : before.shown) keep(card, null);
    else if (!say) keep(card, { shown: true });
    else keep(card, { attempt: say, shown: false, verdict: right ? "right" : "wrong", solved: right ? say : before.solved });
    document.dispatchEvent(new Event("living:progress"));
  });
  document.addEventListener("living:progress", look);
  addEventListener("storage", look);
  return { see: see };
})();
