/** C0 without line feed and tab, DEL, and C1 with the one-byte CSI (U+009B): terminals interpret them. */
const CONTROLS = /(?![\n\t])\p{Cc}/gu;

/**
 * Escapes each control character in a text for a terminal, such as `\x1b`. Names, messages, warnings and ids come from
 * the service, the lake and other workers. They must not move the cursor, change the title or hide a line.
 */
export function printable(text: string): string {
  return text.replace(CONTROLS, (control) => `\\x${hex(control, 2)}`);
}

/** Escapes control characters in JSON for a terminal, because `JSON.stringify` escapes only C0. The values stay equal. */
export function printableJson(json: string): string {
  return json.replace(CONTROLS, (control) => `\\u${hex(control, 4)}`);
}

function hex(character: string, digits: number): string {
  return character.charCodeAt(0).toString(16).padStart(digits, '0');
}
