// @ts-check
/** Swipes: the direction in which a finger, a pen or a mouse has gone. */

/** The shortest swipe, in pixels. */
const SHORTEST = 24;

/** Tells of swipes on an element. @param {HTMLElement} element @param {(direction: string) => void} swiped */
export function onSwipe(element, swiped) {
  /** @type {{ x: number, y: number } | null} */
  let from = null;
  const moved = (/** @type {PointerEvent} */ event) => {
    if (!from) return;
    const x = event.clientX - from.x,
      y = event.clientY - from.y;
    if (Math.max(Math.abs(x), Math.abs(y)) < SHORTEST) return;
    from = null;
    swiped(Math.abs(x) > Math.abs(y) ? (x > 0 ? "right" : "left") : y > 0 ? "down" : "up");
  };
  element.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX, y: event.clientY };
  });
  element.addEventListener("pointermove", moved);
  element.addEventListener("pointerup", (event) => {
    moved(event);
    from = null;
  });
  element.addEventListener("pointercancel", () => {
    from = null;
  });
}
