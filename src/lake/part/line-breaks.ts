const LF = 0x0a;
const CR = 0x0d;

/** Number of line breaks (LF, CR or CRLF) in a text, as UTF-8. */
export function countLineBreaks(text: Buffer): number {
  let count = 0;
  for (let at = text.indexOf(LF); at !== -1; at = text.indexOf(LF, at + 1)) count++;
  for (let at = text.indexOf(CR); at !== -1; at = text.indexOf(CR, at + 1)) if (text[at + 1] !== LF) count++;
  return count;
}
