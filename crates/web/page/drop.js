// @ts-check
/** A field for files: they are dropped on it, or chosen by a click or a key. */

import { h } from "./dom.js";

/**
 * The field, and the input before it, which has the focus for both.
 * @param {{ id: string, title: string, text: string, multiple?: boolean, accept?: string }} options
 * @param {(files: File[]) => void} chosen
 */
export function dropZone({ id, title, text, multiple, accept }, chosen) {
  const input = h("input", {
    type: "file",
    class: "unseen",
    id,
    multiple,
    accept,
    onchange: () => {
      chosen([...input.files]);
      // The same file may be chosen again.
      input.value = "";
    },
  });
  const zone = h(
    "label",
    { class: "drop", for: id },
    h("strong", {}, title),
    h("br", {}),
    h("span", { class: "small muted" }, text),
  );
  zone.addEventListener("dragover", (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    zone.classList.remove("over");
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) chosen(multiple ? files : files.slice(0, 1));
  });
  return [input, zone];
}
