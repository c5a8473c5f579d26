// @ts-check
/**
 * New tiles by hand: a palette of tiles and hints, and cells that can be clicked.
 *
 * In games that show the next tile, each tile has the next one as its hint. The tiles of the beginning are
 * kept here until all of them are known: then each is sent with the one after it, and a person who copies a
 * board need not think one tile ahead.
 */

import { fill, h } from "./dom.js";
import { chip } from "./board.js";
import { cellName } from "./format.js";

/** The tiles with which these games begin. */
const FIRST = [1, 2, 3];

export class ByHand {
  /** @param {import("./play.js").Play} play the part whose board has the cells */
  constructor(play) {
    this.play = play;
    this.root = h("div", { class: "row", id: "palette", hidden: true });
    this.tile = 0;
    this.hint = "";
    /** Tiles of the beginning that are not sent yet. @type {{ cell: number, tile: number }[]} */
    this.first = [];
    this.of = "";
    this.sending = false;
  }

  /** Whether the tiles of the beginning are kept here first. @param {import("./session.js").Game} game */
  keeps(game) {
    return game.initial > 1 && game.spawns.some((one) => one.hint);
  }

  /** Offers the cells that wait for a tile. */
  draw() {
    const { session, view } = this.play;
    const game = /** @type {import("./session.js").Game} */ (session.game);
    const isDue = game.turn === "spawn" && !this.sending;
    this.root.hidden = !isDue;
    if (!isDue) {
      if (view.root.getAttribute("role") === "group") view.plain();
      return;
    }
    if (this.of !== game.id || !this.keeps(game)) this.first = [];
    this.of = game.id;
    const isFirst = this.keeps(game);
    const left = game.initial - this.first.length;
    const unique = (/** @type {any[]} */ all) => [...new Set(all)];
    /** @type {number[]} */
    const tiles = isFirst
      ? FIRST
      : unique(game.spawns.map((one) => one.tile)).sort((a, b) => a - b);
    /** @type {string[]} */
    const hints = !isFirst
      ? unique(game.spawns.map((one) => one.hint).filter(Boolean))
      : left === 1
        ? FIRST.map(String)
        : [];
    if (!tiles.includes(this.tile)) this.tile = tiles[0];
    if (!hints.includes(this.hint)) this.hint = hints[0] ?? "";
    const second = tiles.find((tile) => tile !== tiles[0]) ?? tiles[0];
    this.palette(game, tiles, hints, isFirst ? left : 0, second);
    const taken = this.first.map(({ cell }) => cell);
    const cells = unique(game.spawns.map((one) => one.cell)).filter((one) => !taken.includes(one));
    const hadFocus = view.root.contains(document.activeElement);
    view.choose(
      cells,
      (cell, isSecond) => this.chosen(game, cell, isSecond ? second : this.tile, left),
      (cell) => `new ${this.tile} at ${cellName(cell, game.cols)}`,
    );
    if (hadFocus) view.root.querySelector("button.slot")?.focus();
  }

  /**
   * @param {import("./session.js").Game} game @param {number[]} tiles @param {string[]} hints
   * @param {number} left @param {number} second
   */
  palette(game, tiles, hints, left, second) {
    const button = (
      /** @type {string | number} */ text,
      /** @type {boolean} */ isPressed,
      /** @type {string | undefined} */ look,
      /** @type {() => void} */ act,
    ) =>
      h(
        "button",
        { type: "button", class: look, "aria-pressed": String(isPressed), onclick: act },
        text,
      );
    const click = `click a cell${tiles.length > 1 ? `; right click or hold for ${second}` : ""}`;
    fill(
      this.root,
      h("span", { class: "small muted" }, left ? `New tile (${left} to place):` : "New tile:"),
      tiles.map((one) =>
        button(one, one === this.tile, chip(game.game, one).className, () => {
          this.tile = one;
          this.draw();
        }),
      ),
      hints.length > 0 && h("span", { class: "small muted" }, "next tile that is shown then:"),
      hints.map((hint) =>
        button(hint, hint === this.hint, undefined, () => {
          this.hint = hint;
          this.draw();
        }),
      ),
      h("span", { class: "small muted" }, click),
    );
  }

  /** @param {import("./session.js").Game} game @param {number} cell @param {number} tile @param {number} left */
  chosen(game, cell, tile, left) {
    const { session, view } = this.play;
    if (!this.keeps(game)) {
      session.act("/spawn", { cell, tile, hint: this.hint || undefined });
      return;
    }
    this.first.push({ cell, tile });
    view.spawn(cell, tile);
    if (left > 1) this.draw();
    else this.send();
  }

  /** Sends the tiles of the beginning, each with the next one as its hint. */
  async send() {
    const { session, view } = this.play;
    const all = this.first;
    this.first = [];
    this.sending = true;
    for (const [place, { cell, tile }] of all.entries()) {
      const hint = all[place + 1] ? String(all[place + 1].tile) : this.hint;
      if (!(await session.act("/spawn", { cell, tile, hint: hint || undefined }, false))) break;
    }
    this.sending = false;
    if (session.ended || !session.game) return;
    view.set(session.game.cells);
    this.draw();
  }

  /** Takes back a tile of the beginning that is not sent yet; false if there is none. */
  undo() {
    if (this.first.length === 0 || !this.play.session.game) return false;
    this.first.pop();
    const cells = [...this.play.session.game.cells];
    for (const { cell, tile } of this.first) cells[cell] = tile;
    this.play.view.set(cells);
    this.draw();
    return true;
  }
}
