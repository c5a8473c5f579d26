// @ts-check
/** A board: tiles that slide, merge and appear, and cells that can be clicked. */

import { h } from "./dom.js";
import { meta } from "./api.js";

/** The indices of tiles by value, for their colours. @type {Map<string, Map<number, number>>} */
const INDEX = new Map();

/** Learns the tiles of all games. */
export async function loadTiles() {
  for (const game of (await meta()).games) {
    INDEX.set(
      game.name,
      new Map(
        game.tiles.map((/** @type {number} */ tile, /** @type {number} */ place) => [
          tile,
          place + 1,
        ]),
      ),
    );
  }
}

/** The class of a tile. @param {string} game @param {number} value */
export function tileClass(game, value) {
  return (
    "t" +
    Math.min(
      INDEX.get(game)?.get(value) ?? (value ? Math.max(1, Math.round(Math.log2(value))) : 0),
      32,
    )
  );
}

/** A small tile in a text. @param {string} game @param {number | string} value */
export function chip(game, value) {
  return h(
    "span",
    { class: "chip " + (typeof value === "number" ? tileClass(game, value) : "t14") },
    value,
  );
}

/** The size of the digits of a tile. @param {number} value @param {number} cols */
function size(value, cols) {
  const digits = String(value).length;
  return (
    ((digits <= 2 ? 10.5 : digits === 3 ? 8.3 : digits === 4 ? 6.6 : digits === 5 ? 5.4 : 4.6) *
      4) /
    cols
  );
}

export class BoardView {
  /** @param {{ small?: boolean, label?: string, heat?: boolean }} [options] */
  constructor(options = {}) {
    this.options = options;
    this.rows = 0;
    this.cols = 0;
    this.game = "2048";
    /** @type {number[]} */
    this.cells = [];
    this.field = h("div", { class: "field-of" });
    this.root = h(
      "div",
      {
        class: "board" + (options.small ? " small" : "") + (options.heat ? " heat" : ""),
        role: "img",
      },
      this.field,
    );
    /** @type {any[]} */
    this.slots = [];
    /** @type {Map<number, any>} */
    this.tiles = new Map();
    this.timer = 0;
    this.prefix = options.label ?? "Board";
  }

  /** @param {string} game @param {number} rows @param {number} cols */
  shape(game, rows, cols) {
    if (game === this.game && rows === this.rows && cols === this.cols) return;
    Object.assign(this, { game, rows, cols });
    this.root.style.setProperty("--rows", String(rows));
    this.root.style.setProperty("--cols", String(cols));
    this.field.replaceChildren();
    this.tiles.clear();
    this.cells = [];
    this.plain();
  }

  /** Cells that cannot be clicked. */
  plain() {
    this.slots.forEach((slot) => slot.remove());
    this.slots = [...Array(this.rows * this.cols).keys()].map((cell) =>
      this.place(h("div", { class: "slot" }), cell),
    );
    this.field.prepend(...this.slots);
    this.root.setAttribute("role", "img");
  }

  /**
   * Makes cells into buttons.
   * @param {number[]} cells @param {(cell: number, second: boolean) => void} chosen @param {(cell: number) => string} label
   */
  choose(cells, chosen, label) {
    this.plain();
    this.root.setAttribute("role", "group");
    for (const cell of cells) {
      let held = 0,
        wasHeld = false;
      const button = h("button", {
        type: "button",
        class: "slot",
        "aria-label": label(cell),
        onclick: () => {
          if (!wasHeld) chosen(cell, false);
          wasHeld = false;
        },
        oncontextmenu: (/** @type {Event} */ event) => {
          event.preventDefault();
          if (!wasHeld) chosen(cell, true);
        },
        onpointerdown: (/** @type {PointerEvent} */ event) => {
          wasHeld = false;
          if (event.pointerType !== "mouse")
            held = window.setTimeout(() => {
              wasHeld = true;
              chosen(cell, true);
            }, 450);
        },
        onpointerup: () => clearTimeout(held),
        onpointercancel: () => clearTimeout(held),
      });
      this.slots[cell].replaceWith(button);
      this.slots[cell] = this.place(button, cell);
    }
  }

  /** @param {any} element @param {number} cell */
  place(element, cell) {
    element.style.setProperty("--r", String(Math.floor(cell / this.cols)));
    element.style.setProperty("--c", String(cell % this.cols));
    return element;
  }

  /** @param {number} cell @param {number} value @param {string} [kind] */
  tile(cell, value, kind = "") {
    const face = h(
      "div",
      { class: "face " + tileClass(this.game, value), "--size": size(value, this.cols) },
      value,
    );
    const tile = this.place(h("div", { class: "tile " + kind, "aria-hidden": "true" }, face), cell);
    this.field.append(tile);
    return tile;
  }

  /** Shows a board at once. @param {number[]} cells */
  set(cells) {
    clearTimeout(this.timer);
    this.field.querySelectorAll(".tile").forEach((/** @type {Element} */ tile) => tile.remove());
    this.tiles.clear();
    this.cells = [...cells];
    cells.forEach((value, cell) => {
      if (value) this.tiles.set(cell, this.tile(cell, value));
    });
    this.describe();
  }

  /**
   * Moves tiles to where a slide puts them. What was moving before is shown at its end at once, so no
   * animation delays the next move.
   * @param {(number | null)[]} to @param {number[]} cells
   */
  slide(to, cells) {
    clearTimeout(this.timer);
    this.field.querySelectorAll(".going").forEach((/** @type {Element} */ tile) => tile.remove());
    /** @type {any[]} */
    const gone = [];
    const next = new Map();
    for (const [from, tile] of this.tiles) {
      const goal = to[from];
      if (goal === null || goal === undefined) continue;
      tile.classList.remove("new", "merged");
      this.place(tile, goal);
      if (cells[goal] !== this.cells[from] || next.has(goal)) {
        tile.classList.add("going");
        gone.push(tile);
        if (!next.has(goal)) next.set(goal, null);
      } else {
        next.set(goal, tile);
      }
    }
    this.tiles = new Map();
    for (const [goal, tile] of next)
      this.tiles.set(goal, tile ?? this.tile(goal, cells[goal], "merged"));
    this.cells = [...cells];
    this.timer = window.setTimeout(() => gone.forEach((tile) => tile.remove()), 100);
    this.describe();
  }

  /** Shows a new tile. @param {number} cell @param {number} value */
  spawn(cell, value) {
    this.tiles.get(cell)?.remove();
    this.tiles.set(cell, this.tile(cell, value, "new"));
    this.cells[cell] = value;
    this.describe();
  }

  /** Colours cells by numbers from -1 to 1, and writes texts on them. @param {number[]} shares @param {string[]} texts */
  heat(shares, texts) {
    this.field.querySelectorAll(".share").forEach((/** @type {Element} */ one) => one.remove());
    this.slots.forEach((slot, cell) => {
      slot.style.setProperty("--heat", String(Math.abs(shares[cell] ?? 0)));
      slot.classList.toggle("minus", shares[cell] < 0);
      slot.append(h("span", { class: "share", "aria-hidden": "true" }, texts[cell]));
    });
  }

  /** Marks cells, numbered in this order. @param {number[]} cells */
  rings(cells) {
    this.field.querySelectorAll(".ring").forEach((/** @type {Element} */ one) => one.remove());
    this.field.append(
      ...cells.map((cell, place) =>
        this.place(
          h(
            "div",
            { class: "slot ring", "aria-hidden": "true" },
            h("span", { class: "mark" }, place + 1),
          ),
          cell,
        ),
      ),
    );
  }

  describe() {
    const rows = [];
    for (let row = 0; row < this.rows; row++) {
      const values = this.cells.slice(row * this.cols, (row + 1) * this.cols);
      rows.push(`row ${row + 1}: ${values.map((value) => value || "empty").join(", ")}`);
    }
    this.root.setAttribute("aria-label", `${this.prefix}. ${rows.join("; ")}`);
  }
}

/** A board that does not move. @param {string} game @param {number} rows @param {number} cols @param {number[]} cells @param {string} [label] */
export function picture(game, rows, cols, cells, label) {
  const view = new BoardView({ small: true, label });
  view.shape(game, rows, cols);
  view.set(cells);
  return view.root;
}
