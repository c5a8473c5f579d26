// @ts-check
/** Elements, announcements, and settings that this browser keeps. */

/** @typedef {Node | string | number | false | null | undefined} Child */

/**
 * An element with attributes, listeners (`onclick`) and content.
 * @param {string} name
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} content
 * @returns {any}
 */
export function h(name, attributes = {}, ...content) {
  const element = document.createElement(name);
  assign(element, attributes);
  add(element, content);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * The same for a drawing.
 * @param {string} name
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} content
 * @returns {any}
 */
export function s(name, attributes = {}, ...content) {
  const element = document.createElementNS(SVG, name);
  assign(element, attributes);
  add(element, content);
  return element;
}

/** @param {Element} element @param {Record<string, any>} attributes */
function assign(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key.startsWith("--"))
      /** @type {any} */ (element).style.setProperty(key, String(value));
    else if (key === "value" || key === "checked" || key === "selected")
      /** @type {any} */ (element)[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
}

/** @param {Element} element @param {(Child | Child[])[]} content */
function add(element, content) {
  for (const one of /** @type {Child[]} */ (content.flat(/** @type {1} */ (Infinity)))) {
    if (one === false || one === null || one === undefined) continue;
    element.append(one instanceof Node ? one : String(one));
  }
}

/** Replaces the content of an element. @param {Element} element @param {...(Child | Child[])} content */
export function fill(element, ...content) {
  element.replaceChildren();
  add(element, content);
}

/** Tells a screen reader. @param {string} text */
export function announce(text) {
  const live = document.getElementById("live");
  if (live) live.textContent = text;
}

/** A setting. @template T @param {string} key @param {T} usual @returns {T} */
export function setting(key, usual) {
  try {
    const text = localStorage.getItem("afterstate." + key);
    return text === null ? usual : JSON.parse(text);
  } catch {
    return usual;
  }
}

/** Keeps a setting. @param {string} key @param {any} value */
export function keep(key, value) {
  try {
    localStorage.setItem("afterstate." + key, JSON.stringify(value));
  } catch {
    // A browser without storage forgets it.
  }
}

/** Offers a file. @param {string} name @param {Blob | string} content */
export function download(name, content) {
  const blob = typeof content === "string" ? new Blob([content], { type: "text/plain" }) : content;
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * A choice with a label.
 * @param {string} label @param {[string, string][]} options @param {string} value @param {(value: string) => void} changed
 */
export function choice(label, options, value, changed) {
  const select = h(
    "select",
    { onchange: () => changed(select.value) },
    options.map(([name, text]) => h("option", { value: name, selected: name === value }, text)),
  );
  return h("label", { class: "field" }, label, select);
}
