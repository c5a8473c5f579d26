// @ts-check
/** The keys of Play, and what they do. */

import { h, keep } from "./dom.js";

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

/** Does what a key stands for. @param {any} page the part that is played @param {KeyboardEvent} event */
export function pressed(page, event) {
  const target = /** @type {Element} */ (event.target);
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    target.closest("input, select, textarea, dialog")
  )
    return;
  const { key } = event;
  const letter = key.length === 1 ? key.toLowerCase() : key;
  if (key === " " && target.closest("button, a, summary")) return;
  if (key === "Enter") return;
  const isOpen = document.querySelector("dialog[open]");
  if (isOpen) return;
  const step = (/** @type {number} */ by) => {
    page.speed = Math.min(Math.max(page.speed + by, 0), SPEEDS.length - 1);
    keep("play.speed", page.speed);
    page.drawSettings();
  };
  const plies = (/** @type {number} */ wanted) => {
    page.search = `${Math.min(Math.max(wanted, 1), 6)}ply`;
    keep("play.search", page.search);
    page.drawSettings();
    page.ask();
  };
  const now = Number.parseInt(page.search, 10);
  const acts = /** @type {Record<string, () => void>} */ ({
    " ": () => page.bestMove(),
    i: () => page.hint(),
    v: () => page.showValues(),
    u: () => page.undo(),
    r: () => page.act("/redo", {}),
    Home: () => page.jump("/undo"),
    End: () => page.jump("/redo"),
    p: () => page.toggle(),
    "+": () => step(1),
    "=": () => step(1),
    "-": () => step(-1),
    ".": () => plies(page.search.endsWith("ply") ? now + 1 : 3),
    ",": () => plies(page.search.endsWith("ply") ? now - 1 : 1),
    m: () => {
      page.spawns = page.spawns === "manual" ? "random" : "manual";
      keep("play.spawns", page.spawns);
      page.draw();
      page.settle();
    },
    n: () => page.fresh(true),
    e: () => page.save(),
    "?": () => page.help(),
  });
  if (KEYS[letter]) {
    event.preventDefault();
    page.playing = false;
    page.slide(KEYS[letter]);
    return;
  }
  if (/^[1-6]$/.test(key)) {
    plies(Number(key));
    return;
  }
  if (!acts[letter]) return;
  event.preventDefault();
  if (letter !== "n") page.asked = false;
  acts[letter]();
}
