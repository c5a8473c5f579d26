// @ts-check
/** A recipe as a form, made from its keys. */

import { announce, choice, fill, h } from "./dom.js";
import { post } from "./api.js";
import { gameName } from "./format.js";

const SIDES = [2, 3, 4, 5].flatMap((rows) => [2, 3, 4, 5].map((cols) => `${rows}x${cols}`));

/** What a key means on this page, where the words for the command line do not fit. */
const HELP = /** @type {Record<string, string>} */ ({
  "network.kind": "tables of tuples, or a deep network",
  "network.tuples":
    "a named set, such as 4x6 or lines, or patterns separated by spaces: each lists the cells of a tuple, counted from 0 in hexadecimal digits, as in 012345 456789",
  "learner.kind":
    "TD learning from each game once, from a replay buffer of transitions, or DQN with two networks",
  from: "a run whose weights the new one starts with. The network must be the same, or have further stages; sums of TC, moments of Adam and replay buffers start anew",
});
const NO_DEEP =
  "This recipe trains a deep network, which this program was built without. Build one that can: cargo build --release --features deep";
/** A help text of more characters is folded. */
const LONG_HELP = 110;

/** The help of a key; the rest of a long one is unfolded. @param {string} text */
function help(text) {
  if (text.length <= LONG_HELP) return h("small", {}, text);
  const end = text.indexOf(" ", LONG_HELP - 15);
  return h(
    "details",
    { class: "help" },
    h("summary", {}, `${text.slice(0, end)} …`),
    h("small", {}, `… ${text.slice(end + 1)}`),
  );
}

export class RecipeForm {
  /** @param {{ recipes: any[], runs: any[], games: any[], deep: boolean, complain: (error: any) => void, began: (run: any) => any }} page */
  constructor(page) {
    this.page = page;
    this.recipe = "quick";
    /** @type {Record<string, string>} */ this.set = {};
    /** The changes that the server has accepted. @type {Record<string, string>} */ this.taken = {};
    /** @type {any} */ this.form = null;
    this.root = h("div", { class: "card stack", id: "new-run", hidden: true });
  }

  /** Whether this program cannot train a recipe. @param {any} recipe */
  isMissing(recipe) {
    return Boolean(recipe?.deep) && !this.page.deep;
  }

  async toggle() {
    this.root.hidden = !this.root.hidden;
    document.getElementById("open-form")?.setAttribute("aria-expanded", String(!this.root.hidden));
    if (!this.root.hidden) await this.fields();
  }

  /** The form of the recipe, with its changes. A change that is refused is taken back. */
  async fields() {
    const url = `/recipes/${encodeURIComponent(this.recipe)}/form`;
    try {
      this.form = await post(url, { set: this.set });
      this.taken = { ...this.set };
    } catch (error) {
      this.set = { ...this.taken };
      if (this.form) {
        this.drawForm();
        this.tell(error);
      } else {
        this.page.complain(error);
      }
      return;
    }
    this.drawForm();
  }

  /** Another game or board, whose tuples may have to be others. @param {string} key @param {string} value */
  fit(key, value) {
    this.set[key] = value;
    const usual = this.page.recipes.find((one) => one.name === this.recipe);
    const board = this.set.board ?? usual.board;
    if (board !== usual.board) this.set["network.tuples"] = "lines";
    else delete this.set["network.tuples"];
    this.fields();
  }

  drawForm() {
    const { form } = this;
    const changed = (/** @type {string} */ key, /** @type {string} */ value) => {
      this.set[key] = value;
      this.fields();
    };
    const runs = this.page.runs.filter((run) => run.games > 0);
    const field = (/** @type {any} */ one) => {
      const label = one.key.replace(/^(network|learner)\./, "").replaceAll("_", " ");
      const id = `key-${one.key.replace(".", "-")}`;
      /** @type {any} */ let input;
      if (one.key === "from")
        input = h(
          "select",
          { id, onchange: () => changed(one.key, input.value) },
          h("option", { value: "" }, "nothing: new weights"),
          runs.map((run) =>
            h("option", { value: run.id, selected: this.set.from === run.id }, run.id),
          ),
        );
      else if (one.key === "game" || one.key === "board")
        input = h(
          "select",
          { id, onchange: () => this.fit(one.key, input.value) },
          (one.key === "game"
            ? this.page.games.map((game) => [game.name, gameName(game.name)])
            : SIDES.map((side) => [side, side.replace("x", " × ")])
          ).map(([name, text]) => h("option", { value: name, selected: name === one.value }, text)),
        );
      else if (one.type === "choice")
        input = h(
          "select",
          { id, onchange: () => changed(one.key, input.value) },
          one.choices.map((/** @type {string} */ word) =>
            h("option", { value: word, selected: word === one.value }, word),
          ),
        );
      else if (one.type === "switch")
        input = h(
          "select",
          { id, onchange: () => changed(one.key, input.value) },
          ["true", "false"].map((word) =>
            h(
              "option",
              { value: word, selected: word === one.value },
              word === "true" ? "yes" : "no",
            ),
          ),
        );
      else
        input = h("input", {
          id,
          value: one.value,
          inputmode: one.type === "whole" ? "numeric" : undefined,
          onchange: () => changed(one.key, input.value),
        });
      return h(
        "div",
        { class: `field${one.key in this.set ? " changed" : ""}` },
        h("label", { for: id }, label),
        input,
        help(HELP[one.key] ?? one.help),
      );
    };
    const main = [
      "game",
      "board",
      "episodes",
      "network.tuples",
      "learner.learning_rate",
      "threads",
    ];
    const groups = /** @type {[string, (key: string) => boolean][]} */ ([
      ["Run", (key) => !key.includes(".") && !main.includes(key)],
      ["Network", (key) => key.startsWith("network.") && !main.includes(key)],
      ["Learner", (key) => key.startsWith("learner.") && !main.includes(key)],
    ]);
    const open = new Set(
      [...this.root.querySelectorAll("details[open]:not(.help) > summary")].map(
        (/** @type {Element} */ one) => one.textContent,
      ),
    );
    const about = this.page.recipes.find((one) => one.name === this.recipe);
    fill(
      this.root,
      h("h2", {}, "New run"),
      h(
        "div",
        { class: "wide" },
        choice(
          "Recipe",
          this.page.recipes.map((one) => [
            one.name,
            `${one.name} · ${gameName(one.game)} ${one.board}${this.isMissing(one) ? " · needs --features deep" : ""}`,
          ]),
          this.recipe,
          (name) => {
            this.recipe = name;
            this.set = {};
            this.fields();
          },
        ),
        h(
          "div",
          { class: "small muted" },
          h("p", {}, about?.purpose),
          h("p", {}, [about?.result, about?.time].filter(Boolean).join(" · ")),
          this.isMissing(about) && h("p", { class: "note" }, NO_DEEP),
        ),
      ),
      h(
        "div",
        { class: "form" },
        main
          .flatMap((key) => form.keys.filter((/** @type {any} */ one) => one.key === key))
          .map(field),
      ),
      groups.map(([name, belongs]) =>
        h(
          "details",
          { open: open.has(name) },
          h("summary", {}, name),
          h(
            "div",
            { class: "form" },
            form.keys.filter((/** @type {any} */ one) => belongs(one.key)).map(field),
          ),
        ),
      ),
      form.size && h("p", { class: "small muted" }, `Network: ${form.size}.`),
      form.changed.length > 0 &&
        h("p", { class: "small muted" }, `Changed: ${form.changed.join(", ")}`),
      (this.fault = h("div", { role: "alert" })),
      h(
        "div",
        { class: "row" },
        h(
          "button",
          { type: "button", class: "primary", id: "start-run", onclick: () => this.begin() },
          "Start",
        ),
        h(
          "button",
          {
            type: "button",
            onclick: () => {
              this.set = {};
              this.fields();
            },
          },
          "Reset",
        ),
        h("button", { type: "button", onclick: () => this.toggle() }, "Close"),
      ),
    );
  }

  async begin() {
    try {
      const run = await post("/runs", { recipe: this.recipe, set: this.set });
      this.close();
      announce(`The run ${run.id} has started.`);
      await this.page.began(run);
    } catch (error) {
      this.tell(error);
    }
  }

  /** @param {any} error */
  tell(error) {
    const text = error instanceof Error ? error.message : String(error);
    if (this.fault) fill(this.fault, h("p", { class: "error" }, text));
  }

  close() {
    this.root.hidden = true;
    document.getElementById("open-form")?.setAttribute("aria-expanded", "false");
  }
}
