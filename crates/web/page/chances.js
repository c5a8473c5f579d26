// @ts-check
/** The chance of a tile along a reviewed game: games are played on from places of it. */

import { choice, fill, h } from "./dom.js";
import { post } from "./api.js";
import { Chart } from "./chart.js";
import { number, percent } from "./format.js";

/** Places of the game, and games that are played on from each. */
const PLACES = 40,
  GAMES = 100;

export class Chances {
  /** @param {import("./review.js").Review} review */
  constructor(review) {
    this.review = review;
    /** @type {AbortController | null} */ this.asking = null;
    this.tile = 0;
    this.chart = new Chart({
      title: "Chance of a tile",
      x: "move",
      y: "chance",
      height: 200,
      percent: true,
      pick: (x) => review.to(Math.round(x)),
    });
    this.status = h("span", { class: "small muted", role: "status" });
    this.choices = h("div", { class: "row", id: "chance-of" });
    this.root = h(
      "details",
      { id: "chances" },
      h("summary", {}, "The chance of a tile along the game"),
      h(
        "p",
        { class: "small muted" },
        `From up to ${PLACES} places of the game the model plays on ${GAMES} times. The curve is the share of these games that reach the tile.`,
      ),
      h("div", { class: "row" }, this.choices, this.status),
      this.chart.root,
    );
    this.root.addEventListener("toggle", () => this.root.open && !this.tile && this.start());
  }

  end() {
    this.asking?.abort();
  }

  /** @param {number} step */
  mark(step) {
    this.chart.mark(step);
  }

  /** The choice of a tile: those that are near the largest of the game. */
  start() {
    const { largest } = this.review.game;
    const game = this.review.found.game;
    const tiles = this.review.page.games.find((one) => one.name === game)?.tiles;
    const place = (tiles ?? [largest]).indexOf(largest);
    const near = (tiles ?? [largest]).slice(Math.max(place - 2, 0), place + 3);
    this.tile = near.includes(2048) ? 2048 : largest;
    fill(
      this.choices,
      choice(
        "Tile",
        near.map((/** @type {number} */ tile) => [String(tile), number(tile)]),
        String(this.tile),
        (tile) => {
          this.tile = Number(tile);
          this.ask();
        },
      ),
    );
    this.ask();
  }

  /** The largest tile of a position. @param {number} step */
  largest(step) {
    const tiles = this.review.game.positions[step].board.match(/\d+(?=[,/+\s]|$)/g) ?? [];
    return Math.max(0, ...tiles.map(Number));
  }

  async ask() {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const { found, game, page } = this.review;
    const { tile } = this;
    const last = game.positions.length - 1;
    const count = Math.min(PLACES, last + 1);
    /** @type {[number, number][]} */ const points = [];
    try {
      for (let place = 0; place < count; place++) {
        const step = count === 1 ? 0 : Math.round((place * last) / (count - 1));
        const { chance } = await post(
          "/chance",
          {
            game: found.game,
            board: found.board,
            position: game.positions[step].board,
            model: page.model || undefined,
            tile,
            games: GAMES,
          },
          asking.signal,
        );
        // In a game that is over, the tile was reached or not.
        points.push([step, chance ?? Number(this.largest(step) >= tile)]);
        this.chart.show([{ name: `chance of ${number(tile)}`, points: [...points] }]);
        this.status.textContent = `${place + 1} of ${count} places`;
      }
      const latest = points[points.length - 1];
      this.status.textContent = latest ? `${percent(latest[1], 0)} at the end` : "";
    } catch (error) {
      if (error instanceof DOMException) return;
      this.status.textContent = error instanceof Error ? error.message : String(error);
    }
  }
}
