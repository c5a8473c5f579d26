// @ts-check
/** The runs that this server trains: their progress, and games of the agent as it learns. */

import { fill, h } from "./dom.js";
import { forget, post, Problem } from "./api.js";
import { BoardView } from "./board.js";
import { duration, number, percent } from "./format.js";

export class LiveRuns {
  /** @param {{ runs: any[], progress: Map<string, any>, ended: boolean, stopRun: (id: string) => any }} page */
  constructor(page) {
    this.page = page;
    this.root = h("div", { class: "stack", id: "live-runs" });
    this.view = new BoardView({ small: true, label: "Game of the agent" });
    this.watched = "";
    /** How often a run was begun to be watched: only the last loop goes on. */ this.loop = 0;
    /** Shares of progress by time. @type {Map<string, [number, number][]>} */ this.paces =
      new Map();
  }

  /** The runs that this server trains. */
  draw() {
    const live = this.page.runs.filter((run) => run.here);
    const known = [...this.root.children].map((/** @type {any} */ one) => one.dataset.id).join();
    if (known !== live.map((run) => run.id).join()) {
      fill(
        this.root,
        live.map((run) => {
          const card = h(
            "div",
            { class: "card stack tight", "data-id": run.id },
            h(
              "div",
              { class: "row spread" },
              h("h2", {}, run.id, " ", h("span", { class: "tag running" }, "running")),
              h(
                "div",
                { class: "row" },
                h(
                  "button",
                  { type: "button", class: "watch", onclick: () => this.watch(run) },
                  "Watch it play",
                ),
                h(
                  "button",
                  {
                    type: "button",
                    class: "danger stop",
                    onclick: () => this.page.stopRun(run.id),
                  },
                  "Stop",
                ),
              ),
            ),
            h("progress", { max: "1", "aria-label": `Progress of ${run.id}` }),
            h("p", { class: "small numbers" }),
            h("div", { class: "game" }),
          );
          return card;
        }),
      );
    }
    for (const card of /** @type {any} */ (this.root.children)) {
      const run = live.find((one) => one.id === card.dataset.id);
      const event = this.page.progress.get(run.id) ?? run.progress;
      if (!event) continue;
      card.querySelector("progress").value = event.share;
      const seen = this.paces.get(run.id) ?? [];
      seen.push([performance.now() / 1000, event.share]);
      if (seen.length > 300) seen.shift();
      this.paces.set(run.id, seen);
      const [time, share] = seen[0];
      const rate = (event.share - share) / (performance.now() / 1000 - time);
      card.querySelector(".numbers").textContent =
        `${percent(event.share)} · ${number(event.done)} ${event.unit} · mean of the last games ${number(event.mean)} · ${number(event.moves_per_second)} moves/s · ${rate > 0 ? duration((1 - event.share) / rate) : "–"} left`;
    }
  }

  /** Plays games with the agent under training. @param {any} run */
  async watch(run) {
    const card = [...this.root.children].find(
      (/** @type {any} */ one) => one.dataset.id === run.id,
    );
    const box = card?.querySelector(".game");
    if (!box) return;
    if (this.watched === run.id) {
      this.watched = "";
      fill(box);
      return;
    }
    this.watched = run.id;
    const loop = ++this.loop;
    const goesOn = () => this.watched === run.id && this.loop === loop && !this.page.ended;
    const text = h("p", { class: "small muted" });
    const holder = h("div", {}, this.view.root);
    holder.style.maxWidth = "220px";
    fill(box, holder, text);
    try {
      while (goesOn()) {
        let played = await post("/games", { game: run.game, board: run.board });
        this.view.shape(run.game, played.game.rows, played.game.cols);
        this.view.set(played.game.cells);
        while (played.game.turn === "slide" && goesOn()) {
          const next = await post(`/games/${played.game.id}/auto`, { model: run.id }).catch(dropped);
          if (!next) break;
          played = next;
          for (const event of played.events) {
            if (event.event === "slide") this.view.slide(event.to, event.cells);
            else this.view.spawn(event.cell, event.tile);
          }
          text.textContent = `${number(played.game.score)} points, ${number(played.game.moves)} moves`;
          await new Promise((done) => setTimeout(done, 110));
        }
        forget(played.game.id);
        await new Promise((done) => setTimeout(done, 800));
      }
    } catch (error) {
      const hasEnded = error instanceof Problem && error.error === "no-such-model";
      const why = error instanceof Error ? error.message : String(error);
      fill(box, h("p", { class: "small muted" }, hasEnded ? "The run has ended." : why));
      if (this.loop === loop) this.watched = "";
    }
  }
}

/** Nothing, if the server has dropped the game: it keeps a limited number. @param {unknown} error */
function dropped(error) {
  if (error instanceof Problem && error.error === "missing") return undefined;
  throw error;
}
