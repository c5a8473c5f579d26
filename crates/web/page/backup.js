// @ts-check
/** The backup diagram of one update, drawn. */

import { s } from "./dom.js";
import { picture } from "./board.js";
import { ARROWS, cellName, exactly, percent, plus } from "./format.js";

const WIDTH = 1000;
/** The most spawns that are drawn. */
const MOST = 16;
const ROW = 27;
const BOARD = 100;

/** What a spawn is called. @param {any} spawn @param {number} cols */
export function spawnName(spawn, cols) {
  const then = spawn.hint ? `, then ${spawn.hint}` : "";
  return `${spawn.tile} at ${cellName(spawn.cell, cols)}${then}`;
}

/** The spawns that are drawn: the first ones, and the one that comes. @param {any} step */
function drawnSpawns(step) {
  if (step.spawns.length <= MOST) return step.spawns;
  const first = step.spawns.slice(0, MOST - 1);
  const came = step.spawns[step.drawn];
  return first.includes(came) ? first : [...first, came];
}

/**
 * The names of the numbers of a lesson.
 * @param {any} options
 */
export function names(options) {
  const isState = options.value === "state";
  return {
    isState,
    v: isState ? "V(s)" : "V(s′)",
    r: isState ? "r" : "next r",
    next: options.backward ? "z" : isState ? "V(s″)" : "V(next s′)",
    spawn: isState ? "V(s″)" : "best r + V(s′)",
  };
}

/**
 * The diagram in words.
 * @param {any} step
 */
function inWords(step) {
  const chosen = step.slides[step.chosen],
    spawn = step.spawns[step.drawn];
  return `From the state, ${step.slides.length} slides are legal; ${chosen.direction} has the largest total, ${exactly(chosen.total)}. Of ${step.spawns.length} possible tiles, ${spawn.tile} comes, with a chance of ${percent(spawn.chance)}. The target is ${exactly(step.update.target)}.`;
}

/**
 * From left to right: the state, its slides, the afterstate, every state that may follow, and below
 * them the way of the target back to the position that is updated.
 * @param {any} found the lesson @param {number} place of the step
 */
export function backup(found, place) {
  const step = found.steps[place];
  const shown = drawnSpawns(step);
  const [rows, cols] = found.options.board.split("x").map(Number);
  const tall = (BOARD * rows) / cols;
  const field = Math.max(
    shown.length * ROW + (shown.length < step.spawns.length ? ROW : 0),
    step.slides.length * 62,
    tall + 80,
  );
  const at = { top: 56, middle: 56 + field / 2, bottom: 56 + field, tall, rows, cols };
  const drawing = s("svg", {
    viewBox: `0 0 ${WIDTH} ${at.bottom + 88}`,
    role: "img",
    "aria-label": inWords(step),
  });
  drawing.append(
    text(20, 18, "strong", "Choose: values when the move was chosen"),
    text(492, 18, "strong", "Learn: values just before the update"),
  );
  boards(drawing, found, step, at);
  slides(drawing, step, at);
  spawns(drawing, found, step, shown, at);
  target(drawing, found, place, at);
  return drawing;
}

/** @typedef {{ top: number, middle: number, bottom: number, tall: number, rows: number, cols: number }} Places */

/** @param {number} x @param {number} y @param {string} kind @param {string} words @param {string} [anchor] */
function text(x, y, kind, words, anchor = "start") {
  return s("text", { x, y, class: kind, "text-anchor": anchor }, words);
}

/** State and afterstate. @param {Element} drawing @param {any} found @param {any} step @param {Places} at */
function boards(drawing, found, step, at) {
  const { isState } = names(found.options);
  const { middle, tall } = at;
  const put = (
    /** @type {number[]} */ cells,
    /** @type {number} */ x,
    /** @type {string} */ label,
    /** @type {boolean} */ isUpdated,
  ) =>
    drawing.append(
      s(
        "foreignObject",
        { x, y: middle - tall / 2, width: BOARD, height: tall + 10 },
        picture(found.options.game, at.rows, at.cols, cells, label),
      ),
      text(
        x + BOARD / 2,
        middle - tall / 2 - 10,
        "strong",
        isUpdated ? `${isState ? "V(s)" : "V(s′)"} = ${exactly(step.update.value)}` : label,
        "middle",
      ),
    );
  put(step.state, 20, "state s", isState);
  put(step.afterstate, 492, "afterstate s′", !isState);
  drawing.append(
    text(
      492 + BOARD / 2,
      middle + tall / 2 + 20,
      "dim",
      `r = ${step.slides[step.chosen].reward}`,
      "middle",
    ),
  );
}

/** @param {Element} drawing @param {any} step @param {Places} at */
function slides(drawing, step, { middle }) {
  step.slides.forEach((/** @type {any} */ slide, /** @type {number} */ place) => {
    const y = middle + (place - (step.slides.length - 1) / 2) * 62;
    const on = place === step.chosen;
    const words = `${ARROWS[slide.direction]} ${slide.direction}: ${slide.reward} ${plus(slide.value)} = ${exactly(slide.total)}`;
    const under =
      slide.exact === null
        ? on
          ? "made: the largest total"
          : ""
        : `perfect play ${exactly(slide.exact)}`;
    drawing.append(
      s("path", {
        class: `edge${on ? " on" : ""}`,
        d: `M${20 + BOARD} ${middle} C 170 ${middle} 170 ${y} 210 ${y}`,
      }),
      s("circle", { class: `node${on ? " on" : ""}`, cx: 216, cy: y, r: 6 }),
      text(230, y - 5, on ? "strong" : "", words),
      text(230, y + 13, "dim", under),
    );
    // The edge to the afterstate begins where the text ends.
    const from = Math.min(478, 242 + 7.7 * words.length);
    if (on)
      drawing.append(
        s("path", {
          class: "edge on",
          d: `M${from} ${y - 9} C ${from + 12} ${y - 9} 470 ${middle} 490 ${middle}`,
        }),
      );
  });
}

/** @param {Element} drawing @param {any} found @param {any} step @param {any[]} shown @param {Places} at */
function spawns(drawing, found, step, shown, { top, middle, cols }) {
  const first = middle - ((shown.length - 1) / 2) * ROW;
  shown.forEach((spawn, place) => {
    const y = first + place * ROW;
    const on = spawn === step.spawns[step.drawn];
    const value = spawn.reward ? `${spawn.reward} ${plus(spawn.value)}` : exactly(spawn.value);
    drawing.append(
      s("path", {
        class: `edge${on ? " on" : ""}`,
        d: `M${496 + BOARD} ${middle} C 640 ${middle} 640 ${y} 676 ${y}`,
      }),
      s("circle", { class: `node${on ? " on" : ""}`, cx: 682, cy: y, r: 6 }),
      text(
        696,
        y + 4,
        on ? "strong" : "",
        `${spawnName(spawn, cols)}, ${percent(spawn.chance)}${spawn.is_over ? ", game over" : ""}`,
      ),
      text(990, y + 4, on ? "strong came" : "dim", value, "end"),
    );
  });
  const more = step.spawns.length - shown.length;
  if (more > 0)
    drawing.append(
      text(696, first + shown.length * ROW + 4, "dim", `and ${more} more that are not drawn`),
    );
  drawing.append(
    text(696, top - 12, "dim", `s″: ${step.spawns.length} possible, one comes`),
    text(990, top - 12, "dim", names(found.options).spawn, "end"),
  );
}

/** The way of the target, back to the position that is updated. @param {Element} drawing @param {any} found @param {number} place @param {Places} at */
function target(drawing, found, place, at) {
  const { update } = found.steps[place];
  const { isState, v, r, next } = names(found.options);
  const to = (isState ? 20 : 492) + BOARD / 2;
  const from = 950;
  const y = at.bottom + 44;
  const up = at.middle + at.tall / 2 + (isState ? 12 : 28);
  const isEnd = place === found.moves - 1;
  const carried = update.carried
    ? `${next} = ${carriedSum(found.options, update)}`
    : `target = ${r} + ${isEnd ? "0, the game ends" : next} = ${exactly(update.reward)} ${plus(update.next)} = ${exactly(update.target)}`;
  drawing.append(
    s("path", {
      class: "target",
      d: `M${from} ${at.bottom + 6} V ${y} H ${to} V ${up}`,
    }),
    s("path", {
      class: "arrow",
      d: `M${to - 6} ${up + 9} L${to} ${up - 2} L${to + 6} ${up + 9} Z`,
    }),
    text(from - 14, y - 8, "strong", carried, "end"),
    text(
      from - 14,
      y + 20,
      "dim",
      `${update.carried ? `carried from move ${place + 2}; ` : ""}${v} moves from ${exactly(update.value)} to ${exactly(update.after)}: error ${exactly(update.error)}`,
      "end",
    ),
  );
}

/** What z is made of, in numbers. @param {any} options @param {any} update */
export function carriedSum({ lambda }, { carried, next }) {
  const rest = +(1 - lambda).toFixed(6);
  return `${+lambda.toFixed(6)} · ${exactly(carried.target)} ${carried.after < 0 ? "−" : "+"} ${rest} · ${exactly(Math.abs(carried.after))} = ${exactly(next)}`;
}
