// The pages with a trained decoder: a classic script of their own, as the language and the
// decoder's code would be a burden to all others. The page's own script comes before this one and
// mounts its pictures too. The decoders themselves come at their first use.
import homeModel from "./home_model/index.js";
import insideModel from "./inside_model/index.js";

// Right behind the picture, which is painted alive, or where all is read.
const mount = () => livingMount({ [homeModel.name]: homeModel, [insideModel.name]: insideModel });
mount();
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mount);
