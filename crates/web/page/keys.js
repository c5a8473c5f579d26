// @ts-check
/** The keys of Play, and what they do. */

import { h, keep, setting } from "./dom.js";

/** Moves a second of autoplay; the last one is as fast as it goes. */
export const SPEEDS = [1, 2, 4, 8, 16, 0];
export const DIRECTIONS = ["up", "right", "down", "left"];
export const ARROW_KEYS = /** @type {Record<string, string>} */ ({
  ArrowUp: "up",
  ArrowRight: "right",
  ArrowDown: "down",
  ArrowLeft: "left",
});
const KEYS = /** @type {Record<string, string>} */ ({
  ...ARROW_KEYS,
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
    h(
      "label",
      { class: "check" },
      h("input", {
        type: "checkbox",
        id: "letters",
        checked: setting("keys.letters", true),
        onchange: (/** @type {any} */ event) => keep("keys.letters", event.target.checked),
      }),
      "Keys of a single letter, digit or sign",
    ),
    h("form", { method: "dialog" }, h("button", { class: "primary" }, "Close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Whether a key that is pressed is one for this page, and not for a field, a button or a dialog. @param {KeyboardEvent} event */
export function isForPage(event) {
  const target = /** @type {Element} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (target.closest("input, select, textarea, dialog")) return false;
  if (document.querySelector("dialog[open]")) return false;
  if (event.key === "Enter" || (event.key === " " && target.closest("button, a, summary")))
    return false;
  // What scrolls takes the keys that scroll it.
  if (event.key.length > 1 && target.closest(".scroll, .backup")) return false;
  // Single letters can be switched off: software that hears speech types them.
  return event.key.length > 1 || event.key === " " || setting("keys.letters", true);
}

/** Does what a key stands for. @param {import("./play.js").Play} play the part that is played @param {KeyboardEvent} event */
export function pressed(play, event) {
  if (!isForPage(event)) return;
  const { key } = event;
  const letter = key.length === 1 ? key.toLowerCase() : key;
  const { settings } = play;
  const step = (/** @type {number} */ by) =>
    play.change("speed", Math.min(Math.max(settings.speed + by, 0), SPEEDS.length - 1));
  const plies = (/** @type {number} */ wanted) =>
    play.change("search", `${Math.min(Math.max(wanted, 1), 6)}ply`);
  const isPlies = settings.search.endsWith("ply");
  const now = Number.parseInt(settings.search, 10);
  const acts = /** @type {Record<string, () => void>} */ ({
    " ": () => play.bestMove(),
    i: () => play.advice.hint(),
    v: () => play.advice.toggle(),
    u: () => play.undo(),
    r: () => play.redo(),
    Home: () => play.jump(0),
    End: () => play.jump(Number.MAX_SAFE_INTEGER),
    p: () => play.autoplay.toggle(),
    "+": () => step(1),
    "=": () => step(1),
    "-": () => step(-1),
    ".": () => plies(isPlies ? now + 1 : 3),
    ",": () => plies(isPlies ? now - 1 : 1),
    m: () => play.change("spawns", settings.spawns === "manual" ? "random" : "manual"),
    n: () => play.fresh(true),
    e: () => play.save(),
    "?": () => showKeys(),
  });
  if (KEYS[letter]) {
    event.preventDefault();
    play.autoplay.stop();
    play.slide(KEYS[letter]);
    return;
  }
  if (/^[1-6]$/.test(key)) {
    plies(Number(key));
    return;
  }
  if (!acts[letter]) return;
  event.preventDefault();
  if (letter !== "n") play.asked = false;
  acts[letter]();
}
