// @ts-check
/** A board that is pasted in any notation, or edited cell by cell. */

import { fill, h } from "./dom.js";
import { post } from "./api.js";
import { tileClass } from "./board.js";
import { linked } from "./link.js";
import { go } from "./main.js";

/**
 * @typedef {{
 *   game: string, board: string, rows: number, cols: number, cells: number[], position: string,
 *   hint: string | null,
 * }} Position
 */

export class BoardInput {
  /** @param {{ game: () => string, read: (board: Position) => void, failed: () => void }} listener */
  constructor(listener) {
    this.listener = listener;
    /** @type {Position | null} */ this.board = null;
    /** @type {AbortController | null} */ this.reading = null;
    /** @type {any[]} */ this.inputs = [];
    this.shape = "";
    this.text = h("textarea", {
      id: "board-text",
      rows: 3,
      class: "mono",
      spellcheck: "false",
      "aria-label": "Board as text",
    });
    this.fault = h("div", { role: "alert", id: "fault" });
    this.cells = h("div", { class: "edit" });
    this.cellFault = h("div", { role: "alert", id: "cell-fault" });
    this.edit = h("div", { class: "stack tight", hidden: true }, this.cells, this.cellFault);
    this.button = h(
      "button",
      {
        type: "button",
        id: "edit-board",
        "aria-pressed": "false",
        onclick: () => this.toggle(),
      },
      "Edit",
    );
    this.card = h(
      "div",
      { class: "card stack tight" },
      h("label", { for: "board-text" }, "Board: rows, lists, drawings, 16 hex digits, or a link"),
      this.text,
      h(
        "div",
        { class: "row" },
        h(
          "button",
          {
            type: "button",
            class: "primary",
            id: "read-board",
            onclick: () => this.read(this.text.value),
          },
          "Read the board",
        ),
      ),
      this.fault,
    );
  }

  end() {
    this.reading?.abort();
  }

  /** Shows a board in both fields. @param {Position} board */
  show(board) {
    this.board = board;
    this.text.value = board.position;
    fill(this.fault);
    fill(this.cellFault);
    if (!this.edit.hidden) this.drawCells();
  }

  toggle() {
    this.edit.hidden = !this.edit.hidden;
    this.button.setAttribute("aria-pressed", String(!this.edit.hidden));
    if (!this.edit.hidden) this.drawCells();
  }

  /** Reads a board from text. @param {string} text @param {Element} [fault] where errors are shown */
  async read(text, fault = this.fault) {
    if (!text.trim()) {
      this.listener.failed();
      return;
    }
    this.reading?.abort();
    const reading = new AbortController();
    this.reading = reading;
    try {
      const link = linked(text.trim());
      if (link?.address) return go(link.address);
      const position = link?.board ?? text;
      const board = await post(
        "/position",
        { game: this.listener.game(), position },
        reading.signal,
      );
      this.show(board);
      this.listener.read(board);
    } catch (error) {
      if (reading.signal.aborted) return;
      fill(
        fault,
        h("p", { class: "error" }, error instanceof Error ? error.message : String(error)),
      );
      this.listener.failed();
    }
  }

  /** A field for each cell. They stay while the board changes, so that Tab goes from one to the next. */
  drawCells() {
    if (!this.board) return;
    const { game, rows, cols, cells } = this.board;
    const shape = `${rows}x${cols}`;
    if (this.shape !== shape) {
      this.shape = shape;
      this.inputs = cells.map((_, cell) =>
        h("input", {
          inputmode: "numeric",
          "aria-label": `row ${Math.floor(cell / cols) + 1}, column ${(cell % cols) + 1}`,
          // What is typed takes the place of the tile.
          onclick: (/** @type {any} */ event) => event.target.select(),
          onchange: () => this.readCells(),
        }),
      );
      this.cells.style.setProperty("--cols", String(cols));
      fill(this.cells, this.inputs);
    }
    cells.forEach((tile, cell) => {
      const input = this.inputs[cell];
      input.className = tileClass(game, tile);
      // What is being typed stays.
      if (input !== document.activeElement) input.value = tile || "";
    });
  }

  readCells() {
    if (!this.board) return;
    const { rows, cols, position } = this.board;
    const values = this.inputs.map((input) => input.value.trim() || "0");
    const lines = [...Array(rows).keys()].map((row) =>
      values.slice(row * cols, (row + 1) * cols).join(","),
    );
    const hint = position.match(/\+[^@]*/)?.[0] ?? "";
    this.read(lines.join("/") + hint, this.cellFault);
  }
}
