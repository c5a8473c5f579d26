// @ts-check
/** The keys of Play, and what they do. */

import { h } from "./dom.js";

/** Moves a second of autoplay; the last one is as fast as it goes. */
export const SPEEDS = [1, 2, 4, 8, 16, 0];
export const DIRECTIONS = ["up", "right", "down", "left"];
export const KEYS = /** @type {Record<string, string>} */ ({
  ArrowUp: "up",
  ArrowRight: "right",
  ArrowDown: "down",
  ArrowLeft: "left",
  w: "up",
  d: "right",
  s: "down",
  a: "left",
  k: "up",
  l: "right",
  j: "down",
  h: "left",
});
const HELP = [
  ["arrows, WASD, HJKL", "slide; on a phone: swipe"],
  ["space", "play the best move"],
  ["i", "hint: show the best move"],
  ["v", "show or hide the values of all moves"],
  ["u r", "undo, redo"],
  ["Home End", "to the first, to the last position"],
  ["p", "autoplay"],
  ["+ −", "faster, slower"],
  [". ,", "search deeper, less deep; 1 to 6: plies"],
  ["m", "new tiles by chance or by hand"],
  ["n", "new game"],
  ["e", "save the game as a record"],
  ["?", "this help"],
];

/** Shows all keys. */
export function showKeys() {
  const dialog = h(
    "dialog",
    { "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title" }, "Keys"),
    h(
      "dl",
      { class: "keys" },
      HELP.flatMap(([keys, what]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)]),
    ),
    h(
      "p",
      { class: "small muted" },
      "To follow a game on another device, choose “by hand”: place each new tile where it appeared, and play the move that is shown.",
    ),
    h("form", { method: "dialog" }, h("button", { class: "primary" }, "Close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
