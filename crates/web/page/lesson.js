// @ts-check
/** A lesson: one game, stepped through, with the backup diagram and every number of each update. */

import { choice, fill, h, s } from "./dom.js";
import { meta, post } from "./api.js";
import { picture } from "./board.js";
import { Chart } from "./chart.js";
import {
  ARROWS,
  cellName,
  gameName,
  number,
  percent,
  signed,
  value as shortValue,
} from "./format.js";
import { mini } from "./inside.js";

const WIDTH = 940;

export class Lesson {
  constructor() {
    this.root = h("section", { class: "stack", "aria-labelledby": "lesson-tab", id: "lesson" });
    this.options = /** @type {Record<string, any>} */ ({
      game: "2048",
      board: "2x3",
      tuples: "lines",
      value: "afterstate",
      rule: "td",
      backward: false,
      lambda: 0,
      learning_rate: 0.1,
      games: 100,
      seed: 1,
    });
    this.step = 0;
    /** @type {any} */ this.found = null;
    this.ended = false;
    this.pressed = (/** @type {KeyboardEvent} */ event) => this.key(event);
    addEventListener("keydown", this.pressed);
  }

  end() {
    this.ended = true;
    removeEventListener("keydown", this.pressed);
  }

  async start() {
    if (this.form) return;
    const about = await meta();
    this.form = h("div", { class: "card form" });
    this.fault = h("div", { role: "alert" });
    this.body = h("div", { class: "stack" });
    const change = (/** @type {string} */ name, /** @type {any} */ wanted) => {
      this.options[name] = wanted;
      if (name === "backward" && !wanted) this.options.lambda = 0;
      if (name === "rule") this.options.learning_rate = wanted === "tc" ? 1 : 0.1;
      this.fields(about, change);
      this.load();
    };
    this.fields(about, change);
    fill(this.root, this.form, this.fault, this.body);
    this.load();
  }

  /** @param {any} about @param {(name: string, wanted: any) => void} change */
  fields(about, change) {
    const { options } = this;
    const numeric = (
      /** @type {string} */ label,
      /** @type {string} */ name,
      /** @type {Record<string, string>} */ limits,
    ) => {
      const input = h("input", {
        type: "number",
        value: options[name],
        ...limits,
        onchange: () => change(name, Number(input.value)),
      });
      return h("label", { class: "field" }, label, input);
    };
    if (this.form)
      fill(
        this.form,
        choice(
          "Game",
          about.games.map((/** @type {any} */ one) => [one.name, gameName(one.name)]),
          options.game,
          (game) => change("game", game),
        ),
        choice(
          "Board",
          ["2x2", "2x3", "3x3", "3x4", "4x4"].map((one) => [one, one.replace("x", " × ")]),
          options.board,
          (board) => change("board", board),
        ),
        choice(
          "Values of",
          [
            ["afterstate", "afterstates V(s′)"],
            ["state", "states V(s)"],
          ],
          options.value,
          (value) => change("value", value),
        ),
        choice(
          "Updates",
          [
            ["", "forward, while playing"],
            ["yes", "backward, from the end"],
          ],
          options.backward ? "yes" : "",
          (one) => change("backward", one === "yes"),
        ),
        options.backward && numeric("Lambda", "lambda", { min: "0", max: "1", step: "0.1" }),
        choice(
          "Steps of weights",
          [
            ["td", "TD: the same for all"],
            ["tc", "TC: by coherence"],
          ],
          options.rule,
          (rule) => change("rule", rule),
        ),
        numeric("Learning rate", "learning_rate", { min: "0.001", max: "10", step: "any" }),
        numeric("Games learned before", "games", { min: "0", max: "20000" }),
        numeric("Seed", "seed", { min: "0" }),
      );
  }

  async load() {
    try {
      this.found = await post("/lesson", this.options);
      if (this.ended) return;
      fill(/** @type {Element} */ (this.fault));
      this.step = Math.min(this.step, this.found.steps.length - 1);
      this.build();
      this.draw();
    } catch (error) {
      fill(
        /** @type {Element} */ (this.fault),
        h("p", { class: "error" }, error instanceof Error ? error.message : String(error)),
      );
    }
  }

  build() {
    const { found } = this;
    const last = found.steps.length - 1;
    const button = (
      /** @type {string} */ id,
      /** @type {string} */ label,
      /** @type {string} */ text,
      /** @type {() => number} */ to,
    ) =>
      h("button", { type: "button", id, "aria-label": label, onclick: () => this.to(to()) }, text);
    this.place = h("strong", { id: "lesson-step", role: "status" });
    this.diagram = h("div", {
      class: "backup",
      tabindex: "0",
      role: "region",
      "aria-label": "Backup diagram",
    });
    this.numbers = h("div", { class: "stack tight", id: "lesson-numbers" });
    this.chart = new Chart({
      title: "Values along this game",
      level: "h2",
      x: "move",
      y: "points",
      height: 230,
      pick: (x) => this.to(Math.round(x) - 1),
    });
    const points = (/** @type {(step: any) => number | null} */ of) =>
      /** @type {[number, number][]} */ (
        found.steps.flatMap((/** @type {any} */ step, /** @type {number} */ place) =>
          of(step) === null ? [] : [[place + 1, of(step)]],
        )
      );
    fill(
      /** @type {Element} */ (this.body),
      h(
        "div",
        { class: "card stack" },
        h(
          "div",
          { class: "row spread" },
          h(
            "p",
            {},
            `After ${number(found.options.games)} games`,
            found.mean !== null && ` (mean of the last ones ${number(found.mean, 1)})`,
            `, this game brings ${number(found.score)} points in ${number(found.moves)} moves`,
            found.moves > found.steps.length && `; the first ${found.steps.length} are shown`,
            ".",
          ),
          h(
            "div",
            { class: "steps" },
            button("lesson-first", "First move", "|◀", () => 0),
            button("lesson-previous", "Previous move", "◀", () => this.step - 1),
            this.place,
            button("lesson-next", "Next move", "▶", () => this.step + 1),
            button("lesson-last", "Last move", "▶|", () => last),
            found.options.backward &&
              button("lesson-order", "Next update", "next update", () => this.step - 1),
          ),
        ),
        this.diagram,
        this.numbers,
      ),
      h("div", { class: "card" }, this.chart.root),
    );
    this.chart.show([
      { name: "value before the update", points: points((step) => step.update.value) },
      { name: "target", points: points((step) => step.update.target) },
      { name: "perfect play", points: points((step) => step.update.exact) },
    ]);
  }

  /** @param {number} step */
  to(step) {
    this.step = Math.min(Math.max(step, 0), this.found.steps.length - 1);
    this.draw();
  }

  draw() {
    const { found } = this;
    const step = found.steps[this.step];
    if (!step || !this.place || !this.diagram || !this.numbers) return;
    this.place.textContent = `move ${this.step + 1} of ${found.steps.length}`;
    this.chart?.mark(this.step + 1);
    fill(this.diagram, this.backup(step));
    this.explain(step, found.steps[this.step + 1]);
  }

  /** @param {any} step */
  backup(step) {
    const { found } = this;
    const [rows, cols] = found.options.board.split("x").map(Number);
    const game = found.options.game;
    const isState = found.options.value === "state";
    const shown =
      step.spawns.length > 16
        ? [...step.spawns.slice(0, 15), ...(step.drawn >= 15 ? [step.spawns[step.drawn]] : [])]
        : step.spawns;
    const high = Math.max(300, shown.length * 27 + 60);
    const middle = high / 2;
    const wide = 100,
      tall = (wide * rows) / cols;
    const at = (
      /** @type {number[]} */ cells,
      /** @type {number} */ x,
      /** @type {number} */ y,
      /** @type {string} */ label,
    ) =>
      s(
        "foreignObject",
        { x, y: y - tall / 2, width: wide, height: tall + 10 },
        picture(game, rows, cols, cells, label),
      );
    const drawing = s("svg", {
      viewBox: `0 0 ${WIDTH} ${high}`,
      role: "img",
      "aria-label": this.inWords(step),
    });
    const text = (
      /** @type {number} */ x,
      /** @type {number} */ y,
      /** @type {string} */ kind,
      /** @type {string} */ words,
      anchor = "start",
    ) => s("text", { x, y, class: kind, "text-anchor": anchor }, words);
    const chosen = step.slides[step.chosen];
    step.slides.forEach((/** @type {any} */ slide, /** @type {number} */ place) => {
      const y = middle + (place - (step.slides.length - 1) / 2) * 62;
      const on = place === step.chosen;
      drawing.append(
        s("path", {
          class: `edge${on ? " on" : ""}`,
          d: `M${20 + wide} ${middle} C 170 ${middle} 170 ${y} 210 ${y}`,
        }),
        s("circle", { class: `node${on ? " on" : ""}`, cx: 216, cy: y, r: 6 }),
        text(
          230,
          y - 5,
          on ? "strong" : "",
          `${ARROWS[slide.direction]} ${slide.direction}: ${slide.reward} + ${shortValue(slide.value)} = ${shortValue(slide.total)}`,
        ),
        text(
          230,
          y + 13,
          "dim",
          slide.exact === null
            ? on
              ? "made: the largest total"
              : ""
            : `perfect play ${shortValue(slide.exact)}`,
        ),
      );
      if (on)
        drawing.append(
          s("path", { class: "edge on", d: `M430 ${y} C 470 ${y} 460 ${middle} 490 ${middle}` }),
        );
    });
    drawing.append(
      at(step.state, 20, middle, "state s"),
      text(
        20 + wide / 2,
        middle - tall / 2 - 10,
        "strong",
        isState ? `s, V(s) = ${shortValue(step.update.value)}` : "state s",
        "middle",
      ),
      at(step.afterstate, 492, middle, "afterstate s′"),
      text(
        492 + wide / 2,
        middle - tall / 2 - 10,
        "strong",
        isState ? "afterstate s′" : `s′, V(s′) = ${shortValue(step.update.value)}`,
        "middle",
      ),
      text(492 + wide / 2, middle + tall / 2 + 20, "dim", `r = ${chosen.reward}`, "middle"),
    );
    shown.forEach((/** @type {any} */ spawn, /** @type {number} */ place) => {
      const y = middle + (place - (shown.length - 1) / 2) * 27;
      const on = spawn === step.spawns[step.drawn];
      drawing.append(
        s("path", {
          class: `edge${on ? " on" : ""}`,
          d: `M${496 + wide} ${middle} C 640 ${middle} 640 ${y} 676 ${y}`,
        }),
        s("circle", { class: `node${on ? " on" : ""}`, cx: 682, cy: y, r: 6 }),
        text(
          696,
          y + 4,
          on ? "strong" : "",
          `${spawn.tile} at ${cellName(spawn.cell, cols)}, ${percent(spawn.chance)}`,
        ),
        text(
          930,
          y + 4,
          on ? "strong" : "dim",
          `${isState ? "V(s″)" : "best of s″"} ${shortValue(spawn.value)}`,
          "end",
        ),
      );
    });
    drawing.append(
      text(
        696,
        middle - ((shown.length - 1) / 2) * 27 - 24,
        "dim",
        `s″: ${step.spawns.length} possible, one comes`,
      ),
    );
    return drawing;
  }

  /** @param {any} step */
  inWords(step) {
    const chosen = step.slides[step.chosen],
      spawn = step.spawns[step.drawn];
    return `From the state, ${step.slides.length} slides are legal; ${chosen.direction} has the largest total, ${shortValue(chosen.total)}. Of ${step.spawns.length} possible tiles, ${spawn.tile} comes, with a chance of ${percent(spawn.chance)}.`;
  }

  /** @param {any} step @param {any} next */
  explain(step, next) {
    const { found } = this;
    const { update } = step;
    const { options } = found;
    const isState = options.value === "state";
    const rate = +options.learning_rate.toPrecision(6);
    const v = isState ? "V(s)" : "V(s′)";
    const isEnd = update.next === 0 && !next;
    const rest = options.backward ? "z" : isState ? "V(s″)" : "V(next s′)";
    const where = options.backward
      ? `z is carried from the move after it: lambda times its target, plus ${number(1 - options.lambda, 2)} times its value after the update.`
      : isState
        ? "The target uses the one state that came, not the mean over all that could have come."
        : `The next move, ${next ? next.slides[next.chosen].direction : "none"}, has the largest total in s″: its reward and the value of its afterstate are the target.`;
    const each = (options.learning_rate / found.lookups) * update.error;
    fill(
      /** @type {Element} */ (this.numbers),
      h("h2", {}, `Update ${update.order + 1} of ${found.moves}`),
      h(
        "p",
        { class: "sum" },
        "target = r + ",
        isEnd ? "0 (the game ends)" : rest,
        ` = ${shortValue(update.reward)} + ${shortValue(update.next)} = `,
        h("strong", {}, shortValue(update.target)),
      ),
      h(
        "p",
        { class: "sum" },
        `error = target − ${v} = ${shortValue(update.target)} − ${shortValue(update.value)} = `,
        h("strong", {}, signed(update.error, 2)),
      ),
      h(
        "p",
        { class: "sum" },
        options.rule === "td"
          ? [
              `step of each weight = α / m · error = ${rate} / ${found.lookups} · ${signed(update.error, 2)} = `,
              h("strong", {}, signed(each, 4)),
            ]
          : [
              `step of a weight = β / m · |E| / A · error, with β / m = ${rate} / ${found.lookups}; |E| / A is 1 while all errors of the weight had one sign`,
            ],
      ),
      h(
        "p",
        { class: "sum" },
        `${v} after = `,
        h("strong", {}, shortValue(update.after)),
        update.exact !== null &&
          h("span", { class: "muted" }, `   (perfect play: ${shortValue(update.exact)})`),
      ),
      h("p", { class: "small muted" }, where),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Weights" },
        h(
          "table",
          { class: "data" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", {}, "Cells"),
              h("th", {}, "Tuple"),
              h("th", { class: "n" }, "Index"),
              h("th", { class: "n" }, "Lookups"),
              h("th", { class: "n" }, "Weight before"),
              update.weights[0]?.coherence !== null && h("th", { class: "n" }, "|E| / A"),
              h("th", { class: "n" }, "After"),
              h("th", { class: "n" }, "Change"),
            ),
          ),
          h(
            "tbody",
            {},
            update.weights.map((/** @type {any} */ weight) => {
              const [rows, cols] = options.board.split("x").map(Number);
              return h(
                "tr",
                {},
                h("td", {}, mini(rows, cols, weight.cells[0])),
                h("td", { class: "mono" }, found.patterns[weight.tuple]),
                h("td", { class: "n mono" }, weight.index),
                h("td", { class: "n" }, weight.cells.length),
                h("td", { class: "n" }, number(weight.before, 3)),
                weight.coherence !== null && h("td", { class: "n" }, number(weight.coherence, 3)),
                h("td", { class: "n" }, number(weight.after, 3)),
                h("td", { class: "n" }, signed(weight.after - weight.before, 4)),
              );
            }),
          ),
        ),
      ),
    );
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = /** @type {Element} */ (event.target);
    if (
      !this.found ||
      this.root.hidden ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      target.closest("input, select, textarea, dialog, .scroll, .backup")
    )
      return;
    const by = /** @type {Record<string, number>} */ ({
      ArrowLeft: -1,
      j: -1,
      ArrowRight: 1,
      k: 1,
    })[event.key];
    if (by === undefined) return;
    event.preventDefault();
    this.to(this.step + by);
  }
}
