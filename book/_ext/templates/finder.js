// Chapters that are about what was asked, above what Sphinx finds. Runs behind its scripts.
(function (chapters) {
  "use strict";
  var asked = new URLSearchParams(location.search).get("q") || "";
  var LITTLE = ("a an the of in on at to for with and or is are be do does did can could should would i my me we " +
    "you it its that this what which who how why when where use get make from by as not vs versus explained " +
    "explain mean means work works about between").split(" ");
  var FEW = 4; // chapters that are shown
  var FIELDS = [["title", 3], ["about", 3], ["question", 1.5], ["more", 1]];
  var stemmer = new Stemmer();

  // Sphinx looks for pages with all words: words that say nothing must not be among them.
  stopwords.push.apply(stopwords, LITTLE);
  // Summaries begin with the text, and leave out what is not: pictures, exercises' boxes, controls.
  var plain = Search.htmlToText;
  Search.htmlToText = function (markup, anchor) {
    var page = new DOMParser().parseFromString(markup, "text/html");
    page.querySelectorAll(".living, .about-page, .exercise-boxes, .next-chapter, nav")
      .forEach(function (part) { part.remove(); });
    var article = page.querySelector("article");
    return plain("<div role='main'>" + (article ? article.innerHTML : "") + "</div>", anchor);
  };

  function wordsOf(text) {
    return text.toLowerCase().split(/[^a-z0-9]+/).filter(function (word) {
      return word && !LITTLE.includes(word);
    }).map(function (word) { return stemmer.stemWord(word); });
  }

  // What each chapter gives for a word: the most of the fields that have it.
  var worth = chapters.map(function (chapter) {
    var found = {};
    FIELDS.forEach(function (field) {
      [].concat(chapter[field[0]]).forEach(function (text) {
        wordsOf(text).forEach(function (word) { found[word] = Math.max(found[word] || 0, field[1]); });
      });
    });
    return found;
  });

  // A word, or for one that is not known a longer form of it, for less.
  function gives(found, word) {
    if (found[word] || word.length < 4) return found[word] || 0;
    return Object.keys(found).reduce(function (most, other) {
      return other.startsWith(word) ? Math.max(most, found[other] / 2) : most;
    }, 0);
  }

  // Rare words say more; a phrase of a chapter that is asked for whole says most.
  function rank(words) {
    var rare = words.map(function (word) {
      var having = worth.filter(function (found) { return gives(found, word); }).length;
      return having ? Math.log(1 + chapters.length / having) : 0;
    });
    return chapters.map(function (chapter, n) {
      var score = words.reduce(function (sum, word, i) { return sum + gives(worth[n], word) * rare[i]; }, 0);
      var whole = [chapter.title].concat(chapter.about).map(function (phrase) {
        var parts = wordsOf(phrase);
        return parts.length && parts.every(function (part) { return words.includes(part); })
          ? parts.reduce(function (sum, part) { return sum + rare[words.indexOf(part)]; }, 0) : 0;
      });
      return { chapter: chapter, score: score + 3 * Math.max.apply(null, whole) };
    }).filter(function (found) { return found.score > 0; }).sort(function (a, b) { return b.score - a.score; });
  }

  function element(tag, name, text) {
    var made = document.createElement(tag);
    if (name) made.className = name;
    if (text) made.textContent = text;
    return made;
  }

  function show(found) {
    var box = element("section", "found-chapters"), list = element("ul");
    box.append(element("h2", "", "Chapters about this"), list);
    found.forEach(function (one) {
      var item = element("li"), link = element("a", "", one.chapter.title);
      link.href = one.chapter.page;
      item.append(link, " ", element("small", "", one.chapter.where), element("p", "", one.chapter.question));
      list.append(item);
    });
    document.getElementById("search-results").before(box);
  }

  var found = rank(wordsOf(asked));
  found = found.filter(function (one) { return one.score > found[0].score / 4; }).slice(0, FEW);
  if (found.length) addEventListener("DOMContentLoaded", function () { show(found); });
})(chapters);
