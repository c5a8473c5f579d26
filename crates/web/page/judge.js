// @ts-check
/** Judge: verdicts about files of records, with faults by line, as a table and as CSV. */

import { announce, choice, download, fill, h } from "./dom.js";
import { meta, post, Problem } from "./api.js";
import { dropZone } from "./drop.js";
import { gameName, number, percent } from "./format.js";
import { dataTable, scrolled, tableHead } from "./table.js";

/**
 * @typedef {{
 *   name: string, file: File, query: URLSearchParams, report?: any, error?: string, isUnasked?: boolean,
 * }} Verdict
 */

/** The most faults that are listed. */
const MOST_FAULTS = 100;

/** @param {Element} root */
export function show(root) {
  const page = new Judge(root);
  page.start();
  return () => page.end();
}

class Judge {
  /** @param {Element} root */
  constructor(root) {
    this.root = root;
    this.game = "";
    this.games = "";
    this.speed = "";
    /** @type {Verdict[]} */ this.verdicts = [];
    this.selected = 0;
    this.ended = false;
    this.back = () => this.again();
    addEventListener("afterstate:back", this.back);
  }

  end() {
    this.ended = true;
    removeEventListener("afterstate:back", this.back);
  }

  async start() {
    const about = await meta();
    if (this.ended) return;
    const drop = dropZone(
      {
        id: "judge-files",
        title: "Drop the files of a whole class here",
        text: "or choose them: episode records, one game a line",
        multiple: true,
      },
      (files) => this.add(files),
    );
    const field = (/** @type {string} */ label, /** @type {(text: string) => void} */ changed) => {
      const input = h("input", { type: "number", min: "0", onchange: () => changed(input.value) });
      return h("label", { class: "field" }, label, input);
    };
    this.table = h("div", {});
    this.detail = h("div", {});
    fill(
      this.root,
      h(
        "div",
        { class: "stack" },
        h("h1", {}, "Judge"),
        h(
          "p",
          { class: "lead" },
          "The judge replays every game of a file: each action must follow the rules, rewards must be right, and new tiles must be those of chance. It cannot see who played.",
        ),
        h(
          "div",
          { class: "card form" },
          choice(
            "Game",
            [
              ["", "detected from the records"],
              ...about.games.map((/** @type {any} */ one) => [one.name, gameName(one.name)]),
            ],
            "",
            (game) => {
              this.game = game;
            },
          ),
          field("Games required", (games) => {
            this.games = games;
          }),
          field("Moves a second required", (speed) => {
            this.speed = speed;
          }),
        ),
        drop,
        this.table,
        this.detail,
      ),
    );
  }

  /** @param {File[]} files */
  async add(files) {
    const first = this.verdicts.length;
    const query = this.query();
    const added = files.map((file) => ({ name: file.name, file, query }));
    this.verdicts.push(...added);
    await this.judge(added);
    if (this.ended) return;
    this.selected = first;
    this.draw();
    const passed = this.verdicts.filter((one) => one.report?.passed).length;
    announce(`${passed} of ${this.verdicts.length} files passed.`);
  }

  /** What is required of the files. */
  query() {
    const query = new URLSearchParams();
    if (this.game) query.set("game", this.game);
    if (this.games) query.set("games", this.games);
    if (this.speed) query.set("min_speed", this.speed);
    return query;
  }

  /** Judges files, one after the other. @param {Verdict[]} verdicts */
  async judge(verdicts) {
    for (const verdict of verdicts) {
      delete verdict.error;
      this.draw();
      try {
        verdict.report = await post(`/judge?${verdict.query}`, verdict.file);
      } catch (error) {
        verdict.error = error instanceof Error ? error.message : String(error);
        verdict.isUnasked = error instanceof Problem && error.status === 0;
      }
      if (this.ended) return;
    }
    this.draw();
  }

  /** The server is back: files that it has not judged are sent again. */
  again() {
    this.judge(this.verdicts.filter((one) => one.error && one.isUnasked));
  }

  draw() {
    if (!this.table || !this.detail || this.verdicts.length === 0) return;
    const row = (/** @type {any} */ { name, report, error }, /** @type {number} */ place) =>
      h(
        "tr",
        {
          tabindex: "0",
          "aria-selected": String(place === this.selected),
          onclick: () => this.choose(place),
          onkeydown: (/** @type {KeyboardEvent} */ event) => {
            if (event.key === "Enter" || event.key === " ") {
              event.preventDefault();
              this.choose(place);
            }
          },
        },
        h("td", {}, name),
        h(
          "td",
          {},
          !report && !error
            ? h("span", { class: "muted" }, "judging …")
            : h(
                "span",
                { class: `tag ${report?.passed ? "good" : "damaged"}` },
                report?.passed ? "passed" : error ? "not read" : "failed",
              ),
        ),
        report
          ? [
              h("td", {}, `${gameName(report.game)} ${report.board}`),
              h("td", { class: "n" }, number(report.episodes)),
              h("td", { class: "n" }, number(report.mean, 1)),
              h("td", { class: "n" }, number(report.max)),
              h("td", { class: "n" }, number(report.moves_per_second)),
              h(
                "td",
                { class: "n" },
                report.assessment === null ? "–" : number(report.assessment, 1),
              ),
              h("td", { class: "n" }, number(report.fault_count)),
            ]
          : h("td", { colspan: "7", class: "muted" }, error ?? ""),
      );
    fill(
      this.table,
      h(
        "div",
        { class: "card stack tight" },
        h(
          "div",
          { class: "row spread" },
          h("h2", {}, "Verdicts"),
          h(
            "div",
            { class: "row" },
            h(
              "button",
              { type: "button", id: "judge-csv", onclick: () => this.csv() },
              "Save as CSV",
            ),
            h(
              "button",
              {
                type: "button",
                onclick: () => {
                  this.verdicts = [];
                  fill(this.table);
                  fill(this.detail);
                },
              },
              "Clear",
            ),
          ),
        ),
        scrolled(
          "Verdicts",
          h(
            "table",
            { class: "data", id: "verdicts" },
            tableHead([
              ...["File", "Verdict", "Game"],
              ...["Games", "Mean", "Highest", "Moves/s", "Points", "Faults"].map((number) => ({
                number,
              })),
            ]),
            h("tbody", {}, this.verdicts.map(row)),
          ),
        ),
      ),
    );
    this.show();
  }

  /** @param {number} place */
  choose(place) {
    this.selected = place;
    this.draw();
    /** @type {HTMLElement | null} */ (
      this.table?.querySelector(`tbody tr:nth-child(${place + 1})`)
    )?.focus();
  }

  show() {
    const { name, report } = this.verdicts[this.selected] ?? {};
    if (!report || !this.detail) {
      if (this.detail) fill(this.detail);
      return;
    }
    const faults = report.faults
      .slice(0, MOST_FAULTS)
      .map((/** @type {any} */ fault) => [
        fault.line ?? "–",
        fault.kind ?? "",
        fault.reason ?? fault.message ?? JSON.stringify(fault),
      ]);
    const tests = report.tests.map((/** @type {any} */ test) => [
      test.name,
      number(test.draws),
      test.p < 1e-4 ? test.p.toExponential(1) : number(test.p, 4),
      h(
        "span",
        { class: `tag ${test.passed ? "good" : "damaged"}` },
        test.passed ? "credible" : "not credible",
      ),
    ]);
    const ended = Object.entries(report.tally.ended ?? {})
      .map(([tile, count]) => /** @type {[number, number]} */ ([Number(tile), Number(count)]))
      .sort((a, b) => b[0] - a[0]);
    let reached = 0;
    const tiles = ended.map(([tile, count]) => {
      reached += count;
      return [number(tile), percent(reached / report.episodes), percent(count / report.episodes)];
    });
    fill(
      this.detail,
      h(
        "div",
        { class: "card stack" },
        h("h2", {}, name),
        report.failures.length > 0 &&
          h("div", { class: "error" }, h("strong", {}, "Failed: "), report.failures.join("; ")),
        report.guessed &&
          h("p", { class: "small muted" }, "The game was detected from the records."),
        faults.length > 0 &&
          h(
            "div",
            {},
            h("h3", {}, faultTitle(report.fault_count)),
            scrolled("Faults", dataTable([{ number: "Line" }, "Kind", "What is wrong"], faults)),
          ),
        h(
          "div",
          { class: "wide" },
          h(
            "div",
            {},
            h("h3", {}, "Largest tile"),
            dataTable(
              ["Tile", "Reached", "Ended with"].map((number) => ({ number })),
              tiles,
            ),
          ),
          h(
            "div",
            {},
            h("h3", {}, "Tests of the new tiles"),
            scrolled(
              "Tests of the new tiles",
              dataTable(["Test", { number: "Draws" }, { number: "p" }, "Verdict"], tests),
            ),
          ),
        ),
        h(
          "dl",
          { class: "stat" },
          [
            ["Unfinished games", number(report.unfinished)],
            ["Repeated games", number(report.duplicates)],
          ].map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text))),
        ),
        report.notes.map((/** @type {string} */ note) => h("p", { class: "note small" }, note)),
        h("p", { class: "small muted" }, report.limits),
      ),
    );
  }

  csv() {
    // A spreadsheet takes a text that begins with one of these for a formula.
    const plain = (/** @type {string} */ text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
    const quoted = (/** @type {any} */ text) =>
      `"${plain(String(text ?? "")).replaceAll('"', '""')}"`;
    const rows = this.verdicts.map(({ name, report, error }) =>
      [
        quoted(name),
        report ? report.passed : "",
        report?.game ?? "",
        report?.board ?? "",
        report?.episodes ?? "",
        report?.mean ?? "",
        report?.max ?? "",
        report?.moves_per_second ?? "",
        report?.assessment ?? "",
        report?.fault_count ?? "",
        quoted(error ?? report?.failures.join("; ")),
      ].join(","),
    );
    download(
      "verdicts.csv",
      [
        "file,passed,game,board,games,mean,max,moves_per_second,points,faults,failures",
        ...rows,
      ].join("\n") + "\n",
    );
  }
}

/** @param {number} count */
function faultTitle(count) {
  const first = count > MOST_FAULTS ? `, the first ${MOST_FAULTS}` : "";
  return `Faults (${number(count)}${first})`;
}
