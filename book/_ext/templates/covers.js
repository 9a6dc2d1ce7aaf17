// Results that stay covered until the reader has guessed. In the head of a chapter, so that a page
// is laid out with its covers from the first paint.
var livingCovers = (function (root) {
  "use strict";
  var SWITCH = "living:guess-first";

  // A folder or a private window may have no storage: then nothing is remembered.
  function stored(room, name, value) {
    try {
      if (value === undefined) return window[room].getItem(name);
      if (value === null) window[room].removeItem(name);
      else window[room].setItem(name, value);
    } catch (refused) {
      // As above.
    }
    return null;
  }

  function isGuessed(key) {
    var name = "living:prediction:" + key;
    try {
      var kept = JSON.parse(stored("localStorage", name) || (window.livingMemory && livingMemory.get(name)) || "null");
      return Boolean(kept) && (kept.shown === true || ["right", "mistake", "wrong"].indexOf(kept.verdict) >= 0);
    } catch (unreadable) {
      return false;
    }
  }

  var keys = function (box) { return box.dataset.coveredBy; };
  var peeked = function (box) { return "living:uncovered:" + keys(box); };

  function open(box, isOpen) {
    var button = box.querySelector(".covered-show");
    box.classList.toggle("covered-open", isOpen);
    button.setAttribute("aria-expanded", String(isOpen));
    button.textContent = isOpen ? "Cover it again" : "Show me";
    button.setAttribute("aria-label", button.getAttribute("aria-label").replace(/^[^:]*/, button.textContent));
  }

  // One box, as it is parsed and whenever something was answered.
  function see(box) {
    box.classList.toggle("covered-guessed", keys(box).split(" ").every(isGuessed));
    open(box, stored("sessionStorage", peeked(box)) !== null);
  }

  var all = function (selector) { return Array.prototype.slice.call(document.querySelectorAll(selector)); };

  function look() {
    var off = stored("localStorage", SWITCH) === "off";
    root.classList.toggle("guess-first", !off);
    all(".covered").forEach(see);
    all(".run-guess input").forEach(function (input) { input.checked = !off; });
  }

  function choose(on) {
    stored("localStorage", SWITCH, on ? null : "off");
    look();
    root.classList.toggle("guess-first", on); // also where nothing is remembered
    all(".run-guess input").forEach(function (input) { input.checked = on; });
  }

  // A link into a covered part shows it.
  function follow() {
    var target = null;
    try {
      target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch (malformed) {
      return;
    }
    var box = target && target.closest(".covered");
    if (!box) return;
    open(box, true);
    target.scrollIntoView();
  }

  root.classList.add("can-cover");
  root.classList.toggle("guess-first", stored("localStorage", SWITCH) !== "off");
  document.addEventListener("click", function (event) {
    var button = event.target.closest && event.target.closest(".covered-lid button");
    if (!button) return;
    var box = button.closest(".covered");
    if (button.className === "covered-off") {
      choose(false);
      box.querySelector(".covered-body").focus({ preventScroll: true });
      return;
    }
    var isOpen = !box.classList.contains("covered-open");
    stored("sessionStorage", peeked(box), isOpen ? "1" : null);
    open(box, isOpen);
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
