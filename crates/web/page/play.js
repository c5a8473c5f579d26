// @ts-check
/** Play: a game with the keys of the terminal player, values on request, autoplay, tiles by hand. */

import { announce, download, fill, h, keep, setting } from "./dom.js";
import { get, meta, Problem } from "./api.js";
import { Advice } from "./advice.js";
import { Autoplay } from "./autoplay.js";
import { BoardView, chip } from "./board.js";
import { ByHand } from "./by-hand.js";
import { cellName, number } from "./format.js";
import { DIRECTIONS, pressed, showKeys } from "./keys.js";
import { go } from "./main.js";
import { canSearch, modelName } from "./models.js";
import { GameSession, keptGame } from "./session.js";
import { PlaySettings, SettingsCard } from "./settings.js";
import { onSwipe } from "./swipe.js";

/** @param {Element} root @param {URLSearchParams} query */
export function show(root, query) {
  const page = new Play(root, query);
  page.start();
  return () => page.end();
}

export class Play {
  /** @param {Element} root @param {URLSearchParams} query */
  constructor(root, query) {
    this.root = root;
    this.query = query;
    this.view = new BoardView();
    this.settings = new PlaySettings();
    /** @type {import("./models.js").ModelInfo[]} */ this.models = [];
    /** @type {{ name: string }[]} */ this.games = [];
    /** Whether `n` was pressed in a game that is under way. */ this.asked = false;
    this.session = new GameSession({
      began: () => this.began(),
      happened: (played, animate) => this.happened(played, animate),
      complain: (error) => this.complain(error),
      gone: (model) => this.gone(model),
      manual: () => this.settings.spawns === "manual",
    });
    this.advice = new Advice(this);
    this.autoplay = new Autoplay(this);
    this.hand = new ByHand(this);
    this.card = new SettingsCard(this);
    this.build();
    this.listeners();
  }

  build() {
    this.score = h("dd", { id: "score" }, "0");
    this.best = h("dd", { id: "best" }, "0");
    this.moves = h("dd", { id: "moves" }, "0");
    this.next = h("div", { class: "score", hidden: true });
    this.fault = h("div", { class: "stack tight", id: "fault", role: "alert" });
    this.over = h("div", { class: "over note", hidden: true });
    const key = (/** @type {string} */ name) => h("kbd", {}, name);
    const button = (
      /** @type {string} */ id,
      /** @type {string} */ text,
      /** @type {string} */ name,
      /** @type {() => void} */ act,
      look = "",
    ) => h("button", { type: "button", id, class: look, onclick: act }, `${text} `, key(name));
    this.auto_ = button("auto", "Autoplay", "p", () => this.autoplay.toggle());
    this.auto_.setAttribute("aria-pressed", "false");
    const pad = h(
      "div",
      { class: "row pad" },
      button("undo", "Undo", "u", () => this.undo()),
      button("redo", "Redo", "r", () => this.redo()),
      button("hint", "Hint", "i", () => this.advice.hint()),
      button("play-best", "Best", "space", () => this.bestMove(), "primary"),
      button("new-game", "New", "n", () => this.fresh(true)),
    );
    const left = h(
      "div",
      { class: "stack tight" },
      h(
        "dl",
        { class: "scores" },
        h("div", { class: "score" }, h("dt", {}, "Score"), this.score),
        h("div", { class: "score" }, h("dt", {}, "Best"), this.best),
        h("div", { class: "score" }, h("dt", {}, "Moves"), this.moves),
        this.next,
      ),
      this.view.root,
      this.hand.root,
      this.over,
      this.advice.coach,
      this.fault,
      pad,
    );
    const right = h(
      "div",
      { class: "stack" },
      h("h1", { class: "unseen" }, "Play"),
      h(
        "div",
        { class: "card stack tight" },
        h(
          "div",
          { class: "row spread" },
          h("h2", {}, "The model"),
          h("div", { class: "row" }, this.advice.button, this.auto_),
        ),
        this.advice.says,
        this.advice.list,
      ),
      this.card.root,
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", onclick: () => this.open("analyse") }, "Analyse this board"),
        h("button", { type: "button", onclick: () => this.open("inside") }, "Look inside"),
        button("save", "Save the record", "e", () => this.save()),
        button("keys", "Keys", "?", showKeys),
      ),
    );
    fill(this.root, h("div", { class: "play" }, left, right));
  }

  listeners() {
    this.pressed = (/** @type {KeyboardEvent} */ event) => pressed(this, event);
    this.back = () => this.session.again();
    this.closing = () => this.session.closing();
    addEventListener("keydown", this.pressed);
    addEventListener("afterstate:back", this.back);
    addEventListener("pagehide", this.closing);
    onSwipe(this.view.root, (direction) => this.slide(direction));
  }

  end() {
    this.autoplay.stop();
    this.advice.end();
    this.session.end();
    if (this.pressed) removeEventListener("keydown", this.pressed);
    if (this.back) removeEventListener("afterstate:back", this.back);
    if (this.closing) removeEventListener("pagehide", this.closing);
  }

  async start() {
    const [about, models] = await Promise.all([meta(), get("/models").catch(() => [])]);
    this.games = about.games;
    this.models = models;
    const kept = keptGame();
    const position = this.query.get("position");
    const game = this.query.get("game") ?? kept?.game ?? "2048";
    const board = this.query.get("board") ?? kept?.board ?? "4x4";
    const manual = this.settings.spawns === "manual";
    this.settings.model = this.query.get("model") ?? this.settings.model;
    if (position) {
      await this.session.begin({ game, board, position });
      if (!this.session.ended) history.replaceState(null, "", "/play");
    } else if (kept && kept.game === game && kept.board === board) {
      const actions = kept.tokens.join("") || undefined;
      const from = kept.position ?? undefined;
      await this.session.begin({ game, board, position: from, actions, manual, own: kept.own });
    } else {
      await this.begin(game, board);
    }
    if (this.query.get("watch")) this.autoplay.toggle();
  }

  /** Begins a game of this kind. @param {string} game @param {string} board */
  begin(game, board) {
    this.autoplay.stop();
    return this.session.begin({ game, board, manual: this.settings.spawns === "manual" });
  }

  /** Shows a game that has begun. */
  began() {
    const { game } = this.session;
    if (!game) return;
    this.asked = false;
    this.view.shape(game.game, game.rows, game.cols);
    this.view.set(game.cells);
    fill(this.fault);
    this.draw();
  }

  /** Shows what happened. @param {import("./session.js").ActionResult} played @param {boolean} animate */
  happened(played, animate) {
    const { game } = played;
    const said = [];
    const shows = animate && played.events.length > 0;
    for (const event of played.events) {
      if (event.event === "slide") {
        if (shows) this.view.slide(event.to, event.cells);
        said.push(event.direction + (event.reward ? `, ${event.reward} points` : ""));
      } else {
        if (shows) this.view.spawn(event.cell, event.tile);
        said.push(`new ${event.tile} at ${cellName(event.cell, game.cols)}`);
      }
    }
    if (!shows || String(this.view.cells) !== String(game.cells)) this.view.set(game.cells);
    if (said.length && !this.autoplay.isSilent) announce(said.join(", "));
    fill(this.fault);
    this.draw();
  }

  draw() {
    const { game, own } = this.session;
    if (!game) return;
    const best = setting(`best.${game.game}.${game.board}`, 0);
    this.score.textContent = number(game.score);
    this.best.textContent = number(Math.max(best, own ? game.score : 0));
    this.moves.textContent = number(game.moves);
    this.next.hidden = !game.hint;
    if (game.hint) {
      const tile = chip(game.game, game.hint === "bonus" ? "+" : Number(game.hint));
      fill(this.next, h("dt", {}, "Next"), h("dd", {}, tile));
    }
    const isOver = game.turn === "over";
    this.over.hidden = !isOver;
    this.advice.coach.hidden = isOver;
    if (isOver) this.drawOver(game);
    this.showAutoplay();
    this.hand.draw();
    this.card.draw();
    this.advice.ask();
  }

  /** @param {import("./session.js").Game} game */
  drawOver(game) {
    this.autoplay.stop();
    fill(
      this.over,
      h("strong", {}, "Game over"),
      h("span", {}, `${number(game.score)} points in ${number(game.moves)} moves`),
      h(
        "div",
        { class: "row" },
        h(
          "button",
          { type: "button", class: "primary", onclick: () => this.fresh(false) },
          "New game",
        ),
        h("button", { type: "button", onclick: () => this.undo() }, "Undo"),
        h("button", { type: "button", onclick: () => this.review() }, "Review it"),
      ),
    );
    announce(`Game over: ${game.score} points.`);
  }

  showAutoplay() {
    this.auto_.setAttribute("aria-pressed", String(this.autoplay.isOn));
  }

  /** Changes a setting. @param {"model" | "search" | "spawns" | "speed"} name @param {any} value */
  change(name, value) {
    /** @type {any} */ (this.settings)[name] = value;
    this.card.keep(name, value);
    // What was refused may be possible now.
    fill(this.fault);
    if (name === "speed" || !this.session.game) return;
    this.hand.draw();
    this.advice.ask();
    if (name === "spawns") this.settle();
  }

  /** Leaves a model that this server does not have. @param {string} model */
  gone(model) {
    this.settings.model = "";
    this.card.keep("model", "");
    this.advice.note(`There is no model “${modelName(model)}” here: the usual one answers.`);
  }

  /** How the model searches, if it can. */
  depth() {
    return canSearch(this.models, this.settings.model) ? this.settings.search : "1ply";
  }

  /** Places a tile that is due although tiles come by chance again. */
  async settle() {
    const isDue = () => this.settings.spawns !== "manual" && this.session.game?.turn === "spawn";
    while (isDue() && (await this.session.act("/spawn", {})));
  }

  /** Slides, unless nothing would change. @param {string} direction */
  slide(direction) {
    const { game, waiting } = this.session;
    if (!game || game.turn === "over") return;
    const isIllegal = game.slides[DIRECTIONS.indexOf(direction)] === null;
    if (waiting === 0 && game.turn === "slide" && isIllegal) return;
    this.advice.grade(direction);
    const { spawns, model } = this.settings;
    this.session.act("/slide", { direction, spawns, model: model || undefined });
  }

  /** Has the model make moves. @param {number} moves @param {boolean} animate */
  auto(moves, animate) {
    const { spawns, model } = this.settings;
    const body = { moves, spawns, model: model || undefined, search: this.depth() };
    return this.session.act("/auto", body, animate);
  }

  bestMove() {
    this.advice.quiet();
    return this.auto(1, true);
  }

  undo() {
    this.autoplay.stop();
    this.advice.quiet();
    if (!this.hand.undo()) this.session.act("/undo", {});
  }

  redo() {
    this.autoplay.stop();
    this.advice.quiet();
    this.session.act("/redo", {});
  }

  /** @param {number} moves */
  jump(moves) {
    this.autoplay.stop();
    this.advice.quiet();
    this.session.jump(moves);
  }

  /** A new game; a second time if one is under way. @param {boolean} ask */
  fresh(ask) {
    this.autoplay.stop();
    const { game } = this.session;
    if (ask && game && game.moves > 0 && game.turn !== "over" && !this.asked) {
      this.asked = true;
      this.advice.note("Press New (n) again to give up this game.");
      return;
    }
    this.advice.quiet();
    this.begin(game?.game ?? "2048", game?.board ?? "4x4");
  }

  /** The record of the game. */
  record() {
    return get(`/games/${this.session.game?.id}/record`);
  }

  save() {
    this.record()
      .then((record) => download("game.txt", record))
      .catch((error) => this.complain(error));
  }

  async review() {
    try {
      keep("review", await this.record());
      go("/analyse?review=kept");
    } catch (error) {
      this.complain(error);
    }
  }

  /** Opens another part with this board. @param {string} part */
  open(part) {
    const { game } = this.session;
    if (!game?.position) return;
    const query = new URLSearchParams({ game: game.game, board: game.board });
    query.set("position", game.position);
    if (this.settings.model) query.set("model", this.settings.model);
    go(`/${part}?${query}`);
  }

  /** @param {unknown} error */
  complain(error) {
    this.autoplay.stop();
    if (error instanceof Problem && error.status === 0) return;
    fill(
      this.fault,
      h("p", { class: "error" }, error instanceof Error ? error.message : String(error)),
    );
  }
}
