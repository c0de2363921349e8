// A page of the documentation: light or dark as it was chosen in the console.

import { applyTheme } from "./lib/theme.js";

applyTheme();
