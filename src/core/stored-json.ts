/**
 * Parses JSON that this package or another program has stored. V8's own message quotes about 20 characters of the text,
 * which may be a row or a secret; this error never quotes anything.
 *
 * @throws SyntaxError
 */
export function parseStored(text: Buffer | string): unknown {
  try {
    return JSON.parse(typeof text === 'string' ? text : text.toString('utf8'));
  } catch {
    throw new SyntaxError('it is not valid JSON');
  }
}
