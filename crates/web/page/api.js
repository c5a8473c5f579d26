// @ts-check
/** Requests of the API, and the one stream of events of this page. */

/** An error that the server has explained. */
export class Problem extends Error {
  /** @param {number} status @param {string} error @param {string} message */
  constructor(status, error, message) {
    super(message);
    this.status = status;
    this.error = error;
  }
}

let reachable = true;

/** Shows whether the server answers, and tells the parts when it is back. @param {boolean} now */
function reached(now) {
  if (now === reachable) return;
  reachable = now;
  const banner = document.getElementById("offline");
  if (banner) banner.hidden = now;
  if (now) dispatchEvent(new CustomEvent("afterstate:back"));
  else retry();
}

async function retry() {
  while (!reachable) {
    await new Promise((done) => setTimeout(done, 1000));
    try {
      await fetch("/api/v1/meta");
      reached(true);
    } catch {
      // Not yet.
    }
  }
}

/**
 * @param {string} method @param {string} path @param {any} [body] @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function call(method, path, body, signal) {
  const isText = typeof body === "string" || body instanceof Blob;
  /** @type {Record<string, string>} */
  const headers =
    body === undefined ? {} : { "Content-Type": isText ? "text/plain" : "application/json" };
  let answer, content;
  try {
    answer = await fetch("/api/v1" + path, {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : isText ? body : JSON.stringify(body),
    });
    const isJson = answer.headers.get("Content-Type")?.includes("json");
    if (answer.status !== 204) content = isJson ? await answer.json() : await answer.text();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    reached(false);
    throw new Problem(0, "offline", "The server does not answer.");
  }
  reached(true);
  if (!answer.ok) {
    throw new Problem(
      answer.status,
      content?.error ?? "error",
      content?.message ?? `The server answered ${answer.status}.`,
    );
  }
  return content;
}

/** @param {string} path @param {AbortSignal} [signal] */
export const get = (path, signal) => call("GET", path, undefined, signal);
/** @param {string} path @param {any} [body] @param {AbortSignal} [signal] */
export const post = (path, body = {}, signal) => call("POST", path, body, signal);

/** Removes a game that the page leaves, also while the page closes. @param {string} id */
export function forget(id) {
  fetch(`/api/v1/games/${id}`, { method: "DELETE", keepalive: true }).catch(() => {
    // The server drops old games itself.
  });
}

/** @type {EventSource | null} */
let stream = null;

/**
 * Listens to events of runs. A page has one stream, whatever listens.
 * @param {Record<string, (data: any) => void>} listeners @returns {() => void} ends listening
 */
export function listen(listeners) {
  stream ??= new EventSource("/api/v1/events");
  const source = stream;
  const added = Object.entries(listeners).map(([name, act]) => {
    const heard = (/** @type {Event} */ event) =>
      act(JSON.parse(/** @type {MessageEvent} */ (event).data));
    source.addEventListener(name, heard);
    return () => source.removeEventListener(name, heard);
  });
  return () => {
    added.forEach((remove) => remove());
    source.close();
    if (stream === source) stream = null;
  };
}

/** @type {Promise<any> | null} */
let known = null;

/** The games and the program. @returns {Promise<any>} */
export function meta() {
  known ??= get("/meta").catch((error) => {
    known = null;
    throw error;
  });
  return known;
}
