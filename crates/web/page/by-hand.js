// @ts-check
/** New tiles by hand: a palette of tiles and hints, and cells that can be clicked. */

import { fill, h } from "./dom.js";
import { chip } from "./board.js";
import { cellName } from "./format.js";

/** Offers the cells that wait for a tile. @param {any} page the part whose board has them */
export function byHand(page) {
  const { game } = page;
  const isDue = game.turn === "spawn";
  page.palette.hidden = !isDue;
  if (!isDue) {
    if (page.view.root.getAttribute("role") === "group") page.view.plain();
    return;
  }
  const tiles = [...new Set(game.spawns.map((/** @type {any} */ one) => one.tile))].sort(
    (a, b) => a - b,
  );
  const hints = [...new Set(game.spawns.map((/** @type {any} */ one) => one.hint).filter(Boolean))];
  if (!tiles.includes(page.hand.tile)) page.hand.tile = tiles[0];
  if (!hints.includes(page.hand.hint)) page.hand.hint = hints[0] ?? "";
  const second = tiles.find((tile) => tile !== tiles[0]) ?? tiles[0];
  const tile = (/** @type {number} */ one) => {
    const button = chip(game.game, one);
    return h(
      "button",
      {
        type: "button",
        class: button.className,
        "aria-pressed": String(one === page.hand.tile),
        onclick: () => {
          page.hand.tile = one;
          byHand(page);
        },
      },
      one,
    );
  };
  fill(
    page.palette,
    h("span", { class: "small muted" }, "New tile:"),
    tiles.map(tile),
    hints.length > 0 && h("span", { class: "small muted" }, "then shown:"),
    hints.map((hint) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(hint === page.hand.hint),
          onclick: () => {
            page.hand.hint = hint;
            byHand(page);
          },
        },
        hint,
      ),
    ),
    h(
      "span",
      { class: "small muted" },
      `click a cell${tiles.length > 1 ? `; right click or hold for ${second}` : ""}`,
    ),
  );
  const cells = [...new Set(game.spawns.map((/** @type {any} */ one) => one.cell))];
  page.view.choose(
    cells,
    (/** @type {number} */ cell, /** @type {boolean} */ isSecond) => {
      const chosen = isSecond ? second : page.hand.tile;
      page.act("/spawn", { cell, tile: chosen, hint: page.hand.hint || undefined });
    },
    (/** @type {number} */ cell) => `new ${page.hand.tile} at ${cellName(cell, game.cols)}`,
  );
}
