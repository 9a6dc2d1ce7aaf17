// The pictures of all pages and those with a trained decoder, where one file holds them together.
import insideModel from "./inside_model/index.js";
import registry from "./registry.js";

export default { ...registry, [insideModel.name]: insideModel };
