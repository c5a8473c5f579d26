// @ts-check
/** A recipe as a form, made from its keys. */

import { announce, choice, fill, h } from "./dom.js";
import { post } from "./api.js";
import { gameName } from "./format.js";

const SIDES = [2, 3, 4, 5].flatMap((rows) => [2, 3, 4, 5].map((cols) => `${rows}x${cols}`));

export class RecipeForm {
  /** @param {{ recipes: any[], runs: any[], games: any[], complain: (error: any) => void, began: (run: any) => any }} page */
  constructor(page) {
    this.page = page;
    this.recipe = "quick";
    /** @type {Record<string, string>} */ this.set = {};
    /** The changes that the server has accepted. @type {Record<string, string>} */ this.taken = {};
    /** @type {any} */ this.form = null;
    this.root = h("div", { class: "card stack", id: "new-run", hidden: true });
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
      const short =
        one.help.length > 110 ? one.help.slice(0, one.help.indexOf(" ", 95)) + " …" : one.help;
      return h(
        "div",
        { class: `field${one.key in this.set ? " changed" : ""}` },
        h("label", { for: id }, label),
        input,
        h("small", { title: one.help }, short),
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
      [...this.root.querySelectorAll("details[open] summary")].map(
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
            `${one.name} · ${gameName(one.game)} ${one.board}`,
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
