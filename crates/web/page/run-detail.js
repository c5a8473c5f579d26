// @ts-check
/** A run: its recipe, its files, and going on with it. */

import { fill, h } from "./dom.js";
import { get } from "./api.js";

const FILES = /** @type {Record<string, string>} */ ({
  model: "model",
  recipe: "recipe",
  blocks: "blocks (CSV)",
});

/** @param {string} name @param {string | null} time */
function when(name, time) {
  return time && ` · ${name} ${new Date(time).toLocaleString("en")}`;
}

export class RunDetail {
  /** @param {{ resume: (id: string, set: Record<string, string>) => Promise<void> }} page */
  constructor(page) {
    this.page = page;
    this.root = h("div", {});
    this.fault = h("div", { role: "alert", id: "run-fault" });
  }

  /** Shows a run. @param {string} id */
  async open(id) {
    const detail = await get(`/run?id=${encodeURIComponent(id)}`);
    const mayResume = detail.status !== "running" && detail.status !== "damaged";
    fill(this.fault);
    fill(
      this.root,
      h(
        "div",
        { class: "card stack", id: "run-detail" },
        h(
          "div",
          { class: "row spread" },
          h("h2", {}, detail.id),
          h("button", { type: "button", onclick: () => fill(this.root) }, "Close"),
        ),
        h(
          "p",
          { class: "muted" },
          detail.title,
          when("started", detail.started),
          when("finished", detail.finished),
        ),
        this.links(detail),
        mayResume && this.resume(detail),
        this.fault,
        h(
          "details",
          {},
          h("summary", {}, "The whole recipe"),
          h("pre", { class: "scroll mono small", tabindex: "0" }, detail.toml),
        ),
      ),
    );
    this.root.scrollIntoView({ block: "nearest" });
  }

  /** @param {any} detail */
  links(detail) {
    const id = encodeURIComponent(detail.id);
    const part = (/** @type {string} */ name, /** @type {string} */ text) => {
      const query = `game=${detail.game}&board=${detail.board}&model=${id}`;
      return h("a", { class: "button", href: `/${name}?${query}`, "data-part": name }, text);
    };
    return h(
      "div",
      { class: "row" },
      detail.files.map((/** @type {string} */ file) =>
        h(
          "a",
          { class: "button", href: `/api/v1/run/file?id=${id}&file=${file}`, download: "" },
          `Save the ${FILES[file]}`,
        ),
      ),
      part("play", "Play with it"),
      part("inside", "Look inside"),
    );
  }

  /** @param {any} detail */
  resume(detail) {
    const episodes = h("input", {
      type: "number",
      min: "1",
      value: detail.episodes,
      id: "resume-episodes",
    });
    const go = async () => {
      const isSame = Number(episodes.value) === detail.episodes;
      fill(this.fault);
      try {
        /** @type {Record<string, string>} */
        const set = isSame ? {} : { episodes: episodes.value };
        await this.page.resume(detail.id, set);
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        fill(this.fault, h("p", { class: "error" }, text));
      }
    };
    return h(
      "div",
      { class: "row" },
      h("label", { class: "field" }, "Games in all", episodes),
      h("button", { type: "button", id: "resume-run", onclick: go }, "Resume"),
    );
  }
}
