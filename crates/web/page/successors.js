// @ts-check
/** What a slide is worth, and the states that may follow it. */

import { spawnName } from "./backup.js";
import { h } from "./dom.js";
import { exactly, number, percent, plus } from "./format.js";
import { scrolled } from "./table.js";

/** How the value of a slide is made. @param {any} found the explanation */
export function worth(found) {
  if (found.value_of === "state")
    return [
      "This network has values of states: of the board before a slide. ",
      `The slide is worth its reward and the mean of V(s″) over the ${found.spawns.length} states that may follow: ${number(found.reward)} ${plus(found.value)}. `,
      "V(s), of the board shown here, is one number for all slides; learning moves it towards r + V(s″).",
    ];
  return [
    "This network has values of afterstates: of the board after the slide, before the new tile. That is the board shown here. ",
    `The slide is worth its reward and V(s′), which is looked up once: ${number(found.reward)} ${plus(found.value)}. No tile is averaged.`,
  ];
}

/** Every state that may follow a slide, and the mean of their values. @param {any} found */
export function successors(found) {
  const state = found.value_of === "state";
  const one = (/** @type {any} */ spawn) => spawn.reward + spawn.value;
  const mean = found.spawns.reduce(
    (/** @type {number} */ sum, /** @type {any} */ spawn) => sum + spawn.chance * one(spawn),
    0,
  );
  const name = state ? "V(s″)" : "best r + V(s′)";
  return h(
    "details",
    { id: "successors", open: found.spawns.length <= 8 },
    h(
      "summary",
      {},
      state
        ? `The mean of V(s″) over ${found.spawns.length} states s″: ${exactly(mean)}`
        : `One step further: the best of s″ is ${exactly(mean)} on average`,
    ),
    h(
      "p",
      { class: "small muted" },
      state
        ? "This mean is the value of the slide."
        : "V(s′) is not this mean, but is moved towards it by learning: each update uses the one s″ that comes.",
    ),
    scrolled(
      "States that may follow",
      h(
        "table",
        { class: "data" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, "New tile"),
            h("th", { class: "n" }, "Chance"),
            h("th", { class: "n" }, name),
            h("th", { class: "n" }, "Chance · value"),
          ),
        ),
        h(
          "tbody",
          {},
          found.spawns.map((/** @type {any} */ spawn) =>
            h(
              "tr",
              {},
              h("td", {}, spawnName(spawn, found.cols), spawn.is_over && ", game over"),
              h("td", { class: "n" }, percent(spawn.chance, 2)),
              h(
                "td",
                { class: "n" },
                spawn.reward ? `${spawn.reward} ${plus(spawn.value)}` : exactly(spawn.value),
              ),
              h("td", { class: "n" }, exactly(spawn.chance * one(spawn))),
            ),
          ),
        ),
        h(
          "tfoot",
          {},
          h(
            "tr",
            {},
            h("td", { colspan: 3 }, "Mean"),
            h("td", { class: "n", id: "mean" }, exactly(mean)),
          ),
        ),
      ),
    ),
  );
}
