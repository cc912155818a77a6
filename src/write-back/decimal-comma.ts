/** The forms that are clear: grouped in threes by one kind of mark, and a comma before the fraction. */
const PLAIN = /^-?\d+(?:,\d+)?(?:[eE][+-]?\d+)?$/;
const GROUPED =
  /^-?[1-9]\d{0,2}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,}|(?:[ \u00a0\u202f'\u2019]\d{3})+(?:,\d+)?)$/u;
const GROUP_MARKS = /[. \u00a0\u202f'\u2019]/gu;

/**
 * The JSON number that a text with a decimal comma writes: `1.234,50` gives `1234.50`. Digits keep their form. `null` for a
 * text that is not a number, or that is not clear: `1.234` may be a thousand or a decimal point.
 */
export function fromDecimalComma(text: string): string | null {
  if (!PLAIN.test(text) && !GROUPED.test(text)) return null;
  return text.replace(GROUP_MARKS, '').replace(',', '.');
}
