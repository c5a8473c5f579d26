// @ts-check
/** The form of a lesson. */

import { choice, fill, h } from "./dom.js";
import { gameName } from "./format.js";

/** The options that a lesson begins with. */
export const USUAL = {
  game: "2048",
  board: "2x3",
  tuples: "lines",
  value: "afterstate",
  rule: "td",
  backward: false,
  lambda: 0,
  learning_rate: 0.1,
  games: 100,
  seed: 1,
};

const BOARDS = ["2x2", "2x3", "3x3", "3x4", "4x4"];

/** The most games that the server learns before. @param {string} board */
function mostGames(board) {
  const [rows, cols] = board.split("x").map(Number);
  return rows * cols <= 9 ? 20_000 : 5_000;
}

/**
 * Shows the fields; a field that was in use stays so.
 * @param {Element} form
 * @param {any[]} games
 * @param {Record<string, any>} options
 * @param {() => void} changed after the options have changed
 * @param {(text: string) => void} refused with the reason
 */
export function showFields(form, games, options, changed, refused) {
  const change = (/** @type {string} */ name, /** @type {any} */ wanted) => {
    options[name] = wanted;
    if (name === "backward" && !wanted) options.lambda = 0;
    if (name === "rule") options.learning_rate = wanted === "tc" ? 1 : 0.1;
    if (name === "board") options.games = Math.min(options.games, mostGames(wanted));
    showFields(form, games, options, changed, refused);
    changed();
  };
  const numeric = (
    /** @type {string} */ label,
    /** @type {string} */ name,
    /** @type {Record<string, string>} */ limits,
  ) => {
    const input = h("input", {
      type: "number",
      required: true,
      value: options[name],
      ...limits,
      onchange: () =>
        input.checkValidity()
          ? change(name, Number(input.value))
          : refused(`${label}: ${input.validationMessage}`),
    });
    return h("label", { class: "field" }, label, input);
  };
  const used = document.activeElement?.closest("label")?.firstChild?.textContent;
  fill(
    form,
    choice(
      "Game",
      games.map((one) => [one.name, gameName(one.name)]),
      options.game,
      (game) => change("game", game),
    ),
    choice(
      "Board",
      BOARDS.map((one) => [one, one.replace("x", " × ")]),
      options.board,
      (board) => change("board", board),
    ),
    choice(
      "Values of",
      [
        ["afterstate", "afterstates V(s′)"],
        ["state", "states V(s)"],
      ],
      options.value,
      (value) => change("value", value),
    ),
    choice(
      "Updates",
      [
        ["", "forward, while playing"],
        ["yes", "backward, from the end"],
      ],
      options.backward ? "yes" : "",
      (one) => change("backward", one === "yes"),
    ),
    options.backward && numeric("Lambda", "lambda", { min: "0", max: "1", step: "0.1" }),
    choice(
      "Steps of weights",
      [
        ["td", "TD: the same for all"],
        ["tc", "TC: by coherence"],
      ],
      options.rule,
      (rule) => change("rule", rule),
    ),
    numeric("Learning rate", "learning_rate", { min: "0.001", max: "10", step: "any" }),
    numeric("Games learned before", "games", { min: "0", max: String(mostGames(options.board)) }),
    numeric("Seed", "seed", { min: "0", max: "1000000000" }),
  );
  const again = [...form.querySelectorAll("label")].find(
    (label) => used && label.firstChild?.textContent === used,
  );
  /** @type {HTMLElement | null | undefined} */ (again?.querySelector("input, select"))?.focus();
}
