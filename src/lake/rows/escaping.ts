import type { ByteString } from '../../core/brands.js';
import type { CsvSettings } from '../../core/settings.js';

/** The settings that make the text of a cell differ from the service's value, apart from quotes and masks. */
export type Escaping = Pick<CsvSettings, 'lineBreaks' | 'escapeFormulas'>;

type Convert = (text: ByteString) => ByteString;

/** Writes values as the text of cells; `null` if both are equal. {@link cellDecoder} restores each value. */
export function cellEncoder({ lineBreaks, escapeFormulas }: Escaping): Convert | null {
  if (lineBreaks === 'keep') return escapeFormulas ? escapeFormula : null;
  return escapeFormulas ? (value) => escapeFormula(escapeLineBreaks(value)) : escapeLineBreaks;
}

/**
 * Restores the service's values from the text of cells; `null` if both are equal. It is the only decoder: whatever reads
 * values from parts uses it. Masked cells contain nothing to restore, so they stay as they are.
 *
 * @param escaping of the manifest that lists the part
 */
export function cellDecoder({ lineBreaks, escapeFormulas }: Escaping): Convert | null {
  if (lineBreaks === 'keep') return escapeFormulas ? restoreFormula : null;
  return escapeFormulas ? (cell) => restoreLineBreaks(restoreFormula(cell)) : restoreLineBreaks;
}

const SPECIAL = /[\\\n\r]/;
const BREAK = /[\n\r]/;

/**
 * Writes backslash, LF and CR as two characters each (docs/explanation/guarantees.md#line-breaks). The JSON text of an object
 * or array stays as it is, because it has no line breaks. A backslash is put before any other text whose escaped form is
 * such a text, so that each value can be restored.
 */
export function escapeLineBreaks(value: ByteString): ByteString {
  if (!SPECIAL.test(value) || isJsonLine(value)) return value;
  const escaped = value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return (isJsonLine(escaped) ? `\\${escaped}` : escaped) as ByteString;
}

function restoreLineBreaks(cell: ByteString): ByteString {
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

/**
 * Characters that start a formula in a spreadsheet (OWASP, "CSV Injection"), the full-width forms of `=`, `+`, `-` and `@`
 * in UTF-8 included, after any number of apostrophes.
 */
const FORMULA = /^'*(?:[=+\-@\t\r]|\xef\xbc[\x9d\x8b\x8d\xa0])/;
const QUOTED_FORMULA = /^'+(?:[=+\-@\t\r]|\xef\xbc[\x9d\x8b\x8d\xa0])/;

/**
 * Puts a `'` before a text that a spreadsheet would evaluate as a formula, and before a text that only differs from such a
 * text by its own `'`. So different values stay different, which keys rely on (docs/explanation/guarantees.md#formulas).
 */
export function escapeFormula(value: ByteString): ByteString {
  return FORMULA.test(value) ? (`'${value}` as ByteString) : value;
}

/** A text that no spreadsheet runs as a formula with an effect, such as an id or a number. */
const HARMLESS = /^[A-Za-z0-9._:-]*$/;

/**
 * The same for files that people open, such as receipts, whatever `csv.escapeFormulas` says. Ids and numbers stay as they are, so that
 * other programs can look for them.
 */
export function escapeForPeople(value: ByteString): ByteString {
  return HARMLESS.test(value) ? value : escapeFormula(value);
}

/** Restores what `escapeFormula` or `escapeForPeople` has changed. */
export function restoreFormula(cell: ByteString): ByteString {
  return QUOTED_FORMULA.test(cell) ? (cell.slice(1) as ByteString) : cell;
}
