// @ts-check
/** Inside: how a value is the sum of lookups, and how it is learned. */

import { choice, fill, h, setting } from "./dom.js";
import { get, meta, post, Problem } from "./api.js";
import { BoardView } from "./board.js";
import {
  ARROWS,
  cellName,
  exactly,
  gameName,
  number,
  plus,
  signed,
  value as shortValue,
} from "./format.js";
import { Lesson } from "./lesson.js";
import { chosen, modelChoices } from "./models.js";
import { successors, worth } from "./successors.js";

const START = "1024,512,8,2/256,64,4,0/2,0,0,0/0,2,0,0";
const SYMMETRIES = [
  "as it is",
  "mirrored left to right",
  "mirrored top to bottom",
  "turned by 180°",
  "transposed",
  "transposed, mirrored left to right",
  "transposed, mirrored top to bottom",
  "transposed, turned by 180°",
];

/** @param {Element} root @param {URLSearchParams} query */
export function show(root, query) {
  const page = new Inside(root, query);
  page.start();
  const back = () => page.fault?.textContent && page.ask();
  addEventListener("afterstate:back", back);
  return () => {
    removeEventListener("afterstate:back", back);
    page.ended = true;
    page.asking?.abort();
    page.lesson.end();
  };
}

/** The cells of a tuple on a small board. @param {number} rows @param {number} cols @param {number[]} cells */
export function mini(rows, cols, cells) {
  const all = [...Array(rows * cols).keys()].map((cell) =>
    h(
      "i",
      { class: cells.includes(cell) ? "on" : undefined },
      cells.includes(cell) ? cells.indexOf(cell) + 1 : "",
    ),
  );
  return h("span", { class: "mini", "--cols": cols, "aria-hidden": "true" }, all);
}

class Inside {
  /** @param {Element} root @param {URLSearchParams} query */
  constructor(root, query) {
    this.root = root;
    this.game = query.get("game") ?? "2048";
    this.text = query.get("position") ?? START;
    this.model = query.get("model") ?? setting("play.model", "");
    this.direction = "";
    this.selected = 0;
    this.ended = false;
    this.view = new BoardView({ heat: true, label: "Position" });
    this.lesson = new Lesson();
    /** @type {any} */ this.found = null;
    /** @type {AbortController | null} */ this.asking = null;
    /** What has happened to the chosen model. */
    this.gone = "";
  }

  async start() {
    const [about, models] = await Promise.all([meta(), get("/models").catch(() => [])]);
    if (this.ended) return;
    this.games = about.games;
    this.models = models;
    this.input = h("textarea", {
      class: "mono",
      rows: 2,
      spellcheck: "false",
      "aria-label": "Board as text",
    });
    this.input.value = this.text;
    this.fault = h("div", { role: "alert" });
    this.options = h("div", { class: "two" });
    this.detail = h("div", { class: "stack", id: "lookups" });
    this.one = h("div", { class: "note", id: "one-lookup", "aria-live": "polite" });
    const lookups = h(
      "section",
      { class: "wide three", "aria-labelledby": "lookups-tab" },
      h(
        "div",
        { class: "stack" },
        h("div", { class: "inside-board" }, this.view.root),
        (this.legend = h("p", { class: "small muted", id: "heat-legend" })),
        this.one,
      ),
      this.detail,
      h(
        "div",
        { class: "stack below" },
        h(
          "div",
          { class: "card stack tight" },
          h("label", {}, "Board", this.input),
          h(
            "button",
            {
              type: "button",
              class: "primary",
              onclick: () => {
                this.direction = "";
                this.ask();
              },
            },
            "Explain this board",
          ),
          this.fault,
        ),
        h("div", { class: "card" }, this.options),
      ),
    );
    this.lesson.root.hidden = true;
    const tab = (
      /** @type {string} */ id,
      /** @type {string} */ text,
      /** @type {Element} */ section,
    ) =>
      h(
        "button",
        {
          type: "button",
          id,
          "aria-pressed": String(!section.hasAttribute("hidden")),
          onclick: (/** @type {Event} */ event) => {
            for (const other of [lookups, this.lesson.root]) other.hidden = other !== section;
            for (const button of /** @type {Element} */ (event.target).parentElement?.children ??
              [])
              button.setAttribute("aria-pressed", String(button === event.target));
            if (section === this.lesson.root) this.lesson.start();
          },
        },
        text,
      );
    fill(
      this.root,
      h(
        "div",
        { class: "stack" },
        h("h1", {}, "Inside"),
        h(
          "p",
          { class: "lead" },
          "The value of an n-tuple network is a sum of weights. Each weight is looked up in a table, by the tiles of a few cells. Learning changes these weights.",
        ),
        h(
          "div",
          { class: "row" },
          tab("lookups-tab", "A value, lookup by lookup", lookups),
          tab("lesson-tab", "Learning, update by update", this.lesson.root),
        ),
        lookups,
        this.lesson.root,
      ),
    );
    this.ask();
  }

  /** Asks about the board; an older question is given up. @returns {Promise<void>} */
  async ask() {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const body = {
      game: this.game,
      position: this.input.value,
      model: this.model || undefined,
      direction: this.direction || undefined,
    };
    try {
      const [analysis, found] = await Promise.all([
        post("/analyze", { ...body, direction: undefined }, asking.signal),
        post("/explain", body, asking.signal),
      ]);
      if (this.ended || asking.signal.aborted) return;
      this.analysis = analysis;
      this.found = found;
      this.selected = heaviest(found.lookups);
      fill(this.fault, this.gone && h("p", { class: "note" }, this.gone));
      this.gone = "";
      const address = new URLSearchParams({ game: this.game, position: analysis.position });
      if (this.model) address.set("model", this.model);
      history.replaceState(null, "", `/inside?${address}`);
      this.draw();
      await this.compare(body, asking.signal);
    } catch (error) {
      if (this.ended || asking.signal.aborted) return;
      if (this.model && isOfModel(error)) {
        // The model of another part of the app plays another game, or is gone.
        this.gone = `The model ${this.model} is not here, or does not play this: the usual one answers.`;
        this.model = "";
        return this.ask();
      }
      this.settings();
      const isMissing = error instanceof Problem && error.error === "no-model";
      fill(
        this.fault,
        isMissing
          ? h(
              "p",
              { class: "note" },
              "There is no model of this game and board yet. ",
              h("a", { href: "/train", "data-part": "train" }, "Train one"),
              ", or open “Learning, update by update” above, which needs none.",
            )
          : h("p", { class: "error" }, error instanceof Error ? error.message : String(error)),
      );
    }
  }

  /** Adds values under perfect play where the server can have them. @param {any} body @param {AbortSignal} signal */
  async compare(body, signal) {
    const { found } = this;
    const isSolved = (this.models ?? []).some(
      (/** @type {any} */ one) =>
        one.kind === "solution" && one.game === this.game && one.board === this.analysis.board,
    );
    if (!isSolved && found.rows * found.cols > 6) return;
    const { exact, exact_total } = await post("/explain", { ...body, exact: true }, signal);
    if (this.ended || signal.aborted || exact === null) return;
    this.detail
      ?.querySelector("#exact")
      ?.replaceChildren(
        ` Perfect play: V(${found.value_of === "state" ? "s" : "s′"}) = ${exactly(exact)}, ${found.direction} ${exactly(exact_total)}.`,
      );
  }

  settings() {
    const networks = (this.models ?? []).filter((/** @type {any} */ one) => one.game);
    const models = modelChoices(networks, this.game, this.analysis?.board);
    const moves =
      this.analysis?.analysis.moves.filter((/** @type {any} */ move) => move.legal) ?? [];
    fill(
      this.options,
      choice(
        "Game",
        (this.games ?? []).map((/** @type {any} */ one) => [one.name, gameName(one.name)]),
        this.game,
        (game) => {
          this.game = game;
          this.ask();
        },
      ),
      choice("Model", models, chosen(models, this.model), (model) => {
        this.model = model;
        this.ask();
      }),
      moves.length > 0 &&
        choice(
          "Move",
          moves.map((/** @type {any} */ move) => [
            move.direction,
            `${ARROWS[move.direction]} ${move.direction}${move.direction === this.analysis.analysis.best ? " (best)" : ""}`,
          ]),
          this.found?.direction ?? "",
          (direction) => {
            this.direction = direction;
            this.ask();
          },
        ),
    );
  }

  draw() {
    const { found } = this;
    this.settings();
    this.view.shape(this.game, found.rows, found.cols);
    this.view.set(found.cells);
    const m = found.lookups.length;
    const state = found.value_of === "state";
    const tuples = found.patterns.map(
      (/** @type {string} */ pattern, /** @type {number} */ tuple) => {
        const lookups = found.lookups
          .map((/** @type {any} */ lookup, /** @type {number} */ place) => ({ ...lookup, place }))
          .filter((/** @type {any} */ lookup) => lookup.tuple === tuple);
        return {
          pattern,
          lookups,
          sum: lookups.reduce(
            (/** @type {number} */ sum, /** @type {any} */ lookup) => sum + lookup.weight,
            0,
          ),
        };
      },
    );
    fill(
      this.detail,
      h(
        "div",
        { class: "card stack tight", id: "value" },
        h(
          "h2",
          {},
          `${ARROWS[found.direction]} ${found.direction}: ${number(found.reward)} ${plus(found.value)} = ${exactly(found.total)}`,
        ),
        h("p", {}, worth(found)),
        h(
          "p",
          { class: "sum" },
          `V(${state ? "s" : "s′"}) = `,
          tuples.map((/** @type {any} */ one, /** @type {number} */ place) => [
            place ? (one.sum < 0 ? " − " : " + ") : one.sum < 0 ? "−" : "",
            h("span", { title: one.pattern }, exactly(Math.abs(one.sum))),
          ]),
          ` = `,
          h("strong", { id: "sum" }, exactly(found.sum)),
        ),
        h("p", { class: "sum muted", id: "exact" }),
        h(
          "p",
          { class: "small muted" },
          `${found.patterns.length} tuples under ${m / found.patterns.length} symmetries of the board: ${m} lookups. The board is ${state ? "s, before the slide" : "s′, after the slide"}. The number on a cell, and its colour, is its share of the value: each weight, divided among the cells that its tuple reads.`,
        ),
        successors(found),
      ),
      tuples.map((/** @type {any} */ one, /** @type {number} */ tuple) =>
        h(
          "div",
          { class: "card stack tight" },
          h("h3", {}, `Tuple ${tuple + 1}: cells ${one.pattern}, together ${shortValue(one.sum)}`),
          h(
            "div",
            { class: "lookups" },
            one.lookups.map((/** @type {any} */ lookup) =>
              h(
                "button",
                {
                  type: "button",
                  class: "lookup",
                  "aria-pressed": String(lookup.place === this.selected),
                  onclick: () => this.choose(lookup.place),
                  onpointerenter: () => this.highlight(lookup.place),
                  onpointerleave: () => this.highlight(this.selected),
                },
                mini(found.rows, found.cols, lookup.cells),
                h(
                  "span",
                  {},
                  h(
                    "span",
                    { class: "unseen" },
                    `lookup ${lookup.place + 1}, ${SYMMETRIES[lookup.symmetry]}, `,
                  ),
                  h("b", {}, signed(lookup.weight, Math.abs(lookup.weight) < 10 ? 2 : 1)),
                  h("br", {}),
                  h("span", { class: "small muted mono" }, `#${lookup.index}`),
                ),
              ),
            ),
          ),
        ),
      ),
    );
    this.highlight(this.selected);
  }

  /** @param {number} place */
  choose(place) {
    this.selected = place;
    this.detail
      ?.querySelectorAll(".lookup")
      .forEach((/** @type {Element} */ one, /** @type {number} */ at) =>
        one.setAttribute("aria-pressed", String(at === place)),
      );
    this.highlight(place);
  }

  /** The first tiles of the game and their numbers. */
  numbering() {
    const game = (this.games ?? []).find((/** @type {any} */ one) => one.name === this.game);
    const tiles = (game?.tiles ?? []).slice(0, 4);
    return [
      "an empty cell 0",
      ...tiles.map(
        (/** @type {number} */ tile, /** @type {number} */ at) => `${tile} is ${at + 1}`,
      ),
      "and so on",
    ].join(", ");
  }

  /** Shows a lookup on the board. @param {number} place */
  highlight(place) {
    const { found } = this;
    const lookup = found.lookups[place];
    const most = Math.max(...found.by_cell.map(Math.abs), 1e-9);
    this.view.heat(
      found.by_cell.map((/** @type {number} */ one) => (0.6 * one) / most),
      found.by_cell.map((/** @type {number} */ one) => shortValue(one)),
    );
    this.view.rings(lookup.cells);
    const extreme = (/** @type {(...all: number[]) => number} */ of) => {
      const share = of(...found.by_cell);
      return `${signed(share, Math.abs(share) < 10 ? 2 : 0)} at ${cellName(found.by_cell.indexOf(share), found.cols)}`;
    };
    fill(
      /** @type {Element} */ (this.legend),
      `On each cell, its share of V: from ${extreme(Math.min)} to ${extreme(Math.max)}. The stronger the colour, the larger the share; hatched is below 0.`,
    );
    const digits = lookup.digits.map(
      (/** @type {number} */ digit, /** @type {number} */ at) =>
        `${digit}·${found.base}${"⁰¹²³⁴⁵⁶⁷"[at]}`,
    );
    const cut = lookup.cells.find(
      (/** @type {number} */ cell, /** @type {number} */ at) =>
        found.tiles[cell] !== lookup.digits[at],
    );
    fill(
      this.one,
      h(
        "p",
        {},
        h("strong", {}, `Lookup ${place + 1}`),
        `: tuple ${lookup.tuple + 1}, the board ${SYMMETRIES[lookup.symmetry]}.`,
      ),
      h(
        "p",
        { class: "small" },
        `It reads the cells ${lookup.cells.map((/** @type {number} */ cell) => cellName(cell, found.cols)).join(", ")} with the tiles ${lookup.cells.map((/** @type {number} */ cell) => found.cells[cell] || "empty").join(", ")}.`,
      ),
      h(
        "p",
        { class: "small mono", id: "index" },
        `index = ${digits.join(" + ")} = ${lookup.index}`,
      ),
      h(
        "p",
        { class: "small muted" },
        `A digit is the number of a tile: ${this.numbering()}. ${found.base} is one more than the largest digit.`,
        cut !== undefined &&
          ` ${number(found.cells[cut])} is beyond it, and counts as ${found.base - 1}.`,
      ),
      h("p", {}, "weight ", h("strong", {}, shortValue(lookup.weight))),
    );
  }
}

/** Whether an error is about the model that was chosen. @param {unknown} error */
function isOfModel(error) {
  return error instanceof Problem && ["no-such-model", "other-game"].includes(error.error);
}

/** The place of the lookup with the largest weight. @param {any[]} lookups */
function heaviest(lookups) {
  const sizes = lookups.map((one) => Math.abs(one.weight));
  return sizes.indexOf(Math.max(...sizes));
}
