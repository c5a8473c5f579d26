// @ts-check
/** The values of all moves on a board, as a table with the best line. */

import { h } from "./dom.js";
import { theModel } from "./models.js";
import { ARROWS, number, percent, value as shortValue } from "./format.js";
import { scrolled } from "./table.js";

/** @param {import("./advice.js").Analysis} analysis */
export function everyMove(analysis) {
  const chances = analysis.moves.find((move) => move.chances)?.chances;
  const row = (/** @type {import("./advice.js").Move} */ move) =>
    h(
      "tr",
      { class: move.direction === analysis.best ? "is-best" : undefined },
      h("td", {}, `${ARROWS[move.direction]} ${move.direction}`),
      move.legal
        ? [
            h("td", {}, move.grade && h("span", { class: `tag ${move.grade}` }, move.grade)),
            h("td", { class: "n" }, number(move.reward)),
            h("td", { class: "n" }, move.value === null ? "–" : shortValue(move.value)),
            h(
              "td",
              { class: "n" },
              h("strong", {}, move.total === null ? "–" : shortValue(move.total)),
            ),
            h("td", { class: "n" }, move.loss === null ? "–" : shortValue(move.loss)),
            chances &&
              (move.chances ?? []).map((/** @type {any} */ one) =>
                h(
                  "td",
                  { class: "n" },
                  percent(one.p),
                  h(
                    "small",
                    { class: "muted block" },
                    `${percent(one.ci95[0], 0)} to ${percent(one.ci95[1], 0)}`,
                  ),
                ),
              ),
          ]
        : h(
            "td",
            { class: "muted", colspan: String(5 + (chances?.length ?? 0)) },
            "illegal: nothing would move",
          ),
    );
  const best = analysis.moves.find((move) => move.direction === analysis.best);
  return [
    analysis.best === null && h("p", { class: "note" }, "The game is over: no move is legal."),
    scrolled(
      "Values of all moves",
      h(
        "table",
        { class: "data", id: "moves-table" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, "Move"),
            h("th", {}, "Grade"),
            h("th", { class: "n" }, "Reward"),
            h("th", { class: "n" }, "Value"),
            h("th", { class: "n" }, "Total"),
            h("th", { class: "n" }, "Loss"),
            chances?.map((/** @type {any} */ one) => h("th", { class: "n" }, `P(${one.tile})`)),
          ),
        ),
        h("tbody", {}, analysis.moves.map(row)),
      ),
    ),
    best?.line &&
      h(
        "p",
        {},
        h("span", { class: "muted small" }, "Best line, by 1ply: "),
        best.line.flatMap((/** @type {any} */ one) => [
          `${ARROWS[one.direction]} `,
          one.spawn &&
            h("span", { class: "small muted" }, `${one.spawn.tile} at ${one.spawn.cell}  `),
        ]),
      ),
    h(
      "p",
      { class: "small muted" },
      "Value: what the model expects from the rest of the game. Total: reward plus value, which the best move maximises. Loss: how much less than the best.",
      chances && " P: the share of games that reached the tile, with its 95% interval.",
    ),
    analysis.model &&
      h(
        "p",
        { class: "small muted" },
        `By ${theModel(analysis.model.path)}${analysis.model.trained ? `, ${number(analysis.model.trained)} games of training` : ""}.`,
      ),
  ];
}
