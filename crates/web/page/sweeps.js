// @ts-check
/** Sweeps: variants with several seeds each, their table and their curves. */

import { choice, fill, h } from "./dom.js";
import { get } from "./api.js";
import { Chart } from "./chart.js";
import { number, percent, signed } from "./format.js";
import { dataTable, scrolled } from "./table.js";

/** A number with its interval. @param {string} text @param {string | null} low @param {string} [high] */
const between = (text, low, high) => (low === null ? text : `${text} (${low} to ${high})`);

export class Sweeps {
  constructor() {
    /** @type {any[]} */ this.sweeps = [];
    this.id = "";
    this.drawn = "";
    this.choices = h("div", { class: "two" });
    this.about = h("p", { class: "small muted" });
    this.table = h("div", {});
    this.chart = new Chart({
      title: "Mean score of each variant over its seeds",
      x: "games",
      y: "points",
      name: "sweep",
    });
    this.root = h(
      "section",
      { class: "card stack", id: "sweeps", "aria-labelledby": "sweeps-title", hidden: true },
      h("h2", { id: "sweeps-title" }, "Sweeps"),
      this.choices,
      this.about,
      this.table,
      this.chart.root,
    );
  }

  /** Reads all sweeps anew. */
  async refresh() {
    try {
      this.sweeps = await get("/sweeps");
    } catch {
      return;
    }
    this.root.hidden = this.sweeps.length === 0;
    if (!this.sweeps.some((one) => one.id === this.id)) this.id = this.sweeps[0]?.id ?? "";
    await this.draw();
  }

  async draw() {
    const sweep = this.sweeps.find((one) => one.id === this.id);
    const key = JSON.stringify([this.sweeps.map((one) => one.id), sweep]);
    if (!sweep || key === this.drawn) return;
    this.drawn = key;
    fill(
      this.choices,
      choice(
        "Sweep",
        this.sweeps.map((one) => [one.id, one.id]),
        this.id,
        (id) => {
          this.id = id;
          this.draw();
        },
      ),
    );
    this.about.textContent =
      sweep.heading ?? "This sweep is not finished: the table is that of its last blocks.";
    fill(
      this.table,
      scrolled(`Table of ${sweep.id}`, sweep.heading ? finished(sweep) : running(sweep)),
    );
    try {
      const curves = await get(`/sweep/curves?id=${encodeURIComponent(sweep.id)}`);
      if (this.id !== sweep.id) return;
      this.chart.show(
        curves.map((/** @type {any} */ curve) => ({
          name: `${curve.name} (${curve.seeds} ${curve.seeds === 1 ? "seed" : "seeds"})`,
          points: curve.points.map((/** @type {any} */ one) => [one.games, one.mean]),
          band: curve.points.map((/** @type {any} */ one) => [one.low, one.high]),
        })),
      );
    } catch {
      this.chart.show([]);
    }
  }
}

/** The table of a finished sweep: means, differences and win rates with 95% intervals. @param {any} sweep */
function finished(sweep) {
  const rows = sweep.variants.filter((/** @type {any} */ one) => one.row);
  const tile = rows[0]?.row.tile;
  const means = rows.map((/** @type {any} */ one) => one.row.mean ?? 0);
  const places = Math.max(...means) >= 1000 ? 0 : 1;
  const score = (/** @type {number | null} */ one) => number(one, places);
  const tint = /** @type {Record<string, string>} */ ({ better: "good", worse: "damaged" });
  return dataTable(
    [
      "Variant",
      { number: "Seeds" },
      { number: "Mean (95%)" },
      { number: "Difference (95%)" },
      "Verdict",
      ...(tile ? [{ number: `Reached ${number(tile)} (95%)` }] : []),
      { number: rows[0]?.row.speed_unit || "Speed" },
    ],
    rows.map((/** @type {any} */ { name, row }) => [
      name,
      row.diverged ? `${row.seeds}, ${row.diverged} diverged` : row.seeds,
      between(
        score(row.mean),
        row.mean_low === null ? null : score(row.mean_low),
        score(row.mean_high),
      ),
      row.difference === null
        ? "–"
        : between(
            signed(row.difference, places),
            row.difference_low === null ? null : signed(row.difference_low, places),
            signed(row.difference_high, places),
          ),
      row.verdict
        ? h("span", { class: `tag ${tint[row.verdict] ?? ""}` }, row.verdict)
        : h("span", { class: "small muted" }, "the others are compared with it"),
      ...(tile
        ? [
            between(
              percent(row.reach),
              row.reach_low === null ? null : percent(row.reach_low),
              percent(row.reach_high),
            ),
          ]
        : []),
      number(row.speed, row.speed !== null && row.speed < 10 ? 1 : 0),
    ]),
  );
}

/** What the runs of a sweep have reached so far. @param {any} sweep */
function running(sweep) {
  return dataTable(
    ["Variant", { number: "Finished" }, { number: "Games" }, { number: "Mean of the last blocks" }],
    sweep.variants.map((/** @type {any} */ { name, runs }) => {
      const means = runs.flatMap((/** @type {any} */ run) => (run.mean === null ? [] : [run.mean]));
      const sum = (/** @type {number[]} */ all) => all.reduce((a, b) => a + b, 0);
      return [
        name,
        `${runs.filter((/** @type {any} */ run) => run.status === "finished").length} of ${runs.length}`,
        number(sum(runs.map((/** @type {any} */ run) => run.games))),
        means.length ? number(sum(means) / means.length) : "–",
      ];
    }),
  );
}
