// Prepares a page for paper: what can only be clicked is moved to the end of the chapter.
() => {
  const article = document.querySelector("article");
  const end = document.createElement("section");
  const add = (title) => {
    const heading = document.createElement("h2");
    heading.textContent = title;
    end.append(heading);
  };

  const predictions = [...article.querySelectorAll(".living[data-widget=prediction] .living-picture")];
  predictions.forEach((box, index) => {
    const kicker = box.querySelector(".predict-kicker");
    if (kicker) kicker.textContent = `Predict (${index + 1})`;
    const answer = box.querySelector("details");
    if (!answer) return;
    if (index === 0) add("Answers to the predictions");
    const line = document.createElement("p");
    line.innerHTML = `<b>${index + 1}.</b> ${answer.querySelector("p").innerHTML}`;
    end.append(line);
    answer.remove();
  });

  const boxes = [...article.querySelectorAll(".exercise-boxes")];
  boxes.forEach((box, index) => {
    if (index === 0) add("Hints and solutions of the exercises");
    const title = box.closest("section")?.querySelector("h2, h3")?.firstChild?.textContent;
    const heading = document.createElement("h3");
    heading.textContent = title ?? "";
    end.append(heading, box);
    box.style.display = "block";
  });

  for (const details of [...article.querySelectorAll("details:not(.cell-fold)"), ...end.querySelectorAll("details")]) details.open = true;
  article.append(end);
}
