// @ts-check
/** Charts as files: PNG, SVG and CSV, each with its title, its axes and its legend. */

import { download, h, s } from "./dom.js";

/** Saves a chart. @param {import("./chart.js").Chart} chart @param {string} kind */
export function saveChart(chart, kind) {
  const { options, series } = chart;
  const name = (options.name ?? options.title).toLowerCase().replace(/[^a-z0-9]+/g, "-");
  if (kind === "CSV") {
    download(`${name}.csv`, csv(series, options));
    return;
  }
  const drawing = chart.box.querySelector("svg");
  if (!drawing) return;
  const names = series.map((one, place) => ({ name: one.name, hue: chart.hue(one, place) }));
  const { width } = chart;
  const { text, height } = standalone(drawing, options.title, names, width, chart.height);
  if (kind === "SVG") {
    download(`${name}.svg`, new Blob([text], { type: "image/svg+xml" }));
    return;
  }
  const image = new Image();
  image.onload = () => {
    const canvas = h("canvas", { width: width * 2, height: height * 2 });
    canvas.getContext("2d")?.drawImage(image, 0, 0, width * 2, height * 2);
    canvas.toBlob((/** @type {Blob | null} */ blob) => blob && download(`${name}.png`, blob));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
}

/** @param {import("./chart.js").Series[]} series @param {{ x: string, y: string }} axes */
function csv(series, { x, y }) {
  const quoted = (/** @type {string} */ text) => `"${text.replaceAll('"', '""')}"`;
  const rows = series.flatMap((one) =>
    one.points.map(([at, value]) => `${quoted(one.name)},${at},${value}`),
  );
  return [`series,${quoted(x)},${quoted(y)}`, ...rows].join("\n") + "\n";
}

const SHOWN = ["stroke", "fill", "fill-opacity", "stroke-width", "stroke-dasharray", "font-size"];
/** The height of the title, and of a line of the legend. */
const TITLE = 34,
  LEGEND = 20;

/**
 * A drawing with its title, its legend and its colours inside.
 * @param {SVGElement} drawing @param {string} title @param {{ name: string, hue: string }[]} names
 * @param {number} width @param {number} height
 */
function standalone(drawing, title, names, width, height) {
  const copy = /** @type {SVGElement} */ (drawing.cloneNode(true));
  const originals = drawing.querySelectorAll("*"),
    copies = copy.querySelectorAll("*");
  originals.forEach((original, place) => {
    const style = getComputedStyle(original);
    for (const name of SHOWN) copies[place].setAttribute(name, style.getPropertyValue(name));
    copies[place].removeAttribute("class");
    copies[place].removeAttribute("style");
    if (copies[place].tagName === "text") copies[place].setAttribute("font-family", "sans-serif");
  });
  copy.querySelectorAll('[visibility="hidden"]').forEach((one) => one.remove());
  const page = getComputedStyle(document.body);
  const root = getComputedStyle(document.documentElement);
  const colour = (/** @type {string} */ hue) => {
    const probe = h("i", {});
    probe.style.color = hue;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found || root.color;
  };
  const text = (/** @type {Record<string, any>} */ place, /** @type {string} */ content) =>
    s("text", { fill: page.color, "font-family": "sans-serif", ...place }, content);
  const inner = s("g", { transform: `translate(0 ${TITLE})` }, ...copy.childNodes);
  const all = TITLE + height + 10 + LEGEND * names.length;
  const whole = s(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width, height: all, viewBox: `0 0 ${width} ${all}` },
    s("rect", { width: "100%", height: "100%", fill: page.backgroundColor }),
    text({ x: 12, y: 23, "font-size": 16, "font-weight": 700 }, title),
    inner,
    names.flatMap(({ name, hue }, place) => {
      const y = TITLE + height + 10 + LEGEND * place;
      return [
        s("rect", { x: 14, y: y - 2, width: 18, height: 3, fill: colour(hue) }),
        text({ x: 40, y: y + 4, "font-size": 12 }, name),
      ];
    }),
  );
  return { text: new XMLSerializer().serializeToString(whole), height: all };
}
