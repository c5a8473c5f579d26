// @ts-check
/** What the model says about the board of Play: values of all moves, the best one, and a grade of each. */

import { announce, fill, h, keep } from "./dom.js";
import { post, Problem } from "./api.js";
import { ARROWS, number, percent } from "./format.js";
import { modelName, noModel, theModel } from "./models.js";
import { listValues } from "./values.js";

/**
 * @typedef {{
 *   direction: string, legal: boolean, reward: number, value: number | null, total: number | null,
 *   loss: number | null, grade: string | null, share: number | null, chances?: any[], rest?: any,
 *   line?: any[] | null,
 * }} Move
 * @typedef {{
 *   moves: Move[], best: string | null, search: string,
 *   model: { path: string, trained?: number } | null,
 * }} Analysis
 */

/** After this time without an answer the model is being loaded, which takes seconds. */
const LOADING = 400;

export class Advice {
  /** @param {import("./play.js").Play} play the part whose board it is about */
  constructor(play) {
    this.play = play;
    /** @type {Analysis | null} */ this.analysis = null;
    /** @type {AbortController | null} */ this.asking = null;
    this.coach = h("div", { class: "coach", id: "coach" });
    this.says = h("p", { class: "muted small", id: "model-says", role: "status" });
    this.list = h("div", { class: "values", id: "values", hidden: !play.settings.values });
    this.button = h(
      "button",
      {
        type: "button",
        id: "show-values",
        "aria-pressed": String(play.settings.values),
        onclick: () => this.toggle(),
      },
      "Values ",
      h("kbd", {}, "v"),
    );
  }

  end() {
    this.asking?.abort();
  }

  toggle() {
    const { settings } = this.play;
    settings.values = !settings.values;
    keep("play.values", settings.values);
    this.list.hidden = !settings.values;
    this.button.setAttribute("aria-pressed", String(settings.values));
    this.drawValues();
  }

  drawValues() {
    const { session, settings } = this.play;
    if (settings.values && session.game) listValues(this.list, session.game, this.analysis);
  }

  /** Asks for the values of this board, once no move is waiting. */
  async ask() {
    this.asking?.abort();
    this.analysis = null;
    this.drawValues();
    const { autoplay, session, settings } = this.play;
    const { game } = session;
    if (!game || game.turn !== "slide" || !game.position || autoplay.isFast) return;
    const asking = new AbortController();
    this.asking = asking;
    const loading = setTimeout(() => {
      const name = settings.model ? theModel(settings.model) : "the model";
      if (!asking.signal.aborted) this.says.textContent = `loading ${name} …`;
    }, LOADING);
    const body = {
      game: game.game,
      board: game.board,
      position: game.position,
      model: settings.model || undefined,
    };
    try {
      const first = await post("/analyze", body, asking.signal);
      clearTimeout(loading);
      this.answered(first.analysis, game);
      const search = this.play.depth();
      if (search !== "1ply" && !autoplay.isOn) {
        const deeper = await post("/analyze", { ...body, search }, asking.signal);
        this.answered(deeper.analysis, game);
      }
    } catch (error) {
      if (!asking.signal.aborted) this.refused(error, game);
    } finally {
      clearTimeout(loading);
    }
  }

  /** @param {unknown} error @param {import("./session.js").Game} game */
  refused(error, game) {
    const { settings } = this.play;
    if (!(error instanceof Problem) || error.status === 0) this.says.textContent = "";
    else if (error.error === "no-such-model" && settings.model) {
      this.play.gone(settings.model);
      this.ask();
    } else if (error.error === "no-model") {
      fill(this.says, noModel(game.game, game.board));
    } else if (error.error === "other-game") {
      // The usual model answers.
      settings.model = "";
      this.play.card.draw();
      this.ask();
    } else {
      this.says.textContent = error.message;
    }
  }

  /** @param {Analysis} analysis @param {import("./session.js").Game} game */
  answered(analysis, game) {
    const { session, settings } = this.play;
    if (session.game !== game || session.ended) return;
    this.analysis = analysis;
    const { model, search } = analysis;
    const name = modelName(model?.path ?? settings.model);
    const trained = model?.trained ? `${number(model.trained)} games of training` : "";
    const words = [name, trained, search === name ? "" : search];
    this.says.textContent = words.filter(Boolean).join(", ");
    this.drawValues();
  }

  /** Takes back what was said about an earlier board. */
  quiet() {
    fill(this.coach);
  }

  /** @param {string} text */
  note(text) {
    fill(this.coach, h("span", { class: "note" }, text));
  }

  /** Grades a slide, before it is made. @param {string} direction */
  grade(direction) {
    const move = this.analysis?.moves.find((one) => one.direction === direction);
    if (!move?.grade || this.play.session.waiting > 0) {
      this.quiet();
      return;
    }
    const best = this.analysis?.best ?? direction;
    const says =
      move.grade === "best"
        ? `${ARROWS[direction]} is the best move`
        : `${ARROWS[direction]} keeps ${percent(move.share)} of the value; best was ${ARROWS[best]}`;
    fill(
      this.coach,
      h("span", { class: `tag ${move.grade}` }, move.grade),
      h("span", { class: "small muted" }, says),
    );
  }

  /** Shows the best move. */
  hint() {
    const best = this.analysis?.best;
    if (best) {
      this.note(`Best: ${ARROWS[best]} ${best}`);
      announce(`Best move: ${best}`);
      return;
    }
    const says = this.analysis ? "No move is legal." : "No model can tell yet.";
    fill(this.coach, h("span", { class: "small muted" }, says));
  }
}
