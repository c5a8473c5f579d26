// @ts-check
/** The models that can be chosen. */

import { h } from "./dom.js";
import { gameName, number } from "./format.js";

/**
 * @typedef {{
 *   id: string, game: string | null, board: string | null, recipe: string | null,
 *   trained: number | null, mean: number | null, kind: string,
 * }} ModelInfo
 */

/** The name of a model as people read it. @param {string} id */
export function modelName(id) {
  return id.startsWith("box:") ? "network in the program" : id;
}

/** The same in a sentence. @param {string} id */
export function theModel(id) {
  return id.startsWith("box:") ? `the ${modelName(id)}` : id;
}

/** How a model is called in a choice. @param {ModelInfo} model */
function named(model) {
  if (model.kind === "box") return modelName(model.id);
  return model.trained ? `${model.id} · ${number(model.trained)} games` : model.id;
}

/**
 * The choices of a game and board; the first is the model that answers if none is chosen.
 * @param {ModelInfo[]} models @param {string} game @param {string} [board] @returns {[string, string][]}
 */
export function modelChoices(models, game, board) {
  const fits = models.filter(
    (one) => !one.game || (one.game === game && (!board || one.board === board)),
  );
  const boxed = fits.find((one) => one.kind === "box");
  return [
    ["", boxed ? named(boxed) : "newest run"],
    ...fits
      .filter((one) => one !== boxed)
      .map((one) => /** @type {[string, string]} */ ([one.id, named(one)])),
  ];
}

/** The chosen model, unless it cannot play this. @param {[string, string][]} choices @param {string} id */
export function chosen(choices, id) {
  return choices.some(([one]) => one === id) ? id : "";
}

/** What to do where no model plays a game. @param {string} game @param {string} board */
export function noModel(game, board) {
  return h(
    "span",
    {},
    `There is no model of ${gameName(game)} on ${board} yet. `,
    h("a", { href: `/train?game=${game}&board=${board}`, "data-part": "train" }, "Train one"),
    ", or choose random or greedy.",
  );
}

/** Whether a model can search: baselines have no values, and those of a solution are exact. @param {ModelInfo[]} models @param {string} id */
export function canSearch(models, id) {
  const kind = models.find((one) => one.id === id)?.kind;
  return kind !== "baseline" && kind !== "solution";
}
