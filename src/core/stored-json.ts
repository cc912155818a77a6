/**
 * Parses JSON that this package or another program has stored. V8's own message quotes about 20 characters of the text,
 * which may be a row or a secret; this error never quotes anything. Deep nesting is refused, because code that walks over the
 * value, such as `JSON.stringify`, needs stack for each level.
 *
 * @throws SyntaxError
 */
export function parseStored(stored: Buffer | string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(typeof stored === 'string' ? stored : stored.toString('utf8'));
  } catch {
    throw new SyntaxError('it is not valid JSON');
  }
  if (isDeeper(value, MAX_STORED_DEPTH))
    throw new SyntaxError(`it is nested more than ${MAX_STORED_DEPTH} levels deep`);
  return value;
}

/** The deepest documents have about ten levels. */
const MAX_STORED_DEPTH = 1000;

/** Whether a value has more levels of arrays and objects. Values are fewer than characters, which V8 would have to count one by one. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}
