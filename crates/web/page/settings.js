// @ts-check
/** The settings of Play: game, board, model, search, new tiles, speed. */

import { choice, fill, h, keep } from "./dom.js";
import { gameName } from "./format.js";
import { SPEEDS } from "./keys.js";
import { chosen, modelChoices } from "./models.js";

/** Draws the settings, if they have changed. @param {any} page the part whose settings they are */
export function drawSettings(page) {
  const { game } = page;
  const key = [
    game.game,
    game.board,
    page.model,
    page.search,
    page.spawns,
    page.speed,
    page.models.length,
  ].join("|");
  if (key === page.drawn) return;
  page.drawn = key;
  const sides = [2, 3, 4, 5].flatMap((rows) => [2, 3, 4, 5].map((cols) => `${rows}x${cols}`));
  const models = modelChoices(page.models, game.game, game.board);
  const change = (/** @type {string} */ name, /** @type {any} */ wanted) => {
    /** @type {any} */ (page)[name] = wanted;
    keep(`play.${name}`, wanted);
    page.draw();
  };
  fill(
    page.settings,
    h(
      "div",
      { class: "two" },
      choice(
        "Game",
        page.games.map((/** @type {any} */ one) => [one.name, gameName(one.name)]),
        game.game,
        (name) => page.begin({ game: name, board: game.board, manual: page.spawns === "manual" }),
      ),
      choice(
        "Board",
        sides.map((side) => [side, side.replace("x", " × ")]),
        game.board,
        (board) => page.begin({ game: game.game, board, manual: page.spawns === "manual" }),
      ),
      choice("Model", models, chosen(models, page.model), (id) => change("model", id)),
      choice(
        "Search",
        ["1ply", "2ply", "3ply", "4ply", "5ply", "6ply", "100ms", "500ms", "2000ms"].map((one) => [
          one,
          one.replace("ply", "-ply").replace("ms", " ms a move"),
        ]),
        page.search,
        (one) => change("search", one),
      ),
      choice(
        "New tiles",
        [
          ["random", "by chance"],
          ["manual", "by hand"],
          ["worst", "the worst"],
          ["best", "the best"],
        ],
        page.spawns,
        (one) => {
          change("spawns", one);
          page.settle();
        },
      ),
      choice(
        "Autoplay",
        SPEEDS.map((speed, place) => [
          String(place),
          speed ? `${speed} a second` : "as fast as it goes",
        ]),
        String(page.speed),
        (one) => change("speed", Number(one)),
      ),
    ),
  );
}
