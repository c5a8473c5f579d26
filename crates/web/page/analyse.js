// @ts-check
/** Analyse: a board that is edited or pasted, the value of each move, and reviews of whole games. */

import { choice, fill, h, keep, setting } from "./dom.js";
import { get, meta, post, Problem } from "./api.js";
import { BoardInput } from "./board-input.js";
import { BoardView } from "./board.js";
import { Deepen } from "./deepen.js";
import { dropZone } from "./drop.js";
import { everyMove } from "./every-move.js";
import { gameName } from "./format.js";
import { unpacked } from "./link.js";
import { go } from "./main.js";
import { canSearch, chosen, modelChoices, modelName, noModel } from "./models.js";
import { Review } from "./review.js";

/** The longest records that are reviewed by search, in characters: some ten a move. */
const SEARCHED = 200_000;
/** The largest file of records that the page sends. */
const LARGEST = 60e6;
const START = "0,2,4,8/16,0,2,64/4,32,256,128/2,8,64,1024";
const DEPTHS = /** @type {[string, string][]} */ ([
  ...["1", "2", "3", "4", "5", "6"].map((one) => [one, `${one}-ply`]),
  ["500ms", "500 ms"],
  ["2000ms", "2 s"],
  ["10000ms", "10 s"],
]);
const ROLLOUTS = /** @type {[string, string][]} */ ([
  ["0", "no"],
  ["50", "50 games a move"],
  ["200", "200 games a move"],
  ["1000", "1,000 games a move"],
]);

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
    const depth = setting("analyse.depth", "4");
    this.depth = DEPTHS.some(([one]) => one === depth) ? depth : "4";
    this.view = new BoardView({ label: "Board to analyse" });
    /** @type {import("./board-input.js").Position | null} */ this.board = null;
    /** @type {import("./advice.js").Analysis | null} */ this.found = null;
    /** @type {import("./models.js").ModelInfo[]} */ this.models = [];
    /** @type {{ name: string, tiles: number[] }[]} */ this.games = [];
    /** @type {Review | null} */ this.review = null;
    /** @type {AbortController | null} */ this.reviewing = null;
    this.ended = false;
    /** What stands behind the address: a record in a link. */ this.hash = location.hash;
    this.noting = 0;
    /** Whether the board is none of the reviewed game. */ this.edited = false;
    /** Whether a depth was chosen in a review, whose own one is used otherwise. */
    this.deeper = false;
    /** Why the answers are hidden; empty if they are not. */ this.hidden = "";
    this.input = new BoardInput({
      game: () => this.game,
      read: (board) => {
        this.edited = true;
        this.show(board);
      },
      failed: () => this.settings(),
    });
    this.deepen = new Deepen({
      status: (text) => {
        this.status.textContent = text;
      },
      found: (analysis) => {
        this.found = analysis;
        this.draw();
      },
      failed: (error) => this.failed(error),
    });
    this.build();
  }

  build() {
    this.answer = h("div", { class: "stack", id: "answer", "aria-live": "off" });
    this.choices = h("div", { class: "two" });
    this.reviewBox = h("div", { class: "stack" });
    this.reviewFault = h("div", { role: "alert" });
    this.status = h("span", { class: "muted small", id: "searched" });
    this.under = h("div", { class: "under" });
    this.pasted = h("textarea", {
      rows: 2,
      class: "mono",
      id: "records-text",
      spellcheck: "false",
      "aria-label": "Records as text",
    });
    const button = (/** @type {string} */ text, /** @type {() => void} */ act, id = undefined) =>
      h("button", { type: "button", id, onclick: act }, text);
    const drop = dropZone(
      {
        id: "records-file",
        title: "Open a recorded game",
        text: "drop a file of records or a 2048verse replay here, or choose one",
        accept: ".txt,.log,.rec,text/plain",
      },
      ([file]) => this.open(file),
    );
    const left = h(
      "div",
      { class: "stack" },
      h("h1", { class: "unseen" }, "Analyse"),
      this.view.root,
      this.under,
      h(
        "div",
        { class: "row" },
        this.input.button,
        button("Play on", () => this.part("play")),
        button("Look inside", () => this.part("inside")),
        button("Copy a link", () => this.link()),
      ),
      this.input.edit,
    );
    const below = h(
      "div",
      { class: "stack below" },
      this.input.card,
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
        drop,
        h(
          "details",
          {},
          h("summary", {}, "or paste records"),
          this.pasted,
          h(
            "button",
            {
              type: "button",
              id: "review-text",
              onclick: () => this.reviewText(this.pasted.value),
            },
            "Review",
          ),
        ),
        this.reviewFault,
      ),
    );
    fill(this.root, h("div", { class: "wide three" }, left, right, below));
    this.back = () => this.again();
    addEventListener("afterstate:back", this.back);
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
      this.tell(said(error));
    }
    if (this.ended) return;
    if (record) {
      this.settings();
      this.reviewText(record, Number(this.query.get("step")) || 0);
    } else {
      this.input.read(this.text || START);
    }
  }

  end() {
    this.ended = true;
    clearTimeout(this.noting);
    if (this.back) removeEventListener("afterstate:back", this.back);
    this.reviewing?.abort();
    this.deepen.end();
    this.input.end();
    this.review?.end();
  }

  /** The server is back: what was asked meanwhile is asked again. */
  again() {
    fill(this.input.fault);
    fill(this.input.cellFault);
    fill(this.reviewFault);
    if (this.review) this.review.to(this.review.step);
    else if (this.input.text.value.trim()) this.input.read(this.input.text.value);
    else this.input.read(this.text || START);
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
          this.input.read(this.input.text.value);
          this.settings();
        },
      ),
      choice("Model", models, chosen(models, this.model), (id) => {
        this.model = id;
        this.ask();
        this.review?.again();
      }),
      choice("Search up to", DEPTHS, this.depth, (depth) => {
        this.depth = depth;
        this.deeper = true;
        keep("analyse.depth", depth);
        this.ask();
      }),
      choice(
        "Chances by playing on",
        ROLLOUTS,
        String(setting("analyse.rollouts", "0")),
        (games) => {
          keep("analyse.rollouts", games);
          this.ask();
        },
      ),
    );
  }

  /** @param {import("./board-input.js").Position} board */
  show(board) {
    this.board = board;
    this.game = board.game;
    this.input.show(board);
    this.view.shape(board.game, board.rows, board.cols);
    this.view.set(board.cells);
    this.settings();
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
    const review = this.edited ? null : this.review;
    const record = review ? await review.link() : "";
    if (!review || !record)
      return { address: `/analyse?${this.address()}`, lacks: record === null };
    const query = new URLSearchParams({ game: review.found.game, board: review.found.board });
    if (this.model) query.set("model", this.model);
    query.set("step", String(review.step));
    return { address: `/analyse?${query}#${record}`, lacks: false };
  }

  address() {
    const query = new URLSearchParams({ game: this.game, position: this.board?.position ?? "" });
    if (this.model) query.set("model", this.model);
    return query;
  }

  /** The search of the values: in a review, its own one. */
  search() {
    if (!canSearch(this.models, this.model)) return "1";
    const ofReview = this.edited || this.deeper ? "" : (this.review?.found.search ?? "");
    return ofReview.endsWith("ply") ? ofReview.slice(0, -3) : this.depth;
  }

  /** Asks deeper and deeper, until the board changes. */
  ask() {
    this.deepen.end();
    this.found = null;
    this.draw();
    if (!this.board) return;
    const { game, board, position } = this.board;
    const rollouts = Number(setting("analyse.rollouts", "0")) || 0;
    this.deepen.ask({ game, board, position, model: this.model, depth: this.search(), rollouts });
  }

  /** @param {unknown} error */
  failed(error) {
    this.status.textContent = "";
    if (this.left(error)) return this.ask();
    const isMissing = error instanceof Problem && error.error === "no-model" && this.board;
    fill(
      this.answer,
      isMissing
        ? h("p", {}, noModel(this.game, this.board?.board ?? ""))
        : h("p", { class: "error" }, said(error)),
    );
  }

  draw() {
    const text = this.hidden || (this.found ? "" : "…");
    fill(
      this.answer,
      text || !this.found ? h("p", { class: "muted" }, text) : everyMove(this.found),
    );
  }

  /** Hides the answers, or shows them again. @param {string} why */
  hide(why) {
    this.hidden = why;
    this.draw();
    this.review?.drawPlace();
  }

  /** Opens another part with this board. @param {string} part */
  part(part) {
    if (!this.board) return;
    const query = this.address();
    query.set("board", this.board.board);
    go(`/${part}?${query}`);
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
      this.input.text.value = link;
      this.input.text.select();
    }
  }

  /** @param {File} file */
  async open(file) {
    if (file.size > LARGEST)
      this.tell("The file is larger than 60 MB; `afterstate review` reads it.");
    else this.reviewText(await file.text());
  }

  /** Tells what is wrong with records. @param {string} text @param {any} [more] */
  tell(text, more) {
    fill(this.reviewFault, h("p", { class: "error" }, text), more);
  }

  /** Reviews records; an older question is given up. @param {string} text @param {number} [step] @returns {Promise<void>} */
  async reviewText(text, step = 0) {
    this.reviewing?.abort();
    const reviewing = new AbortController();
    this.reviewing = reviewing;
    fill(this.reviewFault, h("p", { class: "muted" }, "Reviewing …"));
    try {
      const query = new URLSearchParams();
      if (this.model) query.set("model", this.model);
      // Three plies take seconds for ten thousand moves.
      if (canSearch(this.models, this.model) && text.length < SEARCHED) query.set("search", "3ply");
      const found = await post(`/review?${query}`, text, reviewing.signal);
      if (reviewing.signal.aborted) return;
      fill(this.reviewFault);
      this.review?.end();
      this.deeper = false;
      this.review = new Review(this, found, text, step);
      fill(this.reviewBox, this.review.root);
      this.review.to(step);
    } catch (error) {
      if (reviewing.signal.aborted) return;
      if (this.left(error)) return this.reviewText(text, step);
      const isMissing = error instanceof Problem && error.error === "no-model";
      this.tell(
        said(error),
        isMissing && h("p", {}, "Train one, or choose random or greedy on the left."),
      );
    }
  }

  /** Closes the review; its board stays. */
  closeReview() {
    this.review?.end();
    this.review?.root.remove();
    this.review = null;
    this.note();
    this.ask();
  }

  /** Leaves a model that cannot answer, as that of a link. @param {unknown} error */
  left(error) {
    if (!(error instanceof Problem) || !this.model) return false;
    const name = `“${modelName(this.model)}”`;
    const why = /** @type {Record<string, string>} */ ({
      "no-such-model": `There is no model ${name} here`,
      "other-game": `The model ${name} plays another game or board`,
    })[error.error];
    if (!why) return false;
    fill(this.input.fault, h("p", { class: "note" }, `${why}: the usual one answers.`));
    this.model = "";
    this.settings();
    return true;
  }
}

/** @param {unknown} error */
function said(error) {
  return error instanceof Error ? error.message : String(error);
}
