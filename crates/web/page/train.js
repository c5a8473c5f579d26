// @ts-check
/** Train: recipes as forms, runs with live curves, and comparisons in one chart. */

import { announce, choice, fill, h } from "./dom.js";
import { get, listen, meta, post } from "./api.js";
import { Chart } from "./chart.js";
import { gameName, number } from "./format.js";
import { LiveRuns } from "./live.js";
import { RunDetail } from "./run-detail.js";
import { RecipeForm } from "./recipe-form.js";
import { Sweeps } from "./sweeps.js";
import { scrolled } from "./table.js";

/** What can be shown: its name, and the name of the axis. */
const MEASURES = /** @type {[string, string, string][]} */ ([
  ["mean", "mean score", "points"],
  ["max", "highest score", "points"],
  ["win", "reach rate of a tile", "share of games"],
  ["end", "share of games ended with a tile", "share of games"],
  ["speed", "moves a second", "moves a second"],
  ["loss", "loss (replay)", "loss"],
  ["value", "value Q (replay)", "Q"],
]);
const NO_REPLAY = "These runs have no such number: they learn without a replay buffer.";

/** @param {Element} root @param {URLSearchParams} query */
export function show(root, query) {
  const page = new Train(root, query);
  page.start();
  return () => page.end();
}

class Train {
  /** @param {Element} root @param {URLSearchParams} query */
  constructor(root, query) {
    this.root = root;
    this.query = query;
    /** @type {any[]} */ this.recipes = [];
    /** @type {any[]} */ this.runs = [];
    /** @type {Set<string>} */ this.chosen = new Set();
    /** @type {Map<string, any[]>} */ this.blocks = new Map();
    /** @type {Map<string, any>} */ this.details = new Map();
    /** @type {Map<string, any>} */ this.progress = new Map();
    /** @type {any[]} */ this.games = [];
    /** Whether this program can train deep networks. */ this.deep = true;
    this.picked = "";
    this.measure = "mean";
    this.tile = 0;
    this.ended = false;
    this.isReady = false;
    this.form = new RecipeForm(this);
    this.live = new LiveRuns(this);
    this.detail = new RunDetail({ resume: (id, set) => this.act("/run/resume", { id, set }) });
    this.sweeps = new Sweeps();
    this.back = () => (this.isReady ? this.again() : this.start());
    addEventListener("afterstate:back", this.back);
    this.build();
  }

  build() {
    this.list = h("div", { id: "runs" });
    this.fault = h("div", { role: "alert", id: "train-fault" });
    this.pick = h("div", { class: "two" });
    this.chart = new Chart({
      title: "Learning curves",
      level: "h2",
      x: "games",
      y: "points",
    });
    fill(
      this.root,
      h(
        "div",
        { class: "stack" },
        h(
          "div",
          { class: "row spread" },
          h("h1", {}, "Train"),
          h(
            "button",
            {
              type: "button",
              class: "primary",
              id: "open-form",
              "aria-expanded": "false",
              onclick: () => this.form.toggle(),
            },
            "New run",
          ),
        ),
        this.fault,
        this.form.root,
        this.live.root,
        h("div", { class: "card stack" }, this.pick, this.chart.root),
        h("div", { class: "card stack tight" }, h("h2", {}, "Runs"), this.list),
        this.detail.root,
        this.sweeps.root,
      ),
    );
  }

  async start() {
    /** @type {any} */ let recipes, about;
    try {
      [recipes, about] = await Promise.all([get("/recipes"), meta()]);
    } catch (error) {
      this.complain(error);
      return;
    }
    if (this.ended) return;
    fill(this.fault);
    this.recipes = recipes;
    this.games = about.games;
    this.deep = about.deep;
    const game = this.query.get("game"),
      board = this.query.get("board") ?? "4x4";
    if (game) {
      this.form.recipe =
        this.recipes.find((one) => one.game === game && one.board === board)?.name ?? "quick";
      const recipe = this.recipes.find((one) => one.name === this.form.recipe);
      if (recipe.game !== game) this.form.set.game = game;
      if (recipe.board !== board || recipe.game !== game)
        Object.assign(this.form.set, { board, "network.tuples": "lines" });
    }
    await this.refresh();
    if (this.ended) return;
    const newest = this.runs.find((run) => !run.id.includes("/")) ?? this.runs[0];
    if (newest) this.chosen.add(newest.id);
    this.drawList();
    if (this.runs.length === 0 || game) this.form.toggle();
    this.listen();
    this.timer = window.setInterval(
      () => document.visibilityState === "visible" && this.refresh(),
      5000,
    );
    this.isReady = true;
    this.reload();
  }

  /** The server is back: what happened meanwhile is read. */
  again() {
    this.listen();
    fill(this.fault);
    this.refresh();
    this.reload();
  }

  /** Listens to what happens to runs. */
  listen() {
    this.stop?.();
    this.stop = listen({
      progress: (event) => this.heard(event),
      block: (event) => this.block(event),
      ended: () => this.refresh(),
      finished: (event) => announce(`The run ${event.id} has ended.`),
      failed: (event) => this.complain(`${event.id}: ${event.error}`),
      missed: () => this.reload(),
    });
  }

  end() {
    this.ended = true;
    this.live.watched = "";
    this.stop?.();
    clearInterval(this.timer);
    removeEventListener("afterstate:back", this.back);
  }

  async refresh() {
    try {
      this.runs = await get("/runs");
    } catch {
      return;
    }
    if (this.ended) return;
    this.drawList();
    this.live.draw();
    // The runs of sweeps are in folders of folders.
    if (this.runs.some((run) => run.id.includes("/"))) this.sweeps.refresh();
    // Runs that other processes train grow, too.
    for (const run of this.runs)
      if (run.status === "running" && !run.here && this.chosen.has(run.id)) this.load(run.id);
  }

  /** The blocks of a run, or those after the last one. @param {string} id */
  async load(id) {
    const known = this.blocks.get(id) ?? [];
    const after = known.length ? known[known.length - 1].games : 0;
    try {
      const more = await get(`/run/blocks?id=${encodeURIComponent(id)}&after=${after}`);
      const now = this.blocks.get(id) ?? [];
      const last = now.length ? now[now.length - 1].games : 0;
      this.blocks.set(
        id,
        now.concat(more.filter((/** @type {any} */ block) => block.games > last)),
      );
    } catch {
      this.blocks.set(id, known);
    }
    if (!this.ended) this.drawChart();
  }

  async reload() {
    for (const id of this.chosen) {
      this.blocks.delete(id);
      await this.load(id);
    }
    this.drawChart();
  }

  /** A run that was started here. @param {any} run */
  async began(run) {
    // Curves of another game say nothing beside its own.
    const others = this.runs.filter((one) => one.game !== run.game || one.board !== run.board);
    others.forEach((one) => this.chosen.delete(one.id));
    this.chosen.add(run.id);
    this.blocks.set(run.id, []);
    fill(this.fault);
    await this.refresh();
    this.drawChart();
  }

  /** @param {any} event */
  heard(event) {
    this.progress.set(event.id, event);
    this.live.draw();
  }

  /** @param {any} event */
  block(event) {
    const known = this.blocks.get(event.id);
    const run = this.runs.find((one) => one.id === event.id);
    if (run) Object.assign(run, { games: event.games, mean: event.mean });
    if (!known) return;
    if (known.length === 0 || event.games > known[known.length - 1].games) known.push(event);
    if (this.chosen.has(event.id)) this.drawChart();
  }

  drawList() {
    if (this.runs.length === 0) {
      fill(
        this.list,
        h(
          "p",
          { class: "muted" },
          "There are no runs yet. Start one here, or with `afterstate train`: it appears by itself.",
        ),
      );
      return;
    }
    const row = (/** @type {any} */ run) =>
      h(
        "tr",
        {},
        h(
          "td",
          {},
          h("input", {
            type: "checkbox",
            "aria-label": `Show ${run.id} in the chart`,
            checked: this.chosen.has(run.id),
            onchange: (/** @type {any} */ event) => {
              if (event.target.checked) {
                this.chosen.add(run.id);
                this.load(run.id);
              } else {
                this.chosen.delete(run.id);
                this.drawChart();
              }
            },
          }),
        ),
        h(
          "td",
          {},
          h(
            "button",
            { type: "button", class: "open-run", onclick: () => this.open(run.id) },
            run.id,
          ),
        ),
        h("td", {}, h("span", { class: `tag ${run.status}` }, run.status)),
        h("td", {}, `${gameName(run.game ?? "–")} ${run.board ?? ""}`),
        h("td", { class: "n" }, number(run.games)),
        h("td", { class: "n" }, number(run.mean)),
        h("td", { class: "wraps" }, h("span", { class: "small muted" }, run.changed.join(", "))),
      );
    const table = (/** @type {any[]} */ runs) =>
      h(
        "table",
        { class: "data" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, "Chart"),
            h("th", {}, "Run"),
            h("th", {}, "Status"),
            h("th", {}, "Game"),
            h("th", { class: "n" }, "Games"),
            h("th", { class: "n" }, "Mean"),
            h("th", {}, "Changed"),
          ),
        ),
        h("tbody", {}, runs.map(row)),
      );
    if (this.list.contains(document.activeElement)) return;
    const region = (/** @type {string} */ name, /** @type {any[]} */ runs) =>
      scrolled(name, table(runs));
    // Runs of sweeps, which are many, are folded.
    const own = this.runs.filter((run) => !run.id.includes("/"));
    const others = this.runs.filter((run) => run.id.includes("/"));
    const isOpen = this.list.querySelector("details")?.open ?? own.length === 0;
    fill(
      this.list,
      own.length > 0 && region("Runs", own),
      others.length > 0 &&
        h(
          "details",
          { open: isOpen },
          h("summary", {}, `${number(others.length)} runs of sweeps`),
          region("Runs of sweeps", others),
        ),
    );
  }

  /** @param {string} id */
  async open(id) {
    try {
      await this.detail.open(id);
    } catch (error) {
      this.complain(error);
    }
  }

  /** Stops a run. @param {string} id */
  async stopRun(id) {
    try {
      await this.act("/run/stop", { id });
    } catch (error) {
      this.complain(error);
    }
  }

  /** @param {string} path @param {{ id: string, set?: Record<string, string> }} body */
  async act(path, body) {
    await post(path, body);
    fill(this.fault);
    this.chosen.add(body.id);
    await this.refresh();
    await this.load(body.id);
  }

  drawChart() {
    const all = [...this.chosen].map((id) => ({ id, blocks: this.blocks.get(id) ?? [] }));
    const tiles = [
      ...new Set(
        all.flatMap(({ blocks }) =>
          blocks.flatMap((block) => Object.keys(block.ended ?? {}).map(Number)),
        ),
      ),
    ].sort((a, b) => a - b);
    if (!tiles.includes(this.tile)) this.tile = tiles[Math.max(tiles.length - 3, 0)] ?? 0;
    const ofTile = this.measure === "win" || this.measure === "end";
    const key = `${this.measure}|${ofTile ? this.tile : ""}|${tiles}`;
    if (this.picked !== key) {
      this.picked = key;
      const names = MEASURES.map(([name, text]) => /** @type {[string, string]} */ ([name, text]));
      fill(
        this.pick,
        choice("Show", names, this.measure, (measure) => {
          this.measure = measure;
          this.drawChart();
        }),
        ofTile &&
          choice(
            "Tile",
            tiles.map((tile) => [String(tile), number(tile)]),
            String(this.tile),
            (tile) => {
              this.tile = Number(tile);
              this.drawChart();
            },
          ),
      );
    }
    const y = (/** @type {any} */ block) => {
      const ended = Object.entries(block.ended ?? {});
      const sum = (/** @type {(tile: number) => boolean} */ counts) =>
        ended.reduce(
          (all_, [tile, count]) => all_ + (counts(Number(tile)) ? Number(count) : 0),
          0,
        ) / block.block_games;
      switch (this.measure) {
        case "win":
          return sum((tile) => tile >= this.tile);
        case "end":
          return sum((tile) => tile === this.tile);
        case "speed":
          return block.moves_per_second;
        case "loss":
          return block.replay?.loss ?? null;
        case "value":
          return block.replay?.value ?? null;
        default:
          return block[this.measure];
      }
    };
    const { chart } = this;
    if (!chart) return;
    const [, title, axis] = MEASURES.find(([name]) => name === this.measure) ?? MEASURES[0];
    const isReplay = this.measure === "loss" || this.measure === "value";
    const hasBlocks = all.some(({ blocks }) => blocks.length > 0);
    Object.assign(chart.options, {
      percent: ofTile,
      title: `Learning curves: ${ofTile ? title.replace("a tile", number(this.tile)) : title}`,
      y: axis,
      name: `learning-curves-${this.measure}${ofTile ? `-${this.tile}` : ""}`,
      empty: isReplay && hasBlocks ? NO_REPLAY : undefined,
    });
    chart.show(
      all.map(({ id, blocks }) => ({
        name: id,
        points: /** @type {[number, number][]} */ (
          blocks.flatMap((block) => (y(block) === null ? [] : [[block.games, y(block)]]))
        ),
      })),
    );
  }

  /** @param {any} error */
  complain(error) {
    fill(
      this.fault,
      h("p", { class: "error" }, error instanceof Error ? error.message : String(error)),
    );
  }
}
