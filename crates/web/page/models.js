// @ts-check
/** The models that can be chosen. */

import { h } from "./dom.js";
import { gameName, number } from "./format.js";

/** How a model is called. @param {any} model */
function named(model) {
  if (model.kind === "box") return "network in the program";
  return model.trained ? `${model.id} · ${number(model.trained)} games` : model.id;
}

/**
 * The choices of a game and board; the first is the model that answers if none is chosen.
 * @param {any[]} models @param {string} game @param {string} [board] @returns {[string, string][]}
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
    "p",
    {},
    `There is no model of ${gameName(game)} on ${board} yet. `,
    h("a", { href: `/train?game=${game}&board=${board}`, "data-part": "train" }, "Train one"),
    ", or choose random or greedy.",
  );
}

/** Whether a model can search: baselines have no values, and those of a solution are exact. @param {any[]} models @param {string} id */
export function canSearch(models, id) {
  const kind = models.find((one) => one.id === id)?.kind;
  return kind !== "baseline" && kind !== "solution";
}
