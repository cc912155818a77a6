import type { ByteString } from '../../core/brands.js';

const SPECIAL = /[\\\n\r]/;
const BREAK = /[\n\r]/;

/**
 * Writes backslash, LF and CR as two characters each (docs/explanation/semantics.md#line-breaks). The JSON text of an object
 * or array stays as it is, because it has no line breaks. A backslash is put before any other text whose escaped form is
 * such a text, so that each value can be restored.
 */
export function escapeLineBreaks(value: ByteString): ByteString {
  if (!SPECIAL.test(value) || isJsonLine(value)) return value;
  const escaped = value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return (isJsonLine(escaped) ? `\\${escaped}` : escaped) as ByteString;
}

/** Restores a value that `escapeLineBreaks` wrote. */
export function restoreLineBreaks(cell: ByteString): ByteString {
  if (!cell.includes('\\') || isJsonLine(cell)) return cell;
  return cell.replace(/\\(.)/gs, (_, code: string) => ESCAPES[code] ?? code) as ByteString;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r' };

/** Whether a text is a JSON object or array in one line. */
function isJsonLine(text: string): boolean {
  const first = text.charCodeAt(0);
  if ((first !== 0x7b && first !== 0x5b) || BREAK.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
