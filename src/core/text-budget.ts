/**
 * Budgets in bytes for texts that enter a state, a history, a signal or a result. The service chooses names and messages, so
 * they can have any length, and Temporal refuses a value of more than 2 MiB. What was cut is always marked. Pure: the
 * workflow sandbox imports this file.
 */

/** Most bytes of one error message. */
export const MAX_MESSAGE_BYTES = 2000;
/** Most bytes of a name of the service, such as a field, within a message. */
export const MAX_NAME_BYTES = 200;
/** Most bytes of the summary of a workflow: Temporal's server accepts 400. */
export const MAX_SUMMARY_BYTES = 300;

/** The size of a text as JSON in UTF-8, without its quotation marks. Histories and states hold JSON. */
export function jsonTextBytes(text: string): number {
  return jsonBytes(text) - 2;
}

/** The size of a value as JSON in UTF-8, where a lone surrogate is escaped. */
export function jsonBytes(value: unknown): number {
  return utf8Bytes(JSON.stringify(value));
}

/** The size of a well-formed text. The workflow sandbox has no `Buffer`. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Each half of a surrogate pair has two of its four bytes.
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0xd800 || code > 0xdfff ? 3 : 2;
  }
  return bytes;
}

/**
 * Cuts a text to a number of bytes of JSON, between two characters. The end says how long the text was:
 * `beginning… (cut: 20000 characters)`.
 */
export function cutText(text: string, maxBytes: number): string {
  // No unit has more than six bytes, and none has fewer than one.
  if (6 * text.length <= maxBytes) return text;
  if (text.length <= maxBytes && jsonTextBytes(text) <= maxBytes) return text;
  const mark = `… (cut: ${text.length} characters)`;
  const room = maxBytes - jsonTextBytes(mark);
  let bytes = 0;
  let end = 0;
  for (const character of text.slice(0, Math.max(0, room))) {
    bytes += jsonTextBytes(character);
    if (bytes > room) break;
    end += character.length;
  }
  return text.slice(0, end) + mark;
}

/** Cuts a name that the service chose, for a message. */
export function shownName(name: string): string {
  return cutText(name, MAX_NAME_BYTES);
}
