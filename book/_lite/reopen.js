// A reload brings the learner back to the notebook: the application takes it out of the address
// once it is open, and would come up with an empty desk. Each tab keeps its own.
(function () {
  const address = new URL(location.href);
  const given = address.searchParams.get("path");
  try {
    const kept = sessionStorage.getItem("living:notebook");
    if (given) sessionStorage.setItem("living:notebook", given);
    else if (kept) {
      address.searchParams.set("path", kept);
      history.replaceState(null, "", address);
    }
  } catch {
    // A browser that keeps nothing: as it was.
  }
})();
