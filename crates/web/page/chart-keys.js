// @ts-check
/**
 * Keys of a chart that has the focus: arrows go along its numbers, which a screen reader tells, and plus
 * and minus zoom.
 */

/** @param {import("./chart.js").Chart} chart */
export function chartKeys(chart) {
  chart.box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = actions(chart)[event.key];
    if (!act) return;
    // The part has other uses for arrows.
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  chart.box.addEventListener("blur", () => chart.leave());
}

/** What each key does now. @param {import("./chart.js").Chart} chart @returns {Record<string, () => void>} */
function actions(chart) {
  const places = chart.places();
  if (places.length === 0) return {};
  const last = places.length - 1;
  const far = Math.max(1, Math.round(places.length / 10));
  const from = chart.pointed ?? chart.marked ?? places[last];
  const here = places.findIndex((place) => place >= from);
  const now = here < 0 ? last : here;
  const go = (/** @type {number} */ to) => () =>
    chart.point(places[Math.min(Math.max(to, 0), last)]);
  return {
    ArrowLeft: go(now - 1),
    ArrowDown: go(now - 1),
    ArrowRight: go(now + 1),
    ArrowUp: go(now + 1),
    PageDown: go(now - far),
    PageUp: go(now + far),
    Home: go(0),
    End: go(last),
    Enter: () => chart.options.pick?.(places[now]),
    "+": () => zoom(chart, places[now], 0.25),
    "=": () => zoom(chart, places[now], 0.25),
    "-": () => zoom(chart, places[now], 1),
    Escape: () => zoom(chart, places[now], Infinity),
  };
}

/**
 * Shows this share of the present range on each side of a place.
 * @param {import("./chart.js").Chart} chart @param {number} place @param {number} share
 */
function zoom(chart, place, share) {
  const { left, right } = chart.range();
  const half = share * (right - left);
  const [first, last] = chart.ends();
  const [low, high] = [Math.max(place - half, first), Math.min(place + half, last)];
  const isWhole = low <= first && high >= last;
  chart.zoomTo(isWhole ? null : [low, high]);
  chart.point(place);
}
