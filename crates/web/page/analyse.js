// @ts-check
/** Analyse: a board that is edited or pasted, the value of each move, and reviews of whole games. */

import { choice, fill, h, keep, setting } from "./dom.js";
import { get, meta, post, Problem } from "./api.js";
import { BoardView, tileClass } from "./board.js";
import { everyMove } from "./every-move.js";
import { gameName } from "./format.js";
import { linked, packed, unpacked } from "./link.js";
import { go } from "./main.js";
import { chosen, modelChoices, noModel } from "./models.js";
import { Review } from "./review.js";

const START = "0,2,4,8/16,0,2,64/4,32,256,128/2,8,64,1024";

/** @param {Element} root @param {URLSearchParams} query */
export function show(root, query) {
  const page = new Analyse(root, query);
  page.start();
  return () => page.end();
}

export class Analyse {
  /** @param {Element} root @param {URLSearchParams} query */
  constructor(root, query) {
    this.root = root;
    this.query = query;
    this.game = query.get("game") ?? "2048";
    this.text = query.get("position") ?? "";
    this.model = query.get("model") ?? setting("play.model", "");
    this.depth = setting("analyse.depth", "4");
    this.view = new BoardView({ label: "Board to analyse" });
    /** @type {any} */ this.board = null;
    /** @type {any} */ this.found = null;
    /** @type {AbortController | null} */ this.asking = null;
    /** @type {any[]} */ this.models = [];
    /** @type {any[]} */ this.games = [];
    this.ended = false;
    /** What stands behind the address: a record in a link. */ this.hash = location.hash;
    this.noting = 0;
    this.edited = false;
    /** Answers that are hidden while a better move is looked for. */
    this.hidden = false;
    this.build();
  }

  build() {
    this.fault = h("div", { role: "alert", id: "fault" });
    this.answer = h("div", { class: "stack", id: "answer", "aria-live": "off" });
    this.input = h("textarea", {
      id: "board-text",
      rows: 3,
      class: "mono",
      spellcheck: "false",
      "aria-label": "Board as text",
    });
    this.edit = h("div", { class: "edit", hidden: true });
    this.choices = h("div", { class: "two" });
    this.reviewBox = h("div", { class: "stack" });
    this.status = h("span", { class: "muted small", id: "searched" });
    const file = h("input", {
      type: "file",
      class: "unseen",
      id: "records-file",
      accept: ".txt,.log,.rec,text/plain",
      onchange: () => file.files[0] && this.open(file.files[0]),
    });
    const drop = h(
      "label",
      { class: "drop", for: "records-file" },
      h("strong", {}, "Open a recorded game"),
      h("br", {}),
      h(
        "span",
        { class: "small muted" },
        "drop a file of records or a 2048verse replay here, or choose one",
      ),
    );
    drop.addEventListener("dragover", (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      drop.classList.remove("over");
      const one = event.dataTransfer?.files[0];
      if (one) this.open(one);
    });
    this.pasted = h("textarea", {
      rows: 2,
      class: "mono",
      id: "records-text",
      spellcheck: "false",
      "aria-label": "Records as text",
    });
    const left = h(
      "div",
      { class: "stack" },
      h("h1", { class: "unseen" }, "Analyse"),
      this.view.root,
      (this.under = h("div", { class: "under" })),
      h(
        "div",
        { class: "row" },
        h(
          "button",
          {
            type: "button",
            id: "edit-board",
            "aria-pressed": "false",
            onclick: () => this.toggleEdit(),
          },
          "Edit",
        ),
        h("button", { type: "button", onclick: () => this.playOn() }, "Play on"),
        h("button", { type: "button", onclick: () => this.inside() }, "Look inside"),
        h("button", { type: "button", onclick: () => this.link() }, "Copy a link"),
      ),
      this.edit,
    );
    const below = h(
      "div",
      { class: "stack below" },
      h(
        "div",
        { class: "card stack tight" },
        h("label", { for: "board-text" }, "Board: rows, lists, drawings, 16 hex digits, or a link"),
        this.input,
        h(
          "div",
          { class: "row" },
          h(
            "button",
            {
              type: "button",
              class: "primary",
              id: "read-board",
              onclick: () => this.read(this.input.value),
            },
            "Read the board",
          ),
        ),
        this.fault,
      ),
      h("div", { class: "card" }, this.choices),
    );
    const right = h(
      "div",
      { class: "stack" },
      h(
        "div",
        { class: "card stack" },
        h("div", { class: "row spread" }, h("h2", {}, "Every move"), this.status),
        this.answer,
      ),
      this.reviewBox,
      h(
        "div",
        { class: "card stack tight" },
        h("h2", {}, "A whole game"),
        file,
        drop,
        h(
          "details",
          {},
          h("summary", {}, "or paste records"),
          this.pasted,
          h(
            "button",
            { type: "button", id: "review-text", onclick: () => this.review(this.pasted.value) },
            "Review",
          ),
        ),
        (this.reviewFault = h("div", { role: "alert" })),
      ),
    );
    fill(this.root, h("div", { class: "wide three" }, left, right, below));
  }

  async start() {
    const [about, models] = await Promise.all([meta(), get("/models").catch(() => [])]);
    if (this.ended) return;
    this.games = about.games;
    this.models = models;
    let record = this.query.get("review") === "kept" ? setting("review", "") : "";
    try {
      record = (await unpacked(this.hash)) || record;
    } catch (error) {
      fill(this.reviewFault, h("p", { class: "error" }, said(error)));
    }
    if (this.ended) return;
    if (record) {
      this.settings();
      this.review(record, Number(this.query.get("step")) || 0);
    } else {
      this.read(this.text || START);
    }
  }

  end() {
    this.ended = true;
    clearTimeout(this.noting);
    this.asking?.abort();
    this.game_?.end();
  }

  settings() {
    const models = modelChoices(this.models, this.game, this.board?.board);
    fill(
      this.choices,
      choice(
        "Game",
        this.games.map((one) => [one.name, gameName(one.name)]),
        this.game,
        (name) => {
          this.game = name;
          this.read(this.input.value);
          this.settings();
        },
      ),
      choice("Model", models, chosen(models, this.model), (id) => {
        this.model = id;
        this.ask();
        this.game_?.again();
      }),
      choice(
        "Search up to",
        [
          ...["1", "2", "3", "4", "5", "6"].map(
            (one) => /** @type {[string, string]} */ ([one, `${one}-ply`]),
          ),
          ["500ms", "500 ms"],
          ["2000ms", "2 s"],
          ["10000ms", "10 s"],
        ],
        this.depth,
        (depth) => {
          this.depth = depth;
          keep("analyse.depth", depth);
          this.ask();
        },
      ),
      choice(
        "Chances by playing on",
        [
          ["0", "no"],
          ["50", "50 games a move"],
          ["200", "200 games a move"],
          ["1000", "1,000 games a move"],
        ],
        String(setting("analyse.rollouts", "0")),
        (games) => {
          keep("analyse.rollouts", games);
          this.ask();
        },
      ),
    );
  }

  /** Reads a board from text. @param {string} text */
  async read(text) {
    if (!text.trim()) {
      this.settings();
      return;
    }
    const link = linked(text.trim());
    if (link?.address) return go(link.address);
    try {
      const position = link?.board ?? text;
      const board = await post("/position", { game: this.game, position });
      this.edited = true;
      this.show(board);
      fill(this.fault);
    } catch (error) {
      this.settings();
      fill(this.fault, h("p", { class: "error" }, said(error)));
    }
  }

  /** @param {any} board */
  show(board) {
    this.board = board;
    this.game = board.game;
    this.input.value = board.position;
    this.view.shape(board.game, board.rows, board.cols);
    this.view.set(board.cells);
    this.settings();
    if (!this.edit.hidden) this.fields();
    this.note();
    this.ask();
  }

  /** Notes in the address what is shown, after a moment: browsers limit how often that may change. */
  note() {
    clearTimeout(this.noting);
    this.noting = window.setTimeout(async () => {
      const { address } = await this.shared();
      if (!this.ended) history.replaceState(null, "", address);
    }, 200);
  }

  /** The link to what is shown, and whether it lacks the reviewed game, because that is too long. */
  async shared() {
    // A board that was edited is no position of the game.
    const review = this.edited ? null : this.game_;
    const record = review ? await packed(review.record) : "";
    if (!review || !record)
      return { address: `/analyse?${this.address()}`, lacks: record === null };
    const model = this.model ? `&model=${encodeURIComponent(this.model)}` : "";
    const { game, board } = review.found;
    return {
      address: `/analyse?game=${game}&board=${board}${model}&step=${review.step}#${record}`,
      lacks: false,
    };
  }

  address() {
    const model = this.model ? `&model=${encodeURIComponent(this.model)}` : "";
    return `game=${this.game}&position=${encodeURIComponent(this.board?.position ?? "")}${model}`;
  }

  /** Asks deeper and deeper, until the board changes. @returns {Promise<void>} */
  async ask() {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    this.found = null;
    this.draw();
    if (!this.board) return;
    const body = {
      game: this.game,
      position: this.board.position,
      board: this.board.board,
      model: this.model || undefined,
    };
    const timed = this.depth.endsWith("ms");
    const searches = timed
      ? ["1ply", this.depth]
      : [...Array(Number(this.depth)).keys()].map((ply) => `${ply + 1}ply`);
    try {
      for (const search of searches) {
        this.status.textContent = `searching ${search} …`;
        const found = await post(
          "/analyze",
          { ...body, search, lines: search === "1ply" },
          asking.signal,
        );
        const lines = this.found?.analysis.moves.map((/** @type {any} */ move) => move.line);
        this.found = found;
        if (lines)
          found.analysis.moves.forEach((/** @type {any} */ move, /** @type {number} */ place) => {
            move.line = lines[place];
          });
        this.status.textContent = found.analysis.search;
        this.draw();
      }
      const games = Number(setting("analyse.rollouts", "0"));
      if (games > 0) {
        this.status.textContent = `playing ${games} games after each move …`;
        const rolled = await post("/analyze", { ...body, rollouts: games }, asking.signal);
        rolled.analysis.moves.forEach((/** @type {any} */ move, /** @type {number} */ place) => {
          this.found.analysis.moves[place].chances = move.chances;
          this.found.analysis.moves[place].rest = move.rest;
        });
        this.status.textContent = `${this.found.analysis.search}, ${games} games a move`;
        this.draw();
      }
    } catch (error) {
      if (error instanceof DOMException) return;
      this.status.textContent = "";
      if (this.left(error)) return this.ask();
      const isMissing = error instanceof Problem && error.error === "no-model";
      fill(
        this.answer,
        isMissing ? noModel(this.game, this.board.board) : h("p", { class: "error" }, said(error)),
      );
    }
  }

  draw() {
    if (this.hidden) {
      fill(
        this.answer,
        h("p", { class: "muted" }, "The values are hidden while you look for a better move."),
      );
      return;
    }
    const analysis = this.found?.analysis;
    if (!analysis) {
      fill(this.answer, h("p", { class: "muted" }, "…"));
      return;
    }
    fill(this.answer, everyMove(analysis));
  }

  toggleEdit() {
    this.edit.hidden = !this.edit.hidden;
    document.getElementById("edit-board")?.setAttribute("aria-pressed", String(!this.edit.hidden));
    if (!this.edit.hidden) this.fields();
  }

  /** A field for each cell. */
  fields() {
    if (!this.board) return;
    const { rows, cols, cells } = this.board;
    this.edit.style.setProperty("--cols", String(cols));
    const tail = this.board.position.match(/[+@].*$/)?.[0] ?? "";
    const read = () => {
      const values = fields.map(
        (/** @type {HTMLInputElement} */ field) => field.value.trim() || "0",
      );
      const text = [...Array(rows).keys()]
        .map((row) => values.slice(row * cols, (row + 1) * cols).join(","))
        .join("/");
      this.read(text + tail.replace(/@.*/, ""));
    };
    const fields = cells.map((/** @type {number} */ tile, /** @type {number} */ cell) =>
      h("input", {
        value: tile || "",
        inputmode: "numeric",
        class: tileClass(this.game, tile),
        "aria-label": `row ${Math.floor(cell / cols) + 1}, column ${(cell % cols) + 1}`,
        onchange: read,
      }),
    );
    fill(this.edit, fields);
  }

  playOn() {
    if (this.board) go(`/play?${this.address()}&board=${this.board.board}`);
  }

  inside() {
    if (this.board) go(`/inside?${this.address()}&board=${this.board.board}`);
  }

  async link() {
    const { address, lacks } = await this.shared();
    const link = location.origin + address;
    const told = lacks
      ? "the link is copied; it has this board only, because the game is too long for a link"
      : "the link is copied";
    try {
      await navigator.clipboard.writeText(link);
      this.status.textContent = told;
    } catch {
      // Without a permission the link is there to be copied.
      this.input.value = link;
      this.input.select();
    }
  }

  /** @param {File} file */
  async open(file) {
    if (file.size > 60e6) {
      fill(
        this.reviewFault,
        h("p", { class: "error" }, "The file is larger than 60 MB; `afterstate review` reads it."),
      );
      return;
    }
    this.review(await file.text());
  }

  /** Reviews records. @param {string} text @param {number} [step] @returns {Promise<void>} */
  async review(text, step = 0) {
    fill(this.reviewFault, h("p", { class: "muted" }, "Reviewing …"));
    try {
      const model = this.model ? `?model=${encodeURIComponent(this.model)}` : "";
      const found = await post(`/review${model}`, text);
      if (this.ended) return;
      fill(this.reviewFault);
      this.game_?.end();
      this.game_ = new Review(this, found, text, step);
      fill(this.reviewBox, this.game_.root);
      this.game_.to(step);
    } catch (error) {
      if (this.left(error)) return this.review(text, step);
      const isMissing = error instanceof Problem && error.error === "no-model";
      fill(
        this.reviewFault,
        h("p", { class: "error" }, said(error)),
        isMissing && h("p", {}, "Train one, or choose random or greedy on the left."),
      );
    }
  }

  /** Leaves a model that this server does not have, as that of a link. @param {unknown} error */
  left(error) {
    if (!(error instanceof Problem) || error.error !== "missing" || !this.model) return false;
    fill(
      this.fault,
      h("p", { class: "note" }, `There is no model “${this.model}” here: the usual one answers.`),
    );
    this.model = "";
    this.settings();
    return true;
  }
}

/** @param {unknown} error */
function said(error) {
  return error instanceof Error ? error.message : String(error);
}
