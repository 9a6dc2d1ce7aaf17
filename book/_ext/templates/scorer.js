// How Sphinx's search ranks pages, below the chapters that finder.js shows: pages before their
// sections and the entries of the glossary, and names of the package last.
var Scorer = {
  score: function (result) {
    var page = result[0].split("/").pop();
    if (page.startsWith("api-") || page === "genindex") return result[4] - 40;
    return result[2] ? Math.min(result[4], 40) : result[4] + 3;
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
