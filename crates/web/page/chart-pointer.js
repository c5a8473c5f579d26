// @ts-check
/** A pointer on a chart: hover tells the numbers, dragging zooms, a click picks a place. */

import { s } from "./dom.js";

/** A drag of fewer units is a click. */
const SHORTEST = 12;

/**
 * Follows the pointer on a drawing.
 * @param {import("./chart.js").Chart} chart @param {SVGElement} drawing
 * @param {import("./chart.js").Scale} scale
 */
export function followPointer(chart, drawing, scale) {
  const { y1, y2 } = chart.upright(0);
  const cross = s("line", { class: "cross", y1, y2, visibility: "hidden" });
  const zoom = s("rect", { class: "zoom", y: y1, height: y2 - y1, visibility: "hidden" });
  drawing.append(zoom, cross);
  /** @type {number | null} */ let from = null;
  const at = (/** @type {PointerEvent} */ event) => {
    const box = drawing.getBoundingClientRect();
    return scale.at(((event.clientX - box.left) / box.width) * chart.width);
  };
  drawing.addEventListener("pointerdown", (event) => {
    from = at(event);
  });
  drawing.addEventListener("pointermove", (event) => {
    const here = at(event);
    // The button may have been let go outside.
    if (event.buttons === 0) from = null;
    zoom.setAttribute("visibility", from === null ? "hidden" : "visible");
    if (from !== null) {
      const [start, end] = [scale.x(from), scale.x(here)];
      zoom.setAttribute("x", String(Math.min(start, end)));
      zoom.setAttribute("width", String(Math.abs(end - start)));
    }
    chart.point(here);
  });
  drawing.addEventListener("pointerup", (event) => {
    const to = at(event),
      start = from;
    from = null;
    if (start === null) return;
    if (Math.abs(scale.x(to) - scale.x(start)) > SHORTEST)
      chart.zoomTo([Math.min(start, to), Math.max(start, to)]);
    else chart.options.pick?.(to);
  });
  drawing.addEventListener("pointerleave", () => chart.leave());
  drawing.addEventListener("dblclick", () => chart.zoomTo(null));
}
