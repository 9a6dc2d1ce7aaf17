// Small things that a page needs after it has loaded. One classic script, also for file://.
(function () {
  "use strict";

  // Python in the browser needs a server: the style sheet says so where the page is a file.
  function explainFile() {
    if (location.protocol !== "file:") return;
    document.querySelectorAll(".run-here").forEach(function (link) {
      link.setAttribute("aria-disabled", "true");
      link.addEventListener("click", function (event) {
        event.preventDefault();
      });
    });
  }

  // A notebook that is open already goes on where it is: it keeps its kernel and only scrolls.
  function reuseNotebook() {
    document.querySelectorAll(".run-exercise").forEach(function (link) {
      link.addEventListener("click", function (event) {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        var tab = open("", link.target);
        if (!tab) return void (location.href = link.href); // tabs are not allowed
        if (isOpen(tab, link)) {
          tab.location.hash = "";
          tab.location.hash = link.hash;
        } else tab.location.href = link.href;
        tab.focus();
      });
    });
  }

  function isOpen(tab, link) {
    try {
      return tab.location.pathname === link.pathname && Boolean(tab.jupyterapp);
    } catch (error) {
      return false; // the tab has gone to another site
    }
  }

  // A button that needs this script; the style sheet shows it where scripts run.
  function offerPrint() {
    document.querySelectorAll(".run-print").forEach(function (item) {
      item.querySelector("button").addEventListener("click", function () {
        print();
      });
    });
  }

  // Paper shows what is folded, and it is closed again afterwards.
  function unfoldOnPaper() {
    document.querySelectorAll(".about-page, .deeper").forEach(function (box) {
      var was;
      addEventListener("beforeprint", function () {
        was = box.open;
        box.open = true;
      });
      addEventListener("afterprint", function () {
        box.open = was;
      });
    });
  }

  // A link into what is folded opens it.
  function unfoldTarget() {
    var name = location.hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch (error) {
      return; // no heading is called so
    }
    var target = document.getElementById(name);
    var box = target && target.closest(".about-page:not([open]), .deeper:not([open])");
    if (!box) return;
    box.open = true;
    target.scrollIntoView();
  }

  // Where somebody stopped reading, for the first page to offer; kept in this browser alone.
  function keepPlace() {
    var title = document.querySelector("article .question") && document.querySelector("article h1");
    if (!title) return;
    addEventListener("pagehide", function () {
      var sections = Array.from(document.querySelectorAll("article section[id]"));
      var above = sections.filter(function (section) {
        return section.getBoundingClientRect().top < innerHeight / 3;
      });
      var section = above.pop();
      if (scrollY < innerHeight / 2 || !section) return; // nothing was read yet
      var place = {
        page: location.pathname.split("/").pop() + "#" + section.id,
        chapter: words(title),
        section: words(section.querySelector("h1, h2, h3, h4")),
      };
      try {
        localStorage.setItem("livingPlace", JSON.stringify(place));
      } catch (error) {
        // A browser that keeps nothing offers nothing.
      }
    });
  }

  function words(heading) {
    return Array.from(heading.childNodes).filter(function (node) {
      return !node.classList || !node.classList.contains("headerlink");
    }).map(function (node) { return node.textContent; }).join("").trim();
  }

  // What scrolls must be reachable by keyboard, and only that; the style sheet shows that it does.
  var SCROLLERS = ".pst-scrollable-table-container, article pre, .katex-display, .cell_output .output, .drawn";
  function markScrollers() {
    var boxes = Array.from(document.querySelectorAll(SCROLLERS));
    // All are measured before one is changed: the page is laid out once.
    var wide = boxes.map(function (box) {
      var tall = box.closest(".here-output") && box.scrollHeight > box.clientHeight;
      return tall || box.scrollWidth > box.clientWidth;
    });
    boxes.forEach(function (box, i) {
      box.classList.toggle("scrolls", wide[i]);
      if (wide[i]) box.tabIndex = 0;
      else if (box.getAttribute("tabindex") === "0") box.removeAttribute("tabindex");
    });
  }

  // How far one has read, as a line under the header.
  function drawProgress() {
    var line = document.querySelector(".read-line");
    if (!line) return;
    function draw() {
      var way = document.documentElement.scrollHeight - innerHeight;
      line.style.scale = Math.min(1, scrollY / Math.max(1, way)) + " 1";
    }
    addEventListener("scroll", draw, { passive: true });
    addEventListener("resize", draw);
  }

  // On a narrow screen the list of pages opens over the page: at the one that is read.
  function openAtThisPage() {
    var button = document.querySelector(".primary-toggle");
    if (button) button.addEventListener("click", function () {
      requestAnimationFrame(function () {
        var here = document.querySelector("dialog[open] nav.bd-links a.current");
        if (here) here.scrollIntoView({ block: "center" });
      });
    });
  }

  function start() {
    explainFile();
    drawProgress();
    openAtThisPage();
    offerPrint();
    unfoldOnPaper();
    unfoldTarget();
    addEventListener("hashchange", unfoldTarget);
    keepPlace();
    reuseNotebook();
    addEventListener("resize", markScrollers);
    addEventListener("load", markScrollers);
    // A formula is as wide as its fonts, and those arrive when they like; so do living pictures.
    document.fonts.addEventListener("loadingdone", markScrollers);
    document.fonts.ready.then(markScrollers);
    // Also tells the size at first, in a frame that is laid out already.
    var article = document.querySelector("article");
    if (article) new ResizeObserver(markScrollers).observe(article);
  }

  // The search page fetches pages for their summaries; a browser refuses that for files.
  if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
