// @ts-check
/** Play: a game with the keys of the terminal player, values on request, autoplay, tiles by hand. */

import { announce, download, fill, h, keep, setting } from "./dom.js";
import { forget, get, meta, post, Problem } from "./api.js";
import { BoardView, chip } from "./board.js";
import { byHand } from "./by-hand.js";
import { ARROWS, cellName, gameName, number, percent } from "./format.js";
import { DIRECTIONS, SPEEDS, pressed, showKeys } from "./keys.js";
import { go } from "./main.js";
import { canSearch } from "./models.js";
import { drawSettings } from "./settings.js";
import { listValues } from "./values.js";

/** @param {Element} root @param {URLSearchParams} query */
export function show(root, query) {
  const page = new Play(root, query);
  page.start();
  return () => page.end();
}

class Play {
  /** @param {Element} root @param {URLSearchParams} query */
  constructor(root, query) {
    this.root = root;
    this.query = query;
    this.view = new BoardView();
    /** @type {any} */ this.game = null;
    /** The actions as text, so that the game outlives the server. @type {string[]} */ this.tokens =
      [];
    /** @type {string | null} */ this.position = null;
    /** @type {Promise<any>} */ this.queue = Promise.resolve();
    this.waiting = 0;
    /** The number of the autoplay loop that may run. */ this.loop = 0;
    this.model = setting("play.model", "");
    this.search = setting("play.search", "1ply");
    this.spawns = setting("play.spawns", "random");
    this.speed = setting("play.speed", 2);
    this.values = setting("play.values", false);
    this.hand = { tile: 0, hint: "" };
    this.playing = false;
    this.asked = false;
    this.ended = false;
    /** @type {any} */ this.analysis = null;
    this.drawn = "";
    /** @type {AbortController | null} */ this.asking = null;
    /** @type {any[]} */ this.models = [];
    this.build();
  }

  build() {
    this.score = h("dd", { id: "score" }, "0");
    this.best = h("dd", {}, "0");
    this.moves = h("dd", { id: "moves" }, "0");
    this.next = h("div", { class: "score", hidden: true });
    this.coach = h("div", { class: "coach", id: "coach" });
    this.list = h("div", { class: "values", id: "values", hidden: !this.values });
    this.palette = h("div", { class: "row", id: "palette", hidden: true });
    this.fault = h("div", { class: "stack tight", id: "fault", role: "alert" });
    this.over = h("div", { class: "over", hidden: true });
    this.auto = h(
      "button",
      { type: "button", id: "auto", "aria-pressed": "false", onclick: () => this.toggle() },
      "Autoplay ",
      h("kbd", {}, "p"),
    );
    this.valuesButton = h(
      "button",
      {
        type: "button",
        id: "show-values",
        "aria-pressed": String(this.values),
        onclick: () => this.showValues(),
      },
      "Values ",
      h("kbd", {}, "v"),
    );
    const pad = h(
      "div",
      { class: "row pad" },
      h(
        "button",
        { type: "button", id: "undo", onclick: () => this.undo() },
        "Undo ",
        h("kbd", {}, "u"),
      ),
      h(
        "button",
        { type: "button", id: "hint", onclick: () => this.hint() },
        "Hint ",
        h("kbd", {}, "i"),
      ),
      h(
        "button",
        { type: "button", id: "play-best", class: "primary", onclick: () => this.bestMove() },
        "Best ",
        h("kbd", {}, "space"),
      ),
      h(
        "button",
        { type: "button", id: "new-game", onclick: () => this.fresh(true) },
        "New ",
        h("kbd", {}, "n"),
      ),
    );
    this.settings = h("div", { class: "card stack" });
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
      h("div", { class: "stage" }, this.view.root, this.over),
      this.palette,
      this.coach,
      pad,
      this.fault,
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
          h("div", { class: "row" }, this.valuesButton, this.auto),
        ),
        (this.says = h("p", { class: "muted small", id: "model-says" })),
        this.list,
      ),
      this.settings,
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", onclick: () => this.analyse() }, "Analyse this board"),
        h("button", { type: "button", onclick: () => this.inside() }, "Look inside"),
        h(
          "button",
          { type: "button", onclick: () => this.save() },
          "Save the record ",
          h("kbd", {}, "e"),
        ),
        h("button", { type: "button", onclick: () => this.help() }, "Keys ", h("kbd", {}, "?")),
      ),
    );
    fill(this.root, h("div", { class: "play" }, left, right));
    this.listeners();
  }

  listeners() {
    this.pressed = (/** @type {KeyboardEvent} */ event) => pressed(this, event);
    this.back = () => this.queued(() => this.restore());
    this.closing = () => this.game && forget(this.game.id);
    addEventListener("keydown", this.pressed);
    addEventListener("afterstate:back", this.back);
    addEventListener("pagehide", this.closing);
    /** @type {{ x: number, y: number } | null} */
    let from = null;
    this.view.root.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
      from = { x: event.clientX, y: event.clientY };
    });
    const swiped = (/** @type {PointerEvent} */ event) => {
      if (!from) return;
      const x = event.clientX - from.x,
        y = event.clientY - from.y;
      if (Math.max(Math.abs(x), Math.abs(y)) < 24) return;
      from = null;
      this.slide(Math.abs(x) > Math.abs(y) ? (x > 0 ? "right" : "left") : y > 0 ? "down" : "up");
    };
    this.view.root.addEventListener("pointermove", swiped);
    this.view.root.addEventListener("pointerup", (/** @type {PointerEvent} */ event) => {
      swiped(event);
      from = null;
    });
    this.view.root.addEventListener("pointercancel", () => {
      from = null;
    });
  }

  end() {
    this.ended = true;
    this.playing = false;
    this.asking?.abort();
    if (this.pressed) removeEventListener("keydown", this.pressed);
    if (this.back) removeEventListener("afterstate:back", this.back);
    if (this.closing) removeEventListener("pagehide", this.closing);
    this.queue.then(this.closing);
  }

  async start() {
    const [about, models] = await Promise.all([meta(), get("/models").catch(() => [])]);
    this.games = about.games;
    this.models = models;
    const kept = setting("game", /** @type {any} */ (null));
    const asked = this.query.get("position");
    const game = this.query.get("game") ?? kept?.game ?? "2048";
    const board = this.query.get("board") ?? kept?.board ?? "4x4";
    if (this.query.get("model")) this.model = this.query.get("model") ?? "";
    if (asked) {
      await this.begin({ game, board, position: asked });
      if (!this.ended) history.replaceState(null, "", "/play");
    } else if (kept && kept.game === game && kept.board === board) {
      await this.begin({
        game,
        board,
        position: kept.position ?? undefined,
        actions: kept.tokens.join("") || undefined,
        manual: this.spawns === "manual",
      });
    } else {
      await this.begin({ game, board, manual: this.spawns === "manual" });
    }
    if (this.query.get("watch")) this.toggle();
  }

  /** Does work after all that waits. @param {() => Promise<any>} work */
  queued(work) {
    this.queue = this.queue
      .then(() => (this.ended ? undefined : work()))
      .catch((error) => this.complain(error));
    return this.queue;
  }

  /** Begins a game, once no action is under way. @param {any} wanted */
  begin(wanted) {
    return this.queued(async () => {
      const left = this.game;
      await this.beginNow(wanted);
      if (left && this.game !== left) forget(left.id);
    });
  }

  /** Begins a game; only as queued work. @param {any} wanted */
  async beginNow(wanted) {
    try {
      const played = await post("/games", wanted);
      if (this.ended) return forget(played.game.id);
      this.position = wanted.position ?? null;
      this.tokens = played.tokens;
      this.asked = false;
      this.took(played.game);
      this.view.shape(played.game.game, played.game.rows, played.game.cols);
      this.view.set(played.game.cells);
      fill(this.fault);
      this.draw();
    } catch (error) {
      if (wanted.actions || wanted.position) {
        this.complain(error);
        if (!this.game && !this.ended && !(error instanceof Problem && error.status === 0)) {
          await this.beginNow({ game: "2048", board: "4x4", manual: this.spawns === "manual" });
          this.complain(error);
        }
      } else {
        this.complain(error);
      }
    }
  }

  /** Begins the game again that the server does not know; only as queued work. */
  async restore() {
    const position = this.position ?? undefined;
    const actions = this.tokens.slice(0, this.game?.made ?? 0).join("") || undefined;
    const { game, board } = this.game ?? { game: "2048", board: "4x4" };
    await this.beginNow({ game, board, position, actions, manual: this.spawns === "manual" });
  }

  /** @param {any} game */
  took(game) {
    this.game = game;
    keep("game", {
      game: game.game,
      board: game.board,
      position: this.position,
      tokens: this.tokens.slice(0, game.made),
    });
    const record = `best.${game.game}.${game.board}`;
    if (game.score > setting(record, 0) && !this.position) keep(record, game.score);
  }

  /**
   * Does one thing after the other; keys that come meanwhile wait.
   * @param {string} path @param {any} body @param {boolean} [animate]
   */
  act(path, body, animate = true) {
    if (this.waiting > 12 || !this.game) return this.queue;
    this.waiting += 1;
    const work = async () => {
      try {
        const { id, made: before } = this.game;
        const played = await post(`/games/${id}${path}`, body);
        // An answer about a game that was left.
        if (this.ended || this.game.id !== id) return;
        this.tokens = this.tokens
          .slice(0, played.game.made < before ? played.game.made : before)
          .concat(played.game.made < before ? [] : played.tokens);
        this.took(played.game);
        fill(this.fault);
        this.happened(played, animate);
      } catch (error) {
        if (error instanceof Problem && error.status === 404 && error.error === "missing") {
          await this.restore();
        } else if (!(error instanceof Problem && error.status === 409 && path === "/slide")) {
          this.playing = false;
          this.complain(error);
        }
      } finally {
        this.waiting -= 1;
      }
    };
    return this.queued(work);
  }

  /** @param {any} played @param {boolean} animate */
  happened(played, animate) {
    const said = [];
    const shows = animate && played.events.length > 0;
    for (const event of played.events) {
      if (event.event === "slide") {
        if (shows) this.view.slide(event.to, event.cells);
        said.push(event.direction + (event.reward ? `, ${event.reward} points` : ""));
      } else {
        if (shows) this.view.spawn(event.cell, event.tile);
        said.push(`new ${event.tile} at ${cellName(event.cell, this.game.cols)}`);
      }
    }
    if (!shows || String(this.view.cells) !== String(this.game.cells))
      this.view.set(this.game.cells);
    if (said.length && this.speed < 4) announce(said.join(", "));
    this.draw();
  }

  draw() {
    const { game } = this;
    const best = setting(`best.${game.game}.${game.board}`, 0);
    this.score.textContent = number(game.score);
    this.best.textContent = number(Math.max(best, this.position ? 0 : game.score));
    this.moves.textContent = number(game.moves);
    this.next.hidden = !game.hint;
    if (game.hint)
      fill(
        this.next,
        h("dt", {}, "Next"),
        h("dd", {}, chip(game.game, game.hint === "bonus" ? "+" : Number(game.hint))),
      );
    this.over.hidden = game.turn !== "over";
    if (game.turn === "over") {
      this.playing = false;
      fill(
        this.over,
        h(
          "div",
          {},
          h("p", { class: "big" }, "Game over"),
          h("p", {}, `${number(game.score)} points in ${number(game.moves)} moves`),
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
        ),
      );
      announce(`Game over: ${game.score} points.`);
    }
    this.auto.setAttribute("aria-pressed", String(this.playing));
    byHand(this);
    this.drawSettings();
    this.ask();
  }

  drawSettings() {
    drawSettings(this);
  }

  /** How the model searches, if it can. */
  depth() {
    return canSearch(this.models, this.model) ? this.search : "1ply";
  }

  /** A tile that is due although tiles come by chance again. */
  settle() {
    if (this.spawns !== "manual" && this.game.turn === "spawn")
      this.act("/spawn", {}).then(() => this.game.turn === "spawn" && this.settle());
  }

  /** Asks for the values of this board, once no move is waiting. */
  async ask() {
    this.asking?.abort();
    this.analysis = null;
    listValues(this);
    const { game } = this;
    if (game.turn !== "slide" || !game.position || (this.playing && SPEEDS[this.speed] === 0))
      return;
    const asking = new AbortController();
    this.asking = asking;
    const body = {
      game: game.game,
      board: game.board,
      position: game.position,
      model: this.model || undefined,
    };
    try {
      const first = await post("/analyze", body, asking.signal);
      this.answered(first, game);
      const search = this.depth();
      if (search !== "1ply" && !this.playing)
        this.answered(await post("/analyze", { ...body, search }, asking.signal), game);
    } catch (error) {
      if (error instanceof Problem && error.status === 404) this.noModel();
      else if (error instanceof Problem && error.status === 400 && this.model) {
        this.model = "";
        this.ask();
      } else if (error instanceof Problem && error.status) this.says.textContent = error.message;
    }
  }

  /** @param {any} found @param {any} game */
  answered(found, game) {
    if (this.game !== game || this.ended) return;
    this.analysis = found.analysis;
    const { model } = found.analysis;
    const trained = model?.trained ? `, ${number(model.trained)} games of training` : "";
    this.says.textContent = `${model?.path ?? this.model}${trained}, ${found.analysis.search}`;
    listValues(this);
  }

  noModel() {
    fill(
      this.says,
      `There is no model of ${gameName(this.game.game)} on ${this.game.board} yet. `,
      h("a", { href: `/train?game=${this.game.game}`, "data-part": "train" }, "Train one"),
      " in about a minute, or choose random or greedy.",
    );
  }

  showValues() {
    this.values = !this.values;
    keep("play.values", this.values);
    this.list.hidden = !this.values;
    this.valuesButton.setAttribute("aria-pressed", String(this.values));
    listValues(this);
  }

  /** @param {string} direction */
  slide(direction) {
    if (!this.game || this.game.turn === "over") return;
    // An illegal slide changes nothing.
    if (
      this.waiting === 0 &&
      this.game.turn === "slide" &&
      this.game.slides[DIRECTIONS.indexOf(direction)] === null
    )
      return;
    const graded = this.analysis?.moves.find(
      (/** @type {any} */ move) => move.direction === direction,
    );
    if (graded?.grade && this.waiting === 0) {
      fill(
        this.coach,
        h("span", { class: `tag ${graded.grade}` }, graded.grade),
        h(
          "span",
          { class: "small muted" },
          graded.grade === "best"
            ? `${ARROWS[direction]} is the best move`
            : `${ARROWS[direction]} keeps ${percent(graded.share)} of the value; best was ${ARROWS[this.analysis.best]}`,
        ),
      );
    } else {
      fill(this.coach);
    }
    this.act("/slide", { direction, spawns: this.spawns, model: this.model || undefined });
  }

  undo() {
    this.playing = false;
    fill(this.coach);
    this.act("/undo", {});
  }

  hint() {
    const best = this.analysis?.best;
    fill(
      this.coach,
      best
        ? h("span", { class: "note" }, `Best: ${ARROWS[best]} ${best}`)
        : h(
            "span",
            { class: "small muted" },
            this.analysis ? "No move is legal." : "No model can tell yet.",
          ),
    );
    if (best) announce(`Best move: ${best}`);
  }

  bestMove() {
    fill(this.coach);
    return this.act("/auto", {
      moves: 1,
      spawns: this.spawns,
      model: this.model || undefined,
      search: this.depth(),
    });
  }

  async toggle() {
    if (!this.game) return;
    this.loop += 1;
    const { loop } = this;
    this.playing = !this.playing;
    this.auto.setAttribute("aria-pressed", String(this.playing));
    if (this.playing && this.spawns === "manual") {
      this.playing = false;
      this.bestMove();
      return;
    }
    // A loop that another call has replaced ends at its next step.
    while (this.playing && loop === this.loop && !this.ended && this.game.turn !== "over") {
      const begun = performance.now();
      const speed = SPEEDS[this.speed];
      const moves = speed === 0 ? 400 : 1;
      await this.act(
        "/auto",
        { moves, spawns: this.spawns, model: this.model || undefined, search: this.depth() },
        speed > 0,
      );
      const rest = speed === 0 ? 0 : 1000 / speed - (performance.now() - begun);
      await new Promise((done) => setTimeout(done, Math.max(rest, 0)));
    }
    if (loop !== this.loop) return;
    this.playing = false;
    this.auto.setAttribute("aria-pressed", "false");
    if (!this.ended) this.ask();
  }

  /** A new game; a second time if one is under way. @param {boolean} ask */
  fresh(ask) {
    this.playing = false;
    if (ask && this.game && this.game.moves > 0 && this.game.turn !== "over" && !this.asked) {
      this.asked = true;
      fill(this.coach, h("span", { class: "note" }, "Press New (n) again to give up this game."));
      return;
    }
    fill(this.coach);
    this.begin({
      game: this.game?.game ?? "2048",
      board: this.game?.board ?? "4x4",
      manual: this.spawns === "manual",
    });
  }

  /** @param {string} path */
  async jump(path) {
    const { id, made: before } = this.game;
    await this.act(path, {}, false);
    if (
      !this.ended &&
      this.game.id === id &&
      this.game.made !== before &&
      (path === "/redo" ? this.game.made < this.game.actions : this.game.moves > 0)
    )
      this.jump(path);
  }

  async save() {
    try {
      download("game.txt", await get(`/games/${this.game.id}/record`));
    } catch (error) {
      this.complain(error);
    }
  }

  async review() {
    try {
      keep("review", await get(`/games/${this.game.id}/record`));
      go("/analyse?review=kept");
    } catch (error) {
      this.complain(error);
    }
  }

  address() {
    const { game } = this;
    return `game=${game.game}&board=${game.board}&position=${encodeURIComponent(game.position ?? "")}${this.model ? `&model=${encodeURIComponent(this.model)}` : ""}`;
  }

  analyse() {
    if (this.game?.position) go(`/analyse?${this.address()}`);
  }

  inside() {
    if (this.game?.position) go(`/inside?${this.address()}`);
  }

  help() {
    showKeys();
  }

  /** @param {any} error */
  complain(error) {
    if (error instanceof Problem && error.status === 0) return;
    fill(
      this.fault,
      h("p", { class: "error" }, error instanceof Error ? error.message : String(error)),
    );
  }
}
