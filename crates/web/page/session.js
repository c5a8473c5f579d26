// @ts-check
/**
 * A game that the server plays. Requests go one after the other, the actions are kept in this browser, and
 * a game that the server has lost is begun again from them. Nothing here is an element of the page.
 */

import { keep, setting } from "./dom.js";
import { forget, post, Problem } from "./api.js";

/**
 * @typedef {{ cell: number, tile: number, hint: string | null, chance: number }} Spawn
 * @typedef {{
 *   id: string, game: string, board: string, rows: number, cols: number, cells: number[],
 *   turn: "slide" | "spawn" | "over", score: number, moves: number, made: number, actions: number,
 *   initial: number, slides: (number | null)[], hint: string | null, position: string | null,
 *   spawns: Spawn[],
 * }} Game
 * @typedef {(
 *   | { event: "slide", direction: string, reward: number, to: (number | null)[], cells: number[] }
 *   | { event: "spawn", cell: number, tile: number }
 * )} Happened
 * @typedef {{ game: Game, events: Happened[], tokens: string[] }} ActionResult
 * @typedef {{
 *   game?: string, board?: string, position?: string, actions?: string, manual?: boolean,
 *   own?: boolean,
 * }} Wanted a game to begin; `own` if all of its moves were the player's
 * @typedef {{ game: string, board: string, position: string | null, tokens: string[], own: boolean }} Kept
 * @typedef {{
 *   began: () => void, happened: (played: ActionResult, animate: boolean) => void,
 *   complain: (error: unknown) => void, gone: (model: string) => void, manual: () => boolean,
 * }} Listener
 */

/** Keys that come while more actions than this wait are left out. */
const MOST_WAITING = 12;
/** A longer game is written to the storage of the browser once in a while, not after each move. */
const LONG = 1000;

/** The game that this browser has kept, if it is one. @returns {Kept | null} */
export function keptGame() {
  const kept = setting("game", /** @type {any} */ (null));
  const isGame =
    kept &&
    typeof kept.game === "string" &&
    typeof kept.board === "string" &&
    Array.isArray(kept.tokens);
  return isGame ? { position: null, own: false, ...kept } : null;
}

export class GameSession {
  /** @param {Listener} listener */
  constructor(listener) {
    this.listener = listener;
    /** @type {Game | null} */ this.game = null;
    /** The actions as text, so that the game outlives the server. @type {string[]} */ this.tokens =
      [];
    /** @type {string | null} */ this.position = null;
    /** Whether all moves were the player's, and all tiles came by chance. */ this.own = false;
    /** @type {Promise<any>} */ this.queue = Promise.resolve();
    this.waiting = 0;
    this.ended = false;
    this.writing = 0;
  }

  /** Leaves the game, once nothing is under way. */
  end() {
    this.ended = true;
    this.write();
    this.queue.then(() => this.game && forget(this.game.id));
  }

  /** The page closes. */
  closing() {
    this.write();
    if (this.game) forget(this.game.id);
  }

  /** Does work after all that waits. @param {() => Promise<any>} work */
  queued(work) {
    this.queue = this.queue
      .then(() => (this.ended ? undefined : work()))
      .catch((error) => this.listener.complain(error));
    return this.queue;
  }

  /** Begins a game, once no action is under way. @param {Wanted} wanted */
  begin(wanted) {
    return this.queued(async () => {
      const left = this.game;
      await this.beginNow(wanted);
      if (left && this.game !== left) forget(left.id);
    });
  }

  /** Begins a game; only as queued work. @param {Wanted} wanted */
  async beginNow({ own = true, ...wanted }) {
    try {
      const played = /** @type {ActionResult} */ (await post("/games", wanted));
      if (this.ended) return forget(played.game.id);
      this.position = wanted.position ?? null;
      this.own = own && !wanted.position && !wanted.manual;
      this.tokens = played.tokens;
      this.took(played.game);
      this.listener.began();
    } catch (error) {
      this.listener.complain(error);
      const isOffline = error instanceof Problem && error.status === 0;
      const isUsual = wanted.game === "2048" && wanted.board === "4x4" && !wanted.actions;
      if (this.game || this.ended || isOffline || (isUsual && !wanted.position)) return;
      // An address or a record that no server can play: there is always a game.
      await this.beginNow({ game: "2048", board: "4x4", manual: this.listener.manual() });
      this.listener.complain(error);
    }
  }

  /** Begins the same game again from its actions; only as queued work. */
  async restore() {
    const left = this.game;
    const { game, board, made } = this.game ?? { game: "2048", board: "4x4", made: 0 };
    await this.beginNow({
      game,
      board,
      position: this.position ?? undefined,
      actions: this.tokens.slice(0, made).join("") || undefined,
      manual: this.listener.manual(),
      own: this.own,
    });
    if (left && this.game !== left) forget(left.id);
  }

  /** The same, once no action is under way: the server was away. */
  again() {
    return this.queued(() => this.restore());
  }

  /** @param {Game} game */
  took(game) {
    this.game = game;
    if (this.own) {
      const record = `best.${game.game}.${game.board}`;
      if (game.score > setting(record, 0)) keep(record, game.score);
    }
    if (game.made < LONG) this.write();
    else this.writing ||= window.setTimeout(() => this.write(), 1000);
  }

  /** Keeps the game in this browser. */
  write() {
    clearTimeout(this.writing);
    this.writing = 0;
    if (!this.game) return;
    const { game, board, made } = this.game;
    const { position, own } = this;
    keep("game", { game, board, position, own, tokens: this.tokens.slice(0, made) });
  }

  /**
   * Does one thing after the other; keys that come meanwhile wait. The result tells whether it was done.
   * @param {string} path @param {Record<string, any>} body @param {boolean} [animate]
   * @returns {Promise<boolean>}
   */
  act(path, body, animate = true) {
    if (this.waiting >= MOST_WAITING || !this.game) return Promise.resolve(false);
    this.waiting += 1;
    return this.queued(async () => {
      try {
        return await this.actNow(path, body, animate);
      } finally {
        this.waiting -= 1;
      }
    });
  }

  /** @param {string} path @param {Record<string, any>} body @param {boolean} animate @returns {Promise<boolean>} */
  async actNow(path, body, animate) {
    const game = /** @type {Game} */ (this.game);
    try {
      const played = /** @type {ActionResult} */ (await post(`/games/${game.id}${path}`, body));
      // An answer about a game that was left.
      if (this.ended || this.game?.id !== game.id) return false;
      const kept = Math.min(played.game.made, game.made);
      const isShorter = played.game.made < game.made;
      const tokens = this.tokens.slice(0, kept).concat(isShorter ? [] : played.tokens);
      if (tokens.length !== played.game.made) {
        // An answer was lost, and actions with it: the game is begun again from those that are known.
        await this.restore();
        return false;
      }
      this.tokens = tokens;
      if (path === "/auto" || (body.spawns ?? "random") !== "random") this.own = false;
      this.took(played.game);
      this.listener.happened(played, animate);
      return true;
    } catch (error) {
      const word = error instanceof Problem ? error.error : "";
      if (word === "missing") {
        await this.restore();
      } else if (word === "no-such-model" && body.model) {
        this.listener.gone(body.model);
        return this.actNow(path, { ...body, model: undefined }, animate);
      } else if (!(word === "conflict" && path === "/slide")) {
        this.listener.complain(error);
      }
      return false;
    }
  }

  /** Undoes or makes again what leads to a number of moves. @param {number} moves */
  jump(moves) {
    const now = this.game?.moves ?? 0;
    if (moves < now) this.act("/undo", { to: moves }, false);
    else if (this.game && this.game.made < this.game.actions)
      this.act("/redo", { to: moves }, false);
  }
}
