// How the search ranks what it has found: a chapter that is about the words comes first, then the
// other chapters, the glossary and the index, and names of the package last.
var Scorer = (function () {
  "use strict";
  var asked = (new URLSearchParams(location.search).get("q") || "").toLowerCase();
  var words = asked.split(/[^a-z0-9]+/).filter(Boolean);

  // How far a page is called what was asked for: rope is, and rope-scaling in part.
  function named(page) {
    var parts = page.split("-");
    var all = words.length && words.every(function (word) { return parts.includes(word); });
    return all ? words.length / parts.length : 0;
  }

  return {
    score: function (result) {
      var page = result[0].split("/").pop();
      if (page.startsWith("api-") || page === "genindex") return result[4] - 40;
      if (result[2]) return Math.min(result[4], 40); // a section, or an entry of the glossary
      return result[4] + 3 + 80 * named(page);
    },
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 15, 1: 5, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
  };
})();
