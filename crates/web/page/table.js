// @ts-check
/** Tables of data. */

import { h } from "./dom.js";

/** @typedef {string | { number: string }} Head the name of a column, and whether it has numbers */

/** @param {Head} head */
const name = (head) => (typeof head === "string" ? head : head.number);
/** @param {Head} head */
const look = (head) => (typeof head === "string" ? undefined : "n");

/** The heads of columns. @param {Head[]} heads */
export function tableHead(heads) {
  return h(
    "thead",
    {},
    h(
      "tr",
      {},
      heads.map((head) => h("th", { class: look(head) }, name(head))),
    ),
  );
}

/** A table of rows. @param {Head[]} heads @param {any[][]} rows @param {Record<string, any>} [attributes] */
export function dataTable(heads, rows, attributes = {}) {
  const row = (/** @type {any[]} */ cells) =>
    h(
      "tr",
      {},
      cells.map((cell, place) => h("td", { class: look(heads[place]) }, cell)),
    );
  return h(
    "table",
    { class: "data", ...attributes },
    tableHead(heads),
    h("tbody", {}, rows.map(row)),
  );
}

/** What is scrolled where it is too wide, also by keys. @param {string} label @param {...any} content */
export function scrolled(label, ...content) {
  const attributes = { class: "scroll", tabindex: "0", role: "region", "aria-label": label };
  return h("div", attributes, content);
}
