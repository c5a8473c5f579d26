// @ts-check
/** Numbers and boards as text. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** @param {number | null | undefined} value @param {number} [digits] */
export function number(value, digits = 0) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (digits === 0) return whole.format(value);
  return new Intl.NumberFormat("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(value);
}

/** With its sign. @param {number | null | undefined} value @param {number} [digits] */
export function signed(value, digits = 1) {
  if (value === null || value === undefined) return "–";
  return (value > 0 ? "+" : "") + number(value, digits).replace("-", "−");
}

/** @param {number | null | undefined} share @param {number} [digits] */
export function percent(share, digits = 1) {
  return share === null || share === undefined ? "–" : number(100 * share, digits) + "%";
}

/** Enough digits for a weight or a value. @param {number} value */
export function value(value) {
  const size = Math.abs(value);
  return number(value, size >= 1000 ? 0 : size >= 10 ? 1 : 2).replace("-", "−");
}

/** @param {number} seconds */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

export const ARROWS = /** @type {Record<string, string>} */ ({
  up: "↑",
  right: "→",
  down: "↓",
  left: "←",
});

/** The name of a cell, as in c2. @param {number} cell @param {number} cols */
export function cellName(cell, cols) {
  return "abcde"[cell % cols] + (Math.floor(cell / cols) + 1);
}

/** The games by the names that people know. @param {string} name */
export function gameName(name) {
  const names = /** @type {Record<string, string>} */ ({
    threes: "Threes! (course)",
    "threes-hint": "Threes! with hint",
    "threes-original": "Threes! original",
    "2584-three": "2584 (1 and 3)",
  });
  return names[name] ?? name;
}

/** With two digits, as the numbers of one sum need them. @param {number} value */
export function exactly(value) {
  return number(value, 2).replace("-", "−");
}

/** The second term of a sum, with its sign. @param {number} value */
export function plus(value) {
  return `${value < 0 ? "−" : "+"} ${number(Math.abs(value), 2)}`;
}
