// @ts-check
/** A lesson: one game, stepped through, with the backup diagram and every number of each update. */

import { fill, h } from "./dom.js";
import { meta, post } from "./api.js";
import { backup, carriedSum, names } from "./backup.js";
import { Chart } from "./chart.js";
import { exactly, number, plus } from "./format.js";
import { mini } from "./inside.js";
import { isForPage } from "./keys.js";
import { showFields, USUAL } from "./lesson-form.js";
import { scrolled } from "./table.js";

export class Lesson {
  constructor() {
    this.root = h("section", { class: "stack", "aria-labelledby": "lesson-tab", id: "lesson" });
    this.options = /** @type {Record<string, any>} */ ({ ...USUAL });
    this.step = 0;
    /** @type {any} */ this.found = null;
    /** @type {AbortController | null} */ this.asking = null;
    this.pressed = (/** @type {KeyboardEvent} */ event) => this.key(event);
    this.back = () => {
      if (this.form && this.fault?.textContent) this.load();
    };
    addEventListener("keydown", this.pressed);
    addEventListener("afterstate:back", this.back);
  }

  end() {
    this.asking?.abort();
    removeEventListener("keydown", this.pressed);
    removeEventListener("afterstate:back", this.back);
  }

  async start() {
    if (this.form) return;
    const form = h("div", { class: "card form" });
    this.form = form;
    this.fault = h("div", { role: "alert" });
    this.status = h("p", { class: "small muted", role: "status", id: "lesson-status" });
    this.body = h("div", { class: "stack" });
    fill(this.root, form, h("div", {}, this.status, this.fault), this.body);
    try {
      const { games } = await meta();
      showFields(
        form,
        games,
        this.options,
        () => this.load(),
        (text) => this.fails(text),
      );
      this.load();
    } catch (error) {
      this.form = null;
      this.fails(error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {string} text */
  fails(text) {
    fill(/** @type {Element} */ (this.fault), h("p", { class: "error" }, text));
  }

  /** Asks for the lesson of these options; an older question is given up. */
  async load() {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const status = /** @type {Element} */ (this.status);
    fill(/** @type {Element} */ (this.fault));
    fill(status, `Learning ${number(this.options.games)} games …`);
    try {
      const found = await post("/lesson", this.options, asking.signal);
      if (asking.signal.aborted) return;
      this.found = found;
      this.step = Math.min(this.step, found.steps.length - 1);
      this.build();
      this.draw();
      fill(status);
    } catch (error) {
      if (asking.signal.aborted) return;
      fill(status);
      this.fails(error instanceof Error ? error.message : String(error));
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
    this.kinds = h("div", { class: "card stack tight", id: "lesson-kinds" });
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
          this.summary(),
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
        h("p", { class: "small muted wider" }, "The diagram is wider than this screen: scroll it."),
        this.diagram,
        this.numbers,
      ),
      this.kinds,
      h("div", { class: "card" }, this.chart.root),
    );
    this.chart.show([
      { name: "value before the update", points: points((step) => step.update.value) },
      { name: "target", points: points((step) => step.update.target) },
      { name: "perfect play", points: points((step) => step.update.exact) },
    ]);
  }

  summary() {
    const { found } = this;
    const isSolved = found.steps.some((/** @type {any} */ step) => step.update.exact !== null);
    return h(
      "p",
      {},
      `After ${number(found.options.games)} games`,
      found.mean !== null && ` (mean of the last ones ${number(found.mean, 1)})`,
      `, this game has ${number(found.score)} points in ${number(found.moves)} moves`,
      found.moves > found.steps.length && `; the first ${found.steps.length} are shown`,
      ".",
      !isSolved &&
        " This board is too large to be solved here, so there are no values under perfect play; on 3 × 3 they come from a solution: afterstate serve --model 3x3.solution.",
    );
  }

  /** @param {number} step */
  to(step) {
    this.step = Math.min(Math.max(step, 0), this.found.steps.length - 1);
    this.draw();
  }

  draw() {
    const { found } = this;
    const step = found.steps[this.step];
    if (!step || !this.place || !this.diagram || !this.numbers || !this.kinds) return;
    this.place.textContent = `move ${this.step + 1} of ${found.steps.length}`;
    this.chart?.mark(this.step + 1);
    fill(this.diagram, backup(found, this.step));
    fill(
      this.numbers,
      h("h2", {}, `Update ${step.update.order + 1} of ${found.moves}`),
      this.equations(step),
      this.remarks(step),
      weights(found, step.update),
    );
    fill(this.kinds, h("h2", {}, "Values of states, values of afterstates"), kinds(found, step));
  }

  /** The update in equations. @param {any} step */
  equations(step) {
    const { found } = this;
    const { options } = found;
    const { update } = step;
    const { v, r, next } = names(options);
    const isEnd = this.step === found.moves - 1;
    const rate = +options.learning_rate.toPrecision(6);
    const each = (options.learning_rate / found.lookups) * update.error;
    const moved = movedBy(update);
    const line = (/** @type {any[]} */ ...content) => h("p", { class: "sum" }, content);
    const result = (/** @type {string} */ text) => h("strong", {}, text);
    return [
      options.backward && line(isEnd ? "z = 0, the game ends" : this.carried(update)),
      line(
        `target = ${r} + ${isEnd ? "0, the game ends" : next} = ${exactly(update.reward)} ${plus(update.next)} = `,
        result(exactly(update.target)),
      ),
      line(
        `error = target − ${v} = ${exactly(update.target)} ${plus(-update.value)} = `,
        result(exactly(update.error)),
      ),
      options.rule === "td"
        ? line(
            `step of each lookup = α / m · error = ${rate} / ${found.lookups} · ${exactly(update.error)} = `,
            result(number(each, 4).replace("-", "−")),
          )
        : line(
            `step of each lookup = β / m · |E| / A · error = ${rate} / ${found.lookups} · |E| / A · ${exactly(update.error)}; then E grows by the error, A by |error|`,
          ),
      line(
        `${v} after = ${exactly(update.value)} + sum of lookups · change = ${exactly(update.value)} ${plus(moved)} = `,
        result(exactly(update.after)),
        update.exact !== null &&
          h("span", { class: "muted" }, `   (perfect play: ${exactly(update.exact)})`),
      ),
    ];
  }

  /** @param {any} update */
  carried(update) {
    const at = this.step + 2;
    return [
      `z = λ · target of move ${at} + (1 − λ) · V after the update of move ${at} = `,
      h("strong", {}, carriedSum(this.found.options, update)),
    ];
  }

  /** Why these numbers are not those that one may expect. @param {any} step */
  remarks(step) {
    const { found } = this;
    const { options } = found;
    const { update } = step;
    const { isState, v } = names(options);
    const spawn = step.spawns[step.drawn];
    const slide = step.slides[step.chosen];
    const next = found.steps[this.step + 1];
    const now = isState ? update.mean : update.value;
    const says = (/** @type {string} */ text) => h("p", { class: "small muted" }, text);
    const many = update.weights.some((/** @type {any} */ weight) => weight.cells.length > 1);
    const plain = options.learning_rate * update.error;
    return [
      says(
        isState
          ? `The mean of V(s″) over every tile is ${exactly(update.mean)}: that is the value of the slide. The update uses the one state that came.`
          : `Over every tile the target would be ${exactly(update.mean)} on average. The update uses the one tile that came; many games make the mean.`,
      ),
      !options.backward &&
        !isState &&
        next &&
        says(
          `The next move, ${next.slides[next.chosen].direction}, has the largest total in s″: its reward and the value of its afterstate are the target.`,
        ),
      options.backward &&
        options.lambda === 0 &&
        says("With λ = 0, z is the value of the next position after its own update: TD(0)."),
      options.backward &&
        options.lambda === 1 &&
        says("With λ = 1, z is the sum of the rewards that follow: no value is used."),
      Math.abs(now - slide.value) >= 0.005 &&
        says(
          options.backward
            ? `The value of ${slide.direction} was ${exactly(slide.value)} when it was chosen, and is ${exactly(now)} now: all later moves are updated before this one.`
            : `The value of ${slide.direction} was ${exactly(slide.value)} when it was chosen, and is ${exactly(now)} now: the update of the move before came between.`,
        ),
      spawn.is_over &&
        isState &&
        says(
          `In the state that came the game is over. The target has 0 for it; the network looks up ${exactly(spawn.value)}, which no update corrects.`,
        ),
      many &&
        says(
          `A weight that n lookups find is moved n times and counts n times. So ${v} moves by ${exactly(movedBy(update))}${options.rule === "td" ? `, not by α · error = ${exactly(plain)}` : ""}.`,
        ),
    ];
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.found || this.root.hidden || !isForPage(event)) return;
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

/** How far the weights of an update move its value. @param {any} update */
function movedBy(update) {
  return update.weights.reduce(
    (/** @type {number} */ sum, /** @type {any} */ weight) =>
      sum + weight.cells.length * (weight.after - weight.before),
    0,
  );
}

/** Every weight before and after. @param {any} found @param {any} update */
function weights(found, update) {
  const [rows, cols] = found.options.board.split("x").map(Number);
  const isTc = found.options.rule === "tc";
  const head = (/** @type {string} */ text) => h("th", { class: "n" }, text);
  const four = (/** @type {number} */ value) => number(value, 4).replace("-", "−");
  const cell = (/** @type {any} */ content) => h("td", { class: "n" }, content);
  const coherence = (/** @type {any} */ sums) =>
    sums.absolute > 0 ? Math.abs(sums.error) / sums.absolute : 1;
  const table = h(
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
        head("Index"),
        head("Lookups"),
        head("Weight before"),
        isTc && [head("E"), head("A"), head("|E| / A")],
        head("After"),
        head("Change"),
        head("Lookups · change"),
        isTc && head("|E| / A after"),
      ),
    ),
    h(
      "tbody",
      {},
      update.weights.map((/** @type {any} */ weight) =>
        h(
          "tr",
          {},
          h("td", {}, mini(rows, cols, weight.cells[0])),
          h("td", { class: "mono" }, found.patterns[weight.tuple]),
          h("td", { class: "n mono" }, weight.index),
          cell(weight.cells.length),
          cell(four(weight.before)),
          isTc && [
            cell(exactly(weight.sums.error)),
            cell(exactly(weight.sums.absolute)),
            cell(number(weight.coherence, 3)),
          ],
          cell(four(weight.after)),
          cell(four(weight.after - weight.before)),
          cell(four(weight.cells.length * (weight.after - weight.before))),
          isTc && cell(number(coherence(weight.sums_after), 3)),
        ),
      ),
    ),
    h(
      "tfoot",
      {},
      h(
        "tr",
        {},
        h("td", { colspan: 3 }, "Together, each weight once for each lookup"),
        cell(found.lookups),
        cell(exactly(update.value)),
        isTc && h("td", { colspan: 3 }),
        cell(exactly(update.after)),
        h("td", {}),
        cell(four(movedBy(update))),
        isTc && h("td", {}),
      ),
    ),
  );
  return scrolled("Weights", table);
}

/** Both kinds of values side by side; that of this lesson with its numbers. @param {any} found @param {any} step */
function kinds(found, step) {
  const { isState } = names(found.options);
  const slide = step.slides[step.chosen];
  const { update } = step;
  const count = step.spawns.length;
  const back = found.options.backward;
  const rows = [
    [
      "What has a value",
      "the board before the slide, s",
      "the board after the slide, before the tile, s′",
    ],
    [
      "A slide is chosen by",
      `r + mean of V(s″) over every tile${isState ? ` = ${slide.reward} ${plus(slide.value)} = ${exactly(slide.total)}` : ""}`,
      `r + V(s′)${isState ? "" : ` = ${slide.reward} ${plus(slide.value)} = ${exactly(slide.total)}`}`,
    ],
    [
      "Boards that are evaluated for it",
      isState ? `${count}, one for each tile` : "one for each tile that may come",
      "1",
    ],
    [
      "The target of an update",
      `r + V(s″): the reward of this slide${isState && !back ? ` = ${exactly(update.reward)} ${plus(update.next)} = ${exactly(update.target)}` : ""}`,
      `next r + V(next s′): the reward of the next slide${isState || back ? "" : ` = ${exactly(update.reward)} ${plus(update.next)} = ${exactly(update.target)}`}`,
    ],
    [
      "The mean over tiles is taken",
      "by the choice, from their chances; the program must know them",
      "by learning, from the tiles that come; no chances are needed",
    ],
  ];
  return scrolled(
    "States and afterstates",
    h(
      "table",
      { class: "data" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td", {}),
          h("th", {}, "V(s), states", isState ? " (this lesson)" : ""),
          h("th", {}, "V(s′), afterstates", isState ? "" : " (this lesson)"),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map(([name, state, after]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, name),
            h("td", { class: `formula${isState ? " chosen" : ""}` }, state),
            h("td", { class: `formula${isState ? "" : " chosen"}` }, after),
          ),
        ),
      ),
    ),
  );
}
