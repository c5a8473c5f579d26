// @ts-check
/** Inside: how a value is the sum of lookups, and how it is learned. */

import { choice, fill, h, setting } from "./dom.js";
import { get, meta, post, Problem } from "./api.js";
import { BoardView } from "./board.js";
import { ARROWS, cellName, gameName, number, signed, value as shortValue } from "./format.js";
import { Lesson } from "./lesson.js";
import { chosen, modelChoices } from "./models.js";

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
  return () => {
    page.ended = true;
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
      h("div", { class: "stack" }, this.view.root, this.one),
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
          "An n-tuple network has no idea of a board as a whole. It adds up a few dozen numbers from tables, each found by the tiles of a few cells. Learning moves these numbers.",
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

  /** @returns {Promise<void>} */
  async ask() {
    try {
      const body = {
        game: this.game,
        position: this.input.value,
        model: this.model || undefined,
        direction: this.direction || undefined,
      };
      const [analysis, found] = await Promise.all([
        post("/analyze", { ...body, direction: undefined }),
        post("/explain", body),
      ]);
      const solution = (this.models ?? []).find(
        (/** @type {any} */ one) =>
          one.kind === "solution" && one.game === this.game && one.board === analysis.board,
      );
      const exact =
        solution && (await post("/analyze", { ...body, direction: undefined, model: solution.id }));
      if (this.ended) return;
      this.exact = exact?.analysis.moves.find(
        (/** @type {any} */ move) => move.direction === found.direction,
      )?.value;
      this.analysis = analysis;
      this.found = found;
      this.selected = 0;
      fill(this.fault);
      const address = new URLSearchParams({ game: this.game, position: analysis.position });
      if (this.model) address.set("model", this.model);
      history.replaceState(null, "", `/inside?${address}`);
      this.draw();
    } catch (error) {
      if (this.model && error instanceof Problem && [400, 404].includes(error.status)) {
        // The model of another part of the app plays another game, or is gone.
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
              ", or look at how learning goes, beside.",
            )
          : h("p", { class: "error" }, error instanceof Error ? error.message : String(error)),
      );
    }
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
        { class: "card stack tight" },
        h(
          "h2",
          {},
          `${ARROWS[found.direction]} ${found.direction}: ${number(found.reward)} points now, then ${shortValue(found.sum)} expected`,
        ),
        h(
          "p",
          {},
          state
            ? "This network has values of states: of the board before the slide. The value of a slide is the mean over all tiles that may come."
            : "This network has values of afterstates: of the board after the slide, before the new tile. That is the board on the left.",
        ),
        h(
          "p",
          { class: "sum" },
          `V(${state ? "s" : "s′"}) = `,
          tuples.map((/** @type {any} */ one, /** @type {number} */ place) => [
            place ? " + " : "",
            h("span", { title: one.pattern }, shortValue(one.sum)),
          ]),
          ` = `,
          h("strong", {}, shortValue(found.sum)),
          this.exact !== undefined &&
            h(
              "span",
              { class: "muted", id: "exact" },
              ` (perfect play: ${shortValue(this.exact)})`,
            ),
        ),
        h(
          "p",
          { class: "small muted" },
          `${found.patterns.length} tuples under ${m / found.patterns.length} symmetries of the board: ${m} lookups. The colour of a cell is its share of the value: each weight, divided among the cells that its tuple reads.`,
        ),
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
    this.highlight(0);
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

  /** Shows a lookup on the board. @param {number} place */
  highlight(place) {
    const { found } = this;
    const lookup = found.lookups[place];
    const most = Math.max(...found.by_cell.map(Math.abs), 1e-9);
    this.view.heat(
      found.by_cell.map((/** @type {number} */ one) => (0.75 * Math.max(one, 0)) / most),
    );
    this.view.rings(lookup.cells);
    const digits = lookup.cells.map(
      (/** @type {number} */ cell, /** @type {number} */ at) =>
        `${found.tiles[cell]}·16${"⁰¹²³⁴⁵⁶⁷"[at]}`,
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
      h("p", { class: "small mono" }, `index = ${digits.join(" + ")} = ${lookup.index}`),
      h("p", {}, "weight ", h("strong", {}, shortValue(lookup.weight))),
    );
  }
}
