// @ts-check
/** A reviewed game: its curves, its moves with their grades, and mistakes to learn from. */

import { announce, choice, fill, h } from "./dom.js";
import { post } from "./api.js";
import { Chances } from "./chances.js";
import { Chart } from "./chart.js";
import { ARROWS, number, percent, signed, value as shortValue } from "./format.js";
import { ARROW_KEYS, isForPage } from "./keys.js";
import { packed } from "./link.js";
import { theModel } from "./models.js";

const GRADES = ["best", "excellent", "good", "inaccuracy", "mistake", "blunder"];
const BAD = ["inaccuracy", "mistake", "blunder"];
/** The most moves that have a button each. */
const MOST_BUTTONS = 3000;

/** Whose game it is: records of this app name the command that made them. @param {string | null} tag */
function player(tag) {
  const isOwn =
    !tag || tag.split(":").every((one) => ["play", "slide", "place", "web"].includes(one));
  return isOwn ? "a game" : tag;
}

/** @param {number} count */
function allMoves(count) {
  if (count <= MOST_BUTTONS) return "All moves";
  return `The first ${number(MOST_BUTTONS)} of ${number(count)} moves`;
}

export class Review {
  /** @param {import("./analyse.js").Analyse} page the page whose board shows the positions @param {any} found @param {string} text @param {number} step */
  constructor(page, found, text, step) {
    this.page = page;
    this.found = found;
    this.text = text;
    this.step = step;
    this.number = 0;
    /** @type {{ step: number } | null} */ this.learning = null;
    /** @type {AbortController | null} */ this.reading = null;
    /** @type {Promise<string | null> | null} */ this.packed = null;
    this.root = h("div", { class: "card stack", id: "review" });
    this.pressed = (/** @type {KeyboardEvent} */ event) => this.key(event);
    addEventListener("keydown", this.pressed);
    this.build();
  }

  end() {
    removeEventListener("keydown", this.pressed);
    this.chances?.end();
    this.reading?.abort();
    fill(this.page.under);
    this.page.hidden = "";
  }

  /** The end of a link to this game; null if the game is too long for one. */
  link() {
    this.packed ??= packed(this.text.split("\n")[this.game.line - 1] ?? "");
    return this.packed;
  }

  get game() {
    return this.found.games[this.number];
  }

  /** With another model. */
  again() {
    this.page.reviewText(this.text, this.step);
  }

  build() {
    const { game } = this;
    this.packed = null;
    const grades = GRADES.map((grade) => [grade, game.grades?.[grade] ?? 0]).filter(
      ([, count]) => count > 0,
    );
    this.chart = new Chart({
      title: "Score and expected end",
      x: "move",
      y: "points",
      height: 220,
      pick: (x) => this.to(Math.round(x)),
    });
    this.luck = new Chart({
      title: "Luck of the tiles and losses of the moves, summed",
      x: "move",
      y: "points",
      height: 200,
      zero: false,
      pick: (x) => this.to(Math.round(x)),
    });
    this.chances?.end();
    this.chances = new Chances(this);
    this.moves = h("div", { class: "moves", role: "group", "aria-label": "Moves" });
    this.place = h("div", { class: "stack tight", id: "place", "aria-live": "polite" });
    const button = (
      /** @type {string} */ id,
      /** @type {string} */ text,
      /** @type {() => void} */ act,
    ) => h("button", { type: "button", id, onclick: act }, text);
    // Beside the board, also where it is far from the rest of the page.
    fill(
      this.page.under,
      h(
        "div",
        { class: "card stack tight", id: "review-steps" },
        h(
          "div",
          { class: "steps" },
          button("first", "|◀", () => this.to(0)),
          button("previous", "◀", () => this.to(this.step - 1)),
          button("next", "▶", () => this.to(this.step + 1)),
          button("last", "▶|", () => this.to(game.positions.length - 1)),
          button("next-mistake", "Next mistake (x)", () => this.mistake(1)),
          button("learn", "Learn from your mistakes", () => this.learn()),
        ),
        this.place,
      ),
    );
    fill(
      this.root,
      h(
        "div",
        { class: "row spread" },
        h("h2", {}, `Review of ${player(game.player)}`),
        this.found.games.length > 1 &&
          choice(
            "Game",
            this.found.games.map((/** @type {any} */ one, /** @type {number} */ place) => [
              String(place),
              `${place + 1}: ${number(one.score)} points`,
            ]),
            String(this.number),
            (place) => {
              this.number = Number(place);
              this.build();
              this.to(0);
            },
          ),
        button("close-review", "Close", () => this.page.closeReview()),
      ),
      this.found.model &&
        h(
          "p",
          { class: "small muted" },
          `By ${theModel(this.found.model.path)}, ${this.found.search}.`,
        ),
      this.found.fault_count > 0 &&
        h(
          "p",
          { class: "error" },
          `${this.found.fault_count === 1 ? "One line is" : `${number(this.found.fault_count)} lines are`} left out: ${this.found.faults[0].reason}`,
        ),
      h(
        "dl",
        { class: "stat" },
        [
          ["Score", number(game.score)],
          ["Largest", number(game.largest)],
          ["Moves", number(game.move_count ?? game.moves.length)],
          ["Accuracy", percent(game.accuracy, 2)],
          ["Mean loss", number(game.mean_loss, 2)],
          ["Luck", signed(game.luck, 0)],
          ["z of luck", signed(game.luck_z, 2)],
        ].map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))),
      ),
      h(
        "div",
        { class: "row" },
        grades.map(([grade, count]) => h("span", { class: `tag ${grade}` }, `${count} ${grade}`)),
      ),
      this.chart.root,
      this.luck.root,
      this.chances.root,
      h("details", {}, h("summary", {}, allMoves(game.moves.length)), this.moves),
    );
    for (const [id, name] of [
      ["first", "First position"],
      ["previous", "Previous move (j)"],
      ["next", "Next move (k)"],
      ["last", "Last position"],
    ])
      this.page.under.querySelector(`#${id}`)?.setAttribute("aria-label", name);
    this.curves();
    const buttons = game.moves
      .slice(0, MOST_BUTTONS)
      .map((/** @type {any} */ move, /** @type {number} */ place) =>
        h(
          "button",
          {
            type: "button",
            class: move.grade ?? "",
            "aria-label": `move ${place + 1}, ${move.direction}, ${move.grade ?? "no grade"}`,
            onclick: () => this.to(place),
          },
          ARROWS[move.direction],
        ),
      );
    fill(this.moves, buttons);
  }

  curves() {
    const { positions, moves } = this.game;
    const score = /** @type {[number, number][]} */ (
      positions.map((/** @type {any} */ one, /** @type {number} */ place) => [place, one.score])
    );
    const expected = /** @type {[number, number][]} */ (
      positions.flatMap((/** @type {any} */ one, /** @type {number} */ place) =>
        one.value === null ? [] : [[place, one.score + one.value]],
      )
    );
    // A game that is over has no value any more: what was expected is what it has.
    const last = positions.length - 1;
    if (this.game.finished && expected.length > 0 && positions[last].value === null)
      expected.push([last, positions[last].score]);
    this.chart?.show([
      { name: "score", points: score },
      { name: "score at the end, as expected", points: expected },
    ]);
    let luck = 0,
      loss = 0;
    const lucks = /** @type {[number, number][]} */ ([]),
      losses = /** @type {[number, number][]} */ ([]);
    moves.forEach((/** @type {any} */ move, /** @type {number} */ place) => {
      luck += move.luck ?? 0;
      loss -= move.loss ?? 0;
      lucks.push([place + 1, luck]);
      losses.push([place + 1, loss]);
    });
    this.luck?.show([
      { name: "luck", points: lucks },
      { name: "losses of moves", points: losses },
    ]);
  }

  /** Shows a position. @param {number} step */
  to(step) {
    const { positions } = this.game;
    if (positions.length === 0) return;
    this.step = Math.min(Math.max(step, 0), positions.length - 1);
    if (this.learning && this.learning.step !== this.step) this.stopLearning();
    const position = positions[this.step];
    this.chart?.mark(this.step);
    this.luck?.mark(this.step);
    this.chances?.mark(this.step);
    this.page.note();
    this.moves?.querySelector("[aria-current]")?.removeAttribute("aria-current");
    this.moves?.children[this.step]?.setAttribute("aria-current", "true");
    this.drawPlace();
    this.showBoard(position.board);
  }

  /** Shows the board of a position; an answer about an earlier one is dropped. @param {string} board */
  async showBoard(board) {
    this.reading?.abort();
    const reading = new AbortController();
    this.reading = reading;
    const asked = { game: this.found.game, position: board, board: this.found.board };
    try {
      const read = await post("/position", asked, reading.signal);
      this.page.edited = false;
      this.page.show(read);
    } catch {
      // The server is away, or another step is shown.
    }
  }

  /** Tells which move was played on this board, and what it was worth. */
  drawPlace() {
    if (this.learning) return;
    const { positions, moves } = this.game;
    const position = positions[this.step],
      move = moves[this.step];
    const score = `score ${number(position.score)}. `;
    if (!move) {
      const place = h("strong", {}, `After ${number(moves.length)} moves`);
      fill(this.place, h("p", {}, place, `, ${score}The end of the record.`));
      return;
    }
    const isHidden = this.page.hidden !== "";
    const grade = move.grade && !isHidden && h("span", { class: `tag ${move.grade}` }, move.grade);
    const better = move.best && move.best !== move.direction && !isHidden;
    fill(
      this.place,
      h(
        "p",
        {},
        h("strong", {}, `Move ${this.step + 1} of ${moves.length}`),
        `, ${score}Played ${ARROWS[move.direction]} ${move.direction} `,
        grade,
        grade && h("span", { class: "muted small" }, ` ${this.found.search}. `),
        better &&
          `Best was ${ARROWS[move.best]} ${move.best}: it keeps ${shortValue(move.loss ?? 0)} points more.`,
        move.luck !== undefined &&
          move.luck !== null &&
          h(
            "span",
            { class: "muted" },
            ` The tile after it: ${signed(move.luck, 0)} points of luck.`,
          ),
      ),
    );
  }

  /** Goes to the next move that lost much. @param {number} by */
  mistake(by) {
    const { moves } = this.game;
    for (let step = this.step + by; step >= 0 && step < moves.length; step += by) {
      if (BAD.includes(moves[step].grade)) {
        this.to(step);
        return true;
      }
    }
    announce("There is no further mistake.");
    fill(this.place, h("p", { class: "note" }, "There is no further mistake."));
    return false;
  }

  /** Hides the values at a mistake until a move that is good enough is found. */
  learn() {
    const { moves } = this.game;
    this.stopLearning();
    if (!BAD.includes(moves[this.step]?.grade) && !this.mistake(1)) return;
    const move = moves[this.step];
    this.learning = { step: this.step };
    this.page.hide("The values are hidden while you look for a better move.");
    this.learnBox = h(
      "div",
      { class: "note stack tight", id: "learning" },
      h(
        "p",
        {},
        `Move ${this.step + 1}: ${ARROWS[move.direction]} ${move.direction} was ${move.grade === "inaccuracy" ? "an" : "a"} ${move.grade}. Find a better one: press an arrow key, or choose.`,
      ),
      h(
        "div",
        { class: "row" },
        ["left", "up", "down", "right"].map((direction) =>
          h(
            "button",
            { type: "button", onclick: () => this.attempt(direction) },
            `${ARROWS[direction]} ${direction}`,
          ),
        ),
        h("button", { type: "button", onclick: () => this.reveal() }, "Show it"),
      ),
      (this.verdict = h("p", { role: "status" })),
    );
    fill(this.place, this.learnBox);
  }

  stopLearning() {
    if (!this.learning) return;
    this.learning = null;
    this.page.hide("");
  }

  /** Grades a move that was tried; an answer about an earlier step is dropped. @param {string} direction */
  async attempt(direction) {
    const { learning, verdict } = this;
    if (!learning || !verdict) return;
    /** @type {any} */ let found;
    try {
      found = await post("/analyze", {
        game: this.found.game,
        position: this.game.positions[learning.step].board,
        board: this.found.board,
        model: this.page.model || undefined,
        search: this.found.search.endsWith("ply") ? this.found.search : undefined,
      });
    } catch (error) {
      verdict.textContent = error instanceof Error ? error.message : String(error);
      return;
    }
    if (this.learning !== learning) return;
    const move = found.analysis.moves.find((/** @type {any} */ one) => one.direction === direction);
    const played = this.game.moves[this.step];
    if (!move.legal) {
      verdict.textContent = `${direction} is illegal.`;
      return;
    }
    if (["best", "excellent", "good"].includes(move.grade)) {
      this.stopLearning();
      fill(
        this.place,
        h(
          "p",
          { class: "note" },
          `Yes: ${ARROWS[direction]} ${direction} keeps ${percent(move.share)} of the value. `,
          h(
            "button",
            {
              type: "button",
              id: "learn-on",
              onclick: () => {
                this.step += 1;
                this.learn();
              },
            },
            "Next mistake",
          ),
        ),
      );
      announce(`Yes, ${direction} is ${move.grade}.`);
      return;
    }
    verdict.textContent =
      direction === played.direction
        ? "That was the move of the game."
        : `${direction} keeps ${percent(move.share)}. There is a better one.`;
  }

  reveal() {
    const move = this.game.moves[this.step];
    this.stopLearning();
    fill(
      this.place,
      h(
        "p",
        { class: "note" },
        `Best is ${ARROWS[move.best]} ${move.best}. `,
        h(
          "button",
          {
            type: "button",
            onclick: () => {
              this.step += 1;
              this.learn();
            },
          },
          "Next mistake",
        ),
      ),
    );
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!isForPage(event)) return;
    if (this.learning && ARROW_KEYS[event.key]) {
      event.preventDefault();
      this.attempt(ARROW_KEYS[event.key]);
      return;
    }
    const acts = /** @type {Record<string, () => void>} */ ({
      ArrowLeft: () => this.to(this.step - 1),
      ArrowRight: () => this.to(this.step + 1),
      j: () => this.to(this.step - 1),
      k: () => this.to(this.step + 1),
      Home: () => this.to(0),
      End: () => this.to(this.game.positions.length - 1),
      x: () => this.mistake(1),
      X: () => this.mistake(-1),
      z: () => this.page.hide(this.page.hidden ? "" : "The values are hidden; z shows them."),
    });
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }
}
