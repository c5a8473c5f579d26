// @ts-check
/** The settings of Play: game, board, model, search, new tiles, speed. */

import { choice, fill, h, keep, setting } from "./dom.js";
import { gameName } from "./format.js";
import { SPEEDS } from "./keys.js";
import { chosen, modelChoices } from "./models.js";

const SEARCHES = ["1ply", "2ply", "3ply", "4ply", "5ply", "6ply", "100ms", "500ms", "2000ms"];
const SPAWNS = /** @type {[string, string][]} */ ([
  ["random", "by chance"],
  ["manual", "by hand"],
  ["worst", "the worst"],
  ["best", "the best"],
]);

/** What this browser has kept, where it is one of these. @template T @param {string} key @param {T[]} all @param {T} usual @returns {T} */
function one(key, all, usual) {
  const kept = setting(key, usual);
  return all.includes(kept) ? kept : usual;
}

/** The settings as this browser has kept them. */
export class PlaySettings {
  constructor() {
    const model = setting("play.model", "");
    this.model = typeof model === "string" ? model : "";
    this.search = one("play.search", SEARCHES, "1ply");
    this.spawns = one(
      "play.spawns",
      SPAWNS.map(([name]) => name),
      "random",
    );
    this.speed = one("play.speed", [...SPEEDS.keys()], 2);
    this.values = setting("play.values", /** @type {any} */ (false)) === true;
  }
}

/** The card with the settings. */
export class SettingsCard {
  /** @param {import("./play.js").Play} play the part whose settings they are */
  constructor(play) {
    this.play = play;
    this.drawn = "";
    this.root = h("div", { class: "card stack" });
  }

  /** Draws them, if they have changed. */
  draw() {
    const { settings, session, models, games } = this.play;
    const { game } = session;
    if (!game) return;
    const { model, search, spawns, speed } = settings;
    const key = [game.game, game.board, model, search, spawns, speed, models.length].join("|");
    if (key === this.drawn) return;
    this.drawn = key;
    const sides = [2, 3, 4, 5].flatMap((rows) => [2, 3, 4, 5].map((cols) => `${rows}x${cols}`));
    const all = modelChoices(models, game.game, game.board);
    const change =
      (/** @type {"model" | "search" | "spawns"} */ name) => (/** @type {string} */ wanted) =>
        this.play.change(name, wanted);
    fill(
      this.root,
      h(
        "div",
        { class: "two" },
        choice(
          "Game",
          games.map((one_) => [one_.name, gameName(one_.name)]),
          game.game,
          (name) => this.play.begin(name, game.board),
        ),
        choice(
          "Board",
          sides.map((side) => [side, side.replace("x", " × ")]),
          game.board,
          (board) => this.play.begin(game.game, board),
        ),
        choice("Model", all, chosen(all, model), change("model")),
        choice(
          "Search",
          SEARCHES.map((name) => [name, name.replace("ply", "-ply").replace("ms", " ms a move")]),
          search,
          change("search"),
        ),
        choice("New tiles", SPAWNS, spawns, change("spawns")),
        choice(
          "Autoplay",
          SPEEDS.map((moves, place) => [
            String(place),
            moves ? `${moves} a second` : "as fast as it goes",
          ]),
          String(speed),
          (place) => this.play.change("speed", Number(place)),
        ),
      ),
    );
  }

  /** A change that the keys have made. @param {string} name @param {string | number} value */
  keep(name, value) {
    keep(`play.${name}`, value);
    this.draw();
  }
}
