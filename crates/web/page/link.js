// @ts-check
/**
 * Links that carry a whole recorded game. Its record is compressed behind the `#` of the address, which
 * browsers keep to themselves: the link opens the same game on any server.
 */

/** The most characters of a record in a link: some twenty thousand moves. */
const LONGEST_LINK = 60_000;
/** The most characters that a link may unfold to. */
const LONGEST_RECORD = 4_000_000;

/**
 * A line without the times of its moves, which nothing here reads, and without the ends of lines around
 * it. Old replays of 2048verse may end with a space, contain `|`, and have `(12)` as moves: only episode
 * records, which begin with a player and an `@`, have times.
 * @param {string} line
 */
function withoutTimes(line) {
  const record = line.replace(/^[\r\n]+|[\r\n]+$/g, "");
  return /^[^|]*@\d+\|/.test(record) ? record.replace(/\(\d+\)/g, "") : record;
}

/** @param {ReadableStream<Uint8Array>} stream @param {number} most @returns {Promise<Uint8Array | null>} */
async function bytesOf(stream, most) {
  const reader = stream.getReader();
  /** @type {Uint8Array[]} */ const pieces = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      return null;
    }
    pieces.push(value);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** A record as the end of a link; `null` if it is too long for one. @param {string} record */
export async function packed(record) {
  const text = new Blob([withoutTimes(record)]);
  const bytes = await bytesOf(
    text.stream().pipeThrough(new CompressionStream("deflate-raw")),
    LONGEST_LINK,
  );
  if (!bytes) return null;
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const letters = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return letters.length > LONGEST_LINK ? null : `record=${letters}`;
}

/** The record in the end of a link; `""` if there is none. @param {string} hash */
export async function unpacked(hash) {
  const letters = hash.match(/^#record=([\w-]+)$/)?.[1];
  if (!letters) return "";
  try {
    const binary = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream();
    const all = await bytesOf(
      stream.pipeThrough(new DecompressionStream("deflate-raw")),
      LONGEST_RECORD,
    );
    if (all) return new TextDecoder("utf-8", { fatal: true }).decode(all);
  } catch {
    // Told below.
  }
  throw new Error(
    "The game in this link is damaged: it was probably cut off. Copy the link again.",
  );
}

/**
 * What a pasted link stands for: an address of the app, or the 16 hexadecimal digits of a board, as in
 * links of 2048verse.com; `null` for any other text. A link without a board is an error.
 * @param {string} text @returns {{ address?: string, board?: string } | null}
 */
export function linked(text) {
  if (!/^https?:\/\/\S+$/.test(text) || !URL.canParse(text)) return null;
  const { searchParams, search, hash } = new URL(text);
  if (searchParams.has("position") || hash.startsWith("#record="))
    return { address: `/analyse${search}${hash}` };
  const board = text.match(/(?<![0-9a-z])[0-9a-f]{16}(?![0-9a-z])/i)?.[0];
  if (!board) throw new Error("There is no board in this link.");
  return { board };
}
