// The page *Your model*: a classic script of its own, right behind the place that it fills.
import { mount } from "./your_model/index.js";

mount(document.getElementById("your-model"));
