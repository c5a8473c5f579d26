// @ts-check
/** The values of all four moves, beside the board. */

import { fill, h } from "./dom.js";
import { ARROWS, value as shortValue } from "./format.js";
import { DIRECTIONS } from "./keys.js";

/** Lists the values that the model gives. @param {any} page the part that shows them */
export function listValues(page) {
  const moves = page.analysis?.moves;
  if (!page.values) return;
  const totals =
    moves
      ?.map((/** @type {any} */ move) => move.total)
      .filter((/** @type {any} */ one) => one !== null) ?? [];
  const most = Math.max(...totals, 1e-9),
    least = Math.min(...totals, most * 0.9);
  fill(
    page.list,
    DIRECTIONS.map((direction, place) => {
      const move = moves?.[place];
      const isLegal = page.game.slides[place] !== null && page.game.turn === "slide";
      const share =
        move?.total === null || !move
          ? 0
          : most === least
            ? 1
            : 0.12 + (0.88 * (move.total - least)) / (most - least);
      const isBest = page.analysis?.best === direction;
      return h(
        "div",
        { class: `value${isBest ? " is-best" : ""}${isLegal ? "" : " illegal"}` },
        h("span", {}, `${ARROWS[direction]} ${direction}`),
        h("span", { class: "bar", "aria-hidden": "true" }, h("i", { "--share": share })),
        h(
          "span",
          {},
          page.game.turn !== "slide"
            ? "–"
            : !isLegal
              ? "illegal"
              : !move
                ? "…"
                : isBest
                  ? shortValue(move.total ?? 0)
                  : `${shortValue(move.total ?? 0)}  (−${shortValue(move.loss ?? 0)})`,
        ),
      );
    }),
  );
}
