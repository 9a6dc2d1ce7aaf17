// The pictures of all pages and those with a trained decoder, where one file holds them together.
import { put } from "./bits_dial/compute.js";
import head from "./data/bits_dial.json" with { type: "json" };
import homeModel from "./home_model/index.js";
import insideModel from "./inside_model/index.js";
import registry from "rooms";

put(head);
export default { ...registry, [homeModel.name]: homeModel, [insideModel.name]: insideModel };
