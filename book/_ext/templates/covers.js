// Results that stay hidden until the reader has guessed. In the head of a chapter, so that a page
// is laid out with its covers from the first paint.
var livingCovers = (function (root) {
  "use strict";
  var SWITCH = "living:guess-first";

  // A folder or a private window may have no storage: then nothing is remembered.
  function stored(name, value) {
    try {
      if (value === undefined) return localStorage.getItem(name);
      if (value === null) localStorage.removeItem(name);
      else localStorage.setItem(name, value);
    } catch (refused) {
      // As above.
    }
    return null;
  }

  function isGuessed(key) {
    var name = "living:prediction:" + key;
    try {
      var kept = JSON.parse(stored(name) || (window.livingMemory && livingMemory.get(name)) || "null");
      return Boolean(kept) && (kept.shown === true || "solved" in kept || ["right", "mistake", "wrong"].indexOf(kept.verdict) >= 0);
    } catch (unreadable) {
      return false;
    }
  }

  // One cover, as it is parsed and whenever something was answered.
  function see(box) {
    box.classList.toggle("covered-guessed", box.dataset.coveredBy.split(" ").every(isGuessed));
    box.querySelectorAll("[data-asks]").forEach(function (link) {
      link.parentNode.hidden = isGuessed(link.dataset.asks);
    });
  }

  var all = function (selector) { return Array.prototype.slice.call(document.querySelectorAll(selector)); };

  function look() {
    var off = stored(SWITCH) === "off";
    root.classList.toggle("guess-first", !off);
    all(".covered").forEach(see);
    all(".run-guess input").forEach(function (input) { input.checked = !off; });
  }

  function choose(on) {
    stored(SWITCH, on ? null : "off");
    look();
    root.classList.toggle("guess-first", on); // also where nothing is remembered
    all(".run-guess input").forEach(function (input) { input.checked = on; });
  }

  // A link into a covered part shows it; a link to a question goes to the field for its answer.
  function follow() {
    var target = null;
    try {
      target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch (malformed) {
      return;
    }
    if (!target) return;
    var box = target.closest(".covered");
    if (box) {
      box.classList.add("covered-open");
      target.scrollIntoView();
    }
    if (target.id.indexOf("ask-")) return;
    for (var fold = target; (fold = fold.closest("details:not([open])")); ) fold.open = true;
    var card = target.nextElementSibling;
    card.scrollIntoView({ block: "center" });
    card.querySelector(".living-live input").focus({ preventScroll: true });
  }

  root.classList.add("can-cover");
  root.classList.toggle("guess-first", stored(SWITCH) !== "off");
  // Also where the address is that of the question already, and nothing else tells.
  document.addEventListener("click", function (event) {
    if (event.target.closest && event.target.closest(".covered-note a")) setTimeout(follow);
  });
  document.addEventListener("change", function (event) {
    if (event.target.closest(".run-guess")) choose(event.target.checked);
  });
  document.addEventListener("living:progress", function () { all(".covered").forEach(see); });
  addEventListener("storage", look);
  addEventListener("hashchange", follow);
  document.addEventListener("DOMContentLoaded", function () {
    look();
    follow();
  });
  return { see: see };
})(document.documentElement);
