/**
 * Parses JSON that this package or another program has stored. V8's own message quotes about 20 characters of the text,
 * which may be a row or a secret; this error never quotes anything. Deep nesting is refused, because code that walks over the
 * value, such as `JSON.stringify`, needs stack for each level.
 *
 * @throws SyntaxError
 */
export function parseStored(stored: Buffer | string): unknown {
  let value: unknown;
  let text: string;
  try {
    text = typeof stored === 'string' ? stored : stored.toString('utf8');
    value = JSON.parse(text);
  } catch {
    throw new SyntaxError('it is not valid JSON');
  }
  if (isDeeper(text, MAX_STORED_DEPTH))
    throw new SyntaxError(`it is nested more than ${MAX_STORED_DEPTH} levels deep`);
  return value;
}

/** The deepest documents have about ten levels. */
const MAX_STORED_DEPTH = 1000;

/** Whether valid JSON has more levels of arrays and objects. */
function isDeeper(json: string, levels: number): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfText(json, at);
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) depth++;
    else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--;
    if (depth > levels) return true;
  }
  return false;
}

/** Offset of the quotation mark that ends the text which begins at `at`. */
function endOfText(json: string, at: number): number {
  for (let end = at + 1; ; end++) {
    const code = json.charCodeAt(end);
    if (code === BACKSLASH) end++;
    else if (code === QUOTE || Number.isNaN(code)) return end;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [OPEN_ARRAY, CLOSE_ARRAY] = [0x5b, 0x5d];
const [OPEN_OBJECT, CLOSE_OBJECT] = [0x7b, 0x7d];
