// @ts-check
/** Line charts: a pointer or keys tell the numbers and zoom, and what is shown can be saved. */

import { chartKeys } from "./chart-keys.js";
import { followPointer } from "./chart-pointer.js";
import { saveChart } from "./chart-save.js";
import { fill, h, s } from "./dom.js";
import { number } from "./format.js";

/**
 * @typedef {{ name: string, points: [number, number][], hue?: string, band?: [number, number][] }} Series
 * @typedef {{
 *   title: string, x: string, y: string, height?: number, percent?: boolean, zero?: boolean,
 *   level?: string, pick?: (x: number) => void, name?: string, empty?: string,
 * }} Options `name`: of the file that is saved; `empty`: what is said where there are no numbers
 * @typedef {{
 *   left: number, right: number, low: number, high: number,
 *   x: (value: number) => number, y: (value: number) => number, at: (x: number) => number,
 * }} Scale what is shown, where a number is drawn, and which one is drawn at an x
 */

const LEFT = 62,
  RIGHT = 26,
  TOP = 30,
  BOTTOM = 40;
/** The clip paths that were made: each has a name of its own. */
let clips = 0;
const HUES = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6"];

/** Round numbers between two others. @param {number} from @param {number} to @param {number} count */
export function ticks(from, to, count) {
  const rough = (to - from) / Math.max(count, 1);
  if (!(rough > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const first = Math.ceil(from / step - 1e-9),
    all = [];
  for (let place = first; place * step <= to + step * 1e-9; place++)
    all.push(place === 0 ? 0 : place * step);
  return all;
}

/** The smallest and the largest of some numbers, which may be too many for the arguments of a call. @param {number[]} values */
function extent(values) {
  let low = Infinity,
    high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** A number beside an axis. @param {number} value */
function short(value) {
  const size = Math.abs(value);
  const unit = size >= 1e6 ? 1e6 : size >= 1e4 ? 1e3 : 1;
  const text =
    unit === 1
      ? number(value, size > 0 && size < 10 && !Number.isInteger(value) ? 2 : 0)
      : `${+(value / unit).toPrecision(3)} ${unit === 1e6 ? "M" : "k"}`;
  return text.replace("-", "−");
}

export class Chart {
  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    /** @type {Series[]} */ this.series = [];
    /** @type {[number, number] | null} */ this.zoom = null;
    /** @type {number | null} */ this.marked = null;
    /** The place whose numbers are told. @type {number | null} */ this.pointed = null;
    this.height = options.height ?? 280;
    this.width = 760;
    this.box = h("div", { class: "plot" });
    this.tip = h("div", { class: "tip", hidden: true });
    this.legend = h("ul", { class: "legend" });
    this.whole = h(
      "button",
      { type: "button", hidden: true, onclick: () => this.zoomTo(null) },
      "Whole",
    );
    const save = (/** @type {string} */ kind) =>
      h(
        "button",
        { type: "button", "data-kind": kind, onclick: () => saveChart(this, kind) },
        kind,
      );
    this.heading = h(options.level ?? "h3", {});
    this.root = h(
      "figure",
      { class: "chart stack tight" },
      h(
        "figcaption",
        { class: "row spread" },
        this.heading,
        h("div", { class: "row" }, this.whole, save("PNG"), save("SVG"), save("CSV")),
      ),
      h("div", { class: "chart" }, this.box, this.tip),
      this.legend,
    );
    this.root.style.margin = "0";
    this.name();
    chartKeys(this);
    // Text has the same size, however wide the chart is.
    new ResizeObserver(() => {
      const wide = Math.max(280, Math.round(this.box.clientWidth));
      if (wide !== this.width && this.box.clientWidth > 0) {
        this.width = wide;
        this.draw();
      }
    }).observe(this.box);
  }

  /** Names the chart and what saves it. */
  name() {
    this.heading.textContent = this.options.title;
    for (const button of this.root.querySelectorAll("[data-kind]")) {
      button.hidden = this.series.length === 0;
      button.setAttribute("aria-label", `Save ${this.options.title} as ${button.textContent}`);
    }
  }

  /** @param {Series[]} series */
  show(series) {
    this.series = series.filter((one) => one.points.length > 0);
    this.draw();
  }

  /** Marks a place. @param {number | null} x */
  mark(x) {
    this.marked = x;
    this.draw();
  }

  /** Shows a part of the numbers, or all of them. @param {[number, number] | null} zoom */
  zoomTo(zoom) {
    this.zoom = zoom;
    this.draw();
  }

  /** The places with numbers that are shown, from left to right. */
  places() {
    const { left, right } = this.range();
    const all = this.series.flatMap((one) => one.points.map(([x]) => x));
    const shown = all.filter((x) => x >= left && x <= right);
    return [...new Set(shown)].sort((a, b) => a - b);
  }

  /** The first and the last place with numbers. */
  ends() {
    return extent(this.series.flatMap((one) => one.points.map(([x]) => x)));
  }

  /** What is shown. */
  range() {
    const all = this.series.flatMap((one) => one.points);
    let [left, right] = this.zoom ?? this.ends();
    if (left === right) right = left + 1;
    const inside = (/** @type {[number, number]} */ [x]) => x >= left && x <= right;
    const seen = all.filter(inside).map(([, y]) => y);
    for (const one of this.series)
      one.band?.forEach((ends, place) => inside(one.points[place]) && seen.push(...ends));
    let [low, high] = extent(seen.length > 0 ? seen : [0]);
    if (this.options.zero !== false) low = Math.min(0, low);
    if (this.options.percent) [low, high] = [0, 1];
    if (!(high > low)) high = low + 1;
    return { left, right, low, high: this.options.percent ? high : high + 0.05 * (high - low) };
  }

  draw() {
    this.name();
    const { pointed } = this;
    this.leave();
    if (this.series.length === 0) {
      for (const name of this.box.getAttributeNames())
        if (name !== "class") this.box.removeAttribute(name);
      fill(this.box, h("p", { class: "muted small" }, this.options.empty ?? "No numbers yet."));
      fill(this.legend);
      return;
    }
    const scale = this.scale();
    const drawing = s("svg", {
      viewBox: `0 0 ${this.width} ${this.height}`,
      role: "img",
      "aria-label": this.summary(),
    });
    this.axes(drawing, scale);
    // Lines end at the frame, also where they go on outside of the zoomed range.
    const clip = `clip-${(clips += 1)}`;
    const frame = { x: LEFT, y: TOP - 3, width: this.width - LEFT - RIGHT };
    const area = s("rect", { ...frame, height: this.height - TOP - BOTTOM + 6 });
    const lines = s("g", { "clip-path": `url(#${clip})` });
    drawing.append(s("clipPath", { id: clip }, area), lines);
    this.bands(lines, scale);
    this.lines(lines, scale);
    const { marked } = this;
    if (marked !== null && marked >= scale.left && marked <= scale.right)
      drawing.append(
        s("line", { class: "axis", ...this.upright(scale.x(marked)), "stroke-width": 2 }),
      );
    followPointer(this, drawing, scale);
    fill(this.box, drawing);
    this.asSlider(scale);
    // Keys go on from the same place when there are new numbers.
    if (pointed !== null && this.box === document.activeElement) this.point(pointed);
    this.whole.hidden = this.zoom === null;
    fill(
      this.legend,
      this.series.map((one, place) => {
        const line = h("i", {});
        line.style.setProperty("--hue", this.hue(one, place));
        return h("li", {}, line, one.name);
      }),
    );
  }

  /** Where numbers are drawn. @returns {Scale} */
  scale() {
    const { left, right, low, high } = this.range();
    const [wide, tall] = [this.width - LEFT - RIGHT, this.height - TOP - BOTTOM];
    return {
      left,
      right,
      low,
      high,
      x: (value) => LEFT + ((value - left) / (right - left)) * wide,
      y: (value) => TOP + ((high - value) / (high - low)) * tall,
      at: (x) => left + Math.min(Math.max((x - LEFT) / wide, 0), 1) * (right - left),
    };
  }

  /** The ends of an upright line. @param {number} x */
  upright(x) {
    return { x1: x, x2: x, y1: TOP, y2: this.height - BOTTOM };
  }

  /** A number of the upright axis. @param {number} value */
  told(value) {
    return this.options.percent ? `${number(100 * value)}%` : short(value);
  }

  /** Numbers and names beside the frame. @param {Element} drawing @param {Scale} scale */
  axes(drawing, { left, right, low, high, x, y }) {
    const { width, height } = this;
    const end = width - RIGHT,
      bottom = height - BOTTOM;
    for (const tick of ticks(low, high, height / 60))
      drawing.append(
        s("line", { class: "grid", x1: LEFT, x2: end, y1: y(tick), y2: y(tick) }),
        s("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end" }, this.told(tick)),
      );
    for (const tick of ticks(left, right, Math.min(8, width / 95)))
      drawing.append(
        s("text", { x: x(tick), y: bottom + 18, "text-anchor": "middle" }, short(tick)),
      );
    drawing.append(
      s("line", { class: "axis", x1: LEFT, x2: end, y1: bottom, y2: bottom }),
      s("text", { x: (LEFT + end) / 2, y: height - 6, "text-anchor": "middle" }, this.options.x),
      s("text", { x: 4, y: 12 }, this.options.y),
    );
  }

  /** The ranges around lines. @param {Element} lines @param {Scale} scale */
  bands(lines, { left, right, x, y }) {
    this.series.forEach((one, place) => {
      const { band } = one;
      if (!band) return;
      const within = one.points
        .map(([at], index) => ({ at, ends: band[index] }))
        .filter(({ at }) => at >= left && at <= right);
      const edge = (/** @type {number} */ end) =>
        within.map(({ at, ends }) => `${x(at).toFixed(1)} ${y(ends[end]).toFixed(1)}`);
      const area = s("path", {
        d: `M${[...edge(1), ...edge(0).reverse()].join("L")}Z`,
        "fill-opacity": 0.15,
        stroke: "none",
      });
      area.style.fill = this.hue(one, place);
      if (within.length > 1) lines.append(area);
    });
  }

  /** @param {Element} lines @param {Scale} scale */
  lines(lines, { left, right, x, y }) {
    this.series.forEach((one, place) => {
      const seen = one.points.filter(
        ([at], index) =>
          (at >= left && at <= right) ||
          (one.points[index + 1]?.[0] >= left && at < left) ||
          (one.points[index - 1]?.[0] <= right && at > right),
      );
      const path = thin(seen)
        .map(
          ([at, value], index) => `${index ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`,
        )
        .join("");
      const line = s("path", {
        d: path,
        fill: "none",
        "stroke-width": 2,
        "stroke-linejoin": "round",
      });
      line.style.stroke = this.hue(one, place);
      lines.append(line);
      if (seen.length !== 1) return;
      const point = s("circle", { cx: x(seen[0][0]), cy: y(seen[0][1]), r: 3.5 });
      point.style.fill = this.hue(one, place);
      lines.append(point);
    });
  }

  /** Makes the chart a slider for keys and screen readers. @param {Scale} scale */
  asSlider({ left, right }) {
    const attributes = {
      tabindex: "0",
      role: "slider",
      "aria-label": this.options.title,
      "aria-valuemin": left,
      "aria-valuemax": right,
      "aria-valuenow": right,
      "aria-valuetext": this.summary(),
    };
    for (const [name, value] of Object.entries(attributes))
      this.box.setAttribute(name, String(value));
  }

  /** Tells no numbers any more. */
  leave() {
    this.pointed = null;
    this.tip.hidden = true;
    this.box.querySelector(".cross")?.setAttribute("visibility", "hidden");
  }

  /** @param {Series} one @param {number} place */
  hue(one, place) {
    return `var(${one.hue ?? HUES[place % HUES.length]})`;
  }

  summary() {
    const last = this.series.map(
      (one) => `${one.name}: ${number(one.points[one.points.length - 1][1], 2)} at the end`,
    );
    return `${this.options.title}. ${last.join("; ")}`;
  }

  /**
   * The place with numbers that is nearest, and the number of each series there, unless the series begins
   * after it or has ended before.
   * @param {number} here
   */
  near(here) {
    const closest = (/** @type {Series} */ one, /** @type {number} */ at) =>
      one.points.reduce((a, b) => (Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a));
    const all = this.series.map((one) => closest(one, here)[0]);
    const place = all.reduce((a, b) => (Math.abs(b - here) < Math.abs(a - here) ? b : a));
    const near = this.series.flatMap((one) => {
      const [first, last] = [one.points[0][0], one.points[one.points.length - 1][0]];
      const isThere = place >= first && place <= last;
      return isThere ? [{ name: one.name, y: closest(one, place)[1] }] : [];
    });
    return { place, near };
  }

  /** Tells the numbers that are nearest to a place. @param {number} here */
  point(here) {
    const { x } = this.scale();
    const { place, near } = this.near(here);
    this.pointed = place;
    const cross = this.box.querySelector(".cross");
    const ends = Object.entries({ ...this.upright(x(place)), visibility: "visible" });
    ends.forEach(([name, value]) => cross?.setAttribute(name, String(value)));
    const digits = (/** @type {number} */ value) =>
      Number.isInteger(value) ? 0 : Math.abs(value) < 10 ? 3 : 1;
    const told = [
      `${this.options.x} ${number(place)}`,
      ...near.map(
        ({ name, y }) => `${name}: ${this.options.percent ? this.told(y) : number(y, digits(y))}`,
      ),
    ];
    fill(
      this.tip,
      told.map((text, line) => h("div", { class: line === 0 ? "muted" : undefined }, text)),
    );
    this.box.setAttribute("aria-valuenow", String(place));
    this.box.setAttribute("aria-valuetext", told.join("; "));
    this.tip.hidden = false;
    const wide = this.box.clientWidth;
    const beside = (x(here) / this.width) * wide;
    this.tip.style.left = beside > wide / 2 ? "auto" : `${beside + 14}px`;
    this.tip.style.right = beside > wide / 2 ? `${wide - beside + 14}px` : "auto";
    this.tip.style.top = "12px";
  }
}

/** At most some points, which keep the extremes. @param {[number, number][]} points */
function thin(points) {
  const most = 1200;
  if (points.length <= most) return points;
  const every = Math.ceil(points.length / (most / 2));
  const kept = [];
  for (let place = 0; place < points.length; place += every) {
    const piece = points.slice(place, place + every);
    const low = piece.reduce((a, b) => (b[1] < a[1] ? b : a)),
      high = piece.reduce((a, b) => (b[1] > a[1] ? b : a));
    kept.push(...(low[0] <= high[0] ? [low, high] : [high, low]));
  }
  return kept;
}
