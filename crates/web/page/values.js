// @ts-check
/** The values of all four moves, beside the board. */

import { fill, h } from "./dom.js";
import { ARROWS, value as shortValue } from "./format.js";
import { DIRECTIONS } from "./keys.js";

/**
 * Lists the values that the model gives.
 * @param {Element} list @param {import("./session.js").Game} game
 * @param {import("./advice.js").Analysis | null} analysis
 */
export function listValues(list, game, analysis) {
  const moves = analysis?.moves;
  const totals = (moves ?? []).flatMap((move) => (move.total === null ? [] : [move.total]));
  const most = Math.max(...totals, 1e-9),
    least = Math.min(...totals, most * 0.9);
  const share = (/** @type {number} */ total) =>
    most === least ? 1 : 0.12 + (0.88 * (total - least)) / (most - least);
  fill(
    list,
    DIRECTIONS.map((direction, place) => {
      const move = moves?.[place];
      const isLegal = game.slides[place] !== null && game.turn === "slide";
      const isBest = analysis?.best === direction;
      const loss = isBest || !move?.loss ? "" : `  (−${shortValue(move.loss)})`;
      const text = !move ? "…" : move.total === null ? "–" : shortValue(move.total) + loss;
      return h(
        "div",
        { class: `value${isBest ? " is-best" : ""}${isLegal ? "" : " illegal"}` },
        h("span", {}, `${ARROWS[direction]} ${direction}`),
        h(
          "span",
          { class: "bar", "aria-hidden": "true" },
          h("i", { "--share": move && move.total !== null ? share(move.total) : 0 }),
        ),
        h("span", {}, game.turn !== "slide" ? "–" : isLegal ? text : "illegal"),
      );
    }),
  );
}
