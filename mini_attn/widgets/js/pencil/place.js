// Where a page takes the answer to an exercise: it stands in the place of the notebook's cells.
export function takePlace(root, frame) {
  const data = JSON.parse(root.querySelector("script").textContent);
  const live = document.createElement("div");
  live.className = "living-live";
  live.innerHTML = frame(data);
  root.append(live);
  root.classList.add("living"); // the look of the pictures
  root.hidden = false;
  for (const cell of document.querySelectorAll(`.exercise-cell-${data.id}`)) cell.classList.add("pencil-cell");
  return { data, live, key: `${data.page}/${data.id}` };
}
