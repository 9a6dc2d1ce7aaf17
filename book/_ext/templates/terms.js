// Shows what a term means while the pointer or the focus is on its link. Escape hides it.
(function () {
  "use strict";
  var box = document.createElement("div");
  box.className = "term-meaning";
  box.id = "term-meaning";
  box.setAttribute("role", "tooltip");
  box.hidden = true;
  var shown = null;
  var leaving = 0;

  function place(link) {
    var word = link.getClientRects()[0];
    var room = document.documentElement.clientWidth;
    var left = Math.min(word.left, room - box.offsetWidth - 8);
    var above = word.top - box.offsetHeight - 4;
    box.style.left = Math.max(8, left) + scrollX + "px";
    box.style.top = (above > 60 ? above : word.bottom + 4) + scrollY + "px";
  }

  function show(link) {
    clearTimeout(leaving);
    if (shown === link) return;
    hide();
    shown = link;
    box.textContent = link.dataset.meaning;
    box.hidden = false;
    link.setAttribute("aria-describedby", box.id);
    place(link);
  }

  function hide() {
    clearTimeout(leaving);
    if (shown) shown.removeAttribute("aria-describedby");
    shown = null;
    box.hidden = true;
  }

  // The pointer may go over to the meaning, to select or to enlarge it.
  function leave() {
    leaving = setTimeout(hide, 200);
  }

  document.body.appendChild(box);
  box.addEventListener("pointerenter", function () {
    clearTimeout(leaving);
  });
  box.addEventListener("pointerleave", leave);
  document.querySelectorAll(".term-link").forEach(function (link) {
    link.addEventListener("pointerenter", function (event) {
      if (event.pointerType !== "touch") show(link);
    });
    link.addEventListener("pointerleave", leave);
    link.addEventListener("focus", function () {
      if (link.matches(":focus-visible")) show(link);
    });
    link.addEventListener("blur", hide);
    // A finger has no hover: its first tap shows, the second follows the link.
    link.addEventListener("click", function (event) {
      if (shown !== link && matchMedia("(hover: none)").matches) {
        event.preventDefault();
        show(link);
      }
    });
  });
  addEventListener("keydown", function (event) {
    if (event.key === "Escape") hide();
  });
  addEventListener("pointerdown", function (event) {
    if (shown && event.target !== shown && event.target !== box) hide();
  });
})();
