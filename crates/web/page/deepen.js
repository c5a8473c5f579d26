// @ts-check
/** The values of all moves, searched deeper and deeper until a depth or a time, then by playing on. */

import { post, Problem } from "./api.js";

/**
 * @typedef {import("./advice.js").Analysis} Analysis
 * @typedef {{
 *   game: string, position: string, board: string, model: string, depth: string, rollouts: number,
 * }} Question `depth`: a number of plies, or a time such as `500ms`
 * @typedef {{
 *   status: (text: string) => void, found: (analysis: Analysis) => void,
 *   failed: (error: unknown) => void,
 * }} Listener
 */

/** The deepest search of the server. */
const MOST_PLIES = 6;

export class Deepen {
  /** @param {Listener} listener */
  constructor(listener) {
    this.listener = listener;
    /** @type {AbortController | null} */ this.asking = null;
  }

  /** Ends what is under way. */
  end() {
    this.asking?.abort();
  }

  /** Answers a question in place of the one before it. @param {Question} question */
  async ask(question) {
    this.end();
    const asking = new AbortController();
    this.asking = asking;
    try {
      const { analysis, status } = await this.search(question, asking);
      this.listener.status(status);
      if (question.rollouts > 0) await this.playOn(question, analysis, asking.signal);
    } catch (error) {
      if (!asking.signal.aborted) this.listener.failed(error);
    }
  }

  /** @param {Question} question */
  body({ game, position, board, model }) {
    return { game, position, board, model: model || undefined };
  }

  /**
   * Searches one ply more each time.
   * @param {Question} question @param {AbortController} asking
   * @returns {Promise<{ analysis: Analysis, status: string }>} the deepest answer, and how it was found
   */
  async search(question, asking) {
    const isTimed = question.depth.endsWith("ms");
    const time = isTimed ? Number.parseInt(question.depth, 10) : 0;
    const plies = isTimed ? MOST_PLIES : Number(question.depth);
    const begun = performance.now();
    const seconds = () => ((performance.now() - begun) / 1000).toFixed(1);
    /** @type {Analysis | null} */ let found = null;
    for (let ply = 1; ply <= plies; ply++) {
      const search = `${ply}ply`;
      this.listener.status(`searching ${search} …`);
      /** @type {Analysis | null} */ let analysis;
      try {
        analysis = await this.once({ ...this.body(question), search }, asking, () =>
          found && isTimed ? time - (performance.now() - begun) : Infinity,
        );
      } catch (error) {
        // What was found stays where the server has no time for more.
        if (!found || !(error instanceof Problem) || ![408, 429].includes(error.status))
          throw error;
        return { analysis: found, status: `${found.search}; the server has no time for ${search}` };
      }
      if (!analysis) break;
      // Lines are those of the values at once.
      analysis.moves.forEach((move, place) => {
        move.line ??= found?.moves[place]?.line;
      });
      found = analysis;
      this.listener.found(analysis);
    }
    // The first search has no limit, and fails if it finds nothing.
    const analysis = /** @type {Analysis} */ (/** @type {unknown} */ (found));
    const status = isTimed ? `${analysis.search} in ${seconds()} s` : analysis.search;
    return { analysis, status };
  }

  /**
   * One search; null if its time is over first.
   * @param {any} body @param {AbortController} asking @param {() => number} left milliseconds
   * @returns {Promise<Analysis | null>}
   */
  async once(body, asking, left) {
    const time = left();
    if (time <= 0) return null;
    const late = new AbortController();
    const timer = Number.isFinite(time) ? setTimeout(() => late.abort(), time) : 0;
    const signal = AbortSignal.any([asking.signal, late.signal]);
    try {
      const answer = await post("/analyze", { ...body, lines: body.search === "1ply" }, signal);
      return answer.analysis;
    } catch (error) {
      if (late.signal.aborted && !asking.signal.aborted) return null;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Adds chances by games that are played on. @param {Question} question @param {Analysis} analysis @param {AbortSignal} signal */
  async playOn(question, analysis, signal) {
    const { rollouts } = question;
    this.listener.status(`playing ${rollouts} games after each move …`);
    const rolled = await post("/analyze", { ...this.body(question), rollouts }, signal);
    analysis.moves.forEach((move, place) => {
      move.chances = rolled.analysis.moves[place].chances;
      move.rest = rolled.analysis.moves[place].rest;
    });
    this.listener.found(analysis);
    this.listener.status(`${analysis.search}, ${rollouts} games a move`);
  }
}
