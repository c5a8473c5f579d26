// @ts-check
/** The parts of the app: which one is shown, the colours, and links between them. */

import { fill, h, keep, setting } from "./dom.js";
import { get } from "./api.js";
import { loadTiles } from "./board.js";

/** @typedef {{ title: string, load: () => Promise<{ show: (root: Element, query: URLSearchParams) => (void | (() => void)) }> }} Part */

/** @type {Record<string, Part>} */
const PARTS = {
  play: { title: "Play", load: () => import("./play.js") },
  analyse: { title: "Analyse", load: () => import("./analyse.js") },
  inside: { title: "Inside", load: () => import("./inside.js") },
  train: { title: "Train", load: () => import("./train.js") },
  judge: { title: "Judge", load: () => import("./judge.js") },
};

/** @type {void | (() => void)} */
let leave;
let shown = 0;

/** Shows the part of the address. @param {boolean} focus */
async function show(focus) {
  const name = location.pathname.slice(1) || "play";
  const part = PARTS[name] ?? PARTS.play;
  const number = ++shown;
  document.title = `${part.title} – Afterstate`;
  for (const link of document.querySelectorAll(".parts a")) {
    if (link.getAttribute("data-part") === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const main = /** @type {HTMLElement} */ (document.getElementById("main"));
  try {
    const [module] = await Promise.all([part.load(), loadTiles()]);
    if (number !== shown) return;
    leave?.();
    leave = undefined;
    fill(main);
    leave = module.show(main, new URLSearchParams(location.search));
    if (focus) main.focus({ preventScroll: false });
  } catch (error) {
    if (number !== shown) return;
    const isAway = await get("/meta").then(
      () => false,
      () => true,
    );
    const reason = error instanceof Error ? error.message : String(error);
    const text = isAway
      ? "The server does not answer. This part is shown when it is back."
      : `This part could not be shown: ${reason}`;
    // The part before must not change the address when the server is back.
    leave?.();
    leave = undefined;
    fill(main, h("p", { class: "error", role: "alert" }, text));
    // A script that could not be loaded is not loaded again by the same page.
    addEventListener("afterstate:back", reload, { once: true });
  }
}

function reload() {
  location.reload();
}

/** Goes to a part. @param {string} address */
export function go(address) {
  history.pushState(null, "", address);
  show(true);
}

// A change of the address behind its `#` would build the part anew.
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});
document.addEventListener("click", (event) => {
  const link = /** @type {Element} */ (event.target).closest("a[data-part]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(/** @type {HTMLAnchorElement} */ (link).href);
});
addEventListener("popstate", () => show(true));

const system = matchMedia("(prefers-color-scheme: dark)");
const ICONS = /** @type {Record<string, string>} */ ({
  system: "M12 4a8 8 0 0 0 0 16z",
  light:
    "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2",
  dark: "M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z",
});

/** The empty half of a circle. */
function outline() {
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", "M12 4a8 8 0 0 1 0 16");
  path.setAttribute("fill", "none");
  path.setAttribute("stroke-width", "2");
  return path;
}

function paint() {
  const theme = /** @type {string} */ (setting("theme", "system"));
  document.documentElement.dataset.theme = theme;
  const button = /** @type {HTMLElement} */ (document.getElementById("theme"));
  button.setAttribute("aria-label", `Colours: ${theme === "system" ? "as the system" : theme}`);
  button.title = button.getAttribute("aria-label") ?? "";
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawing.setAttribute("viewBox", "0 0 24 24");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[theme] ?? ICONS.system);
  path.setAttribute("stroke-width", "2");
  if (theme === "light") path.setAttribute("fill", "none");
  if (theme === "system") drawing.append(outline());
  drawing.append(path);
  drawing.setAttribute("aria-hidden", "true");
  fill(button, drawing);
  dispatchEvent(new CustomEvent("afterstate:theme"));
}

document.getElementById("theme")?.addEventListener("click", () => {
  const order = ["system", "light", "dark"];
  const next = order[(order.indexOf(setting("theme", "system")) + 1) % order.length];
  keep("theme", next);
  paint();
});
system.addEventListener("change", paint);
paint();
show(false);
