/** The messages of a moment that is over: they are what they are, with the buttons of their code, long texts and pictures. */

import "../pages/message/pictures.js";
import { addCodeButtons } from "../pages/message/code-blocks.js";
import { addTextButtons } from "../pages/message/long-texts.js";

addCodeButtons(document);
addTextButtons(document);
