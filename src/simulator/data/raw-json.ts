/** One field of a JSON object: its decoded name, and its value as the original JSON text. */
export type RawField = readonly [name: string, value: string];

/**
 * Splits the text of a JSON object into its fields without parsing the values, which preserves number literals
 * (9007199254740993, 12.50, 1e21, -0). Throws `SyntaxError` if the text is not a JSON object.
 */
export function readFields(text: string): RawField[] {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SyntaxError('expected a JSON object');
  }
  return members(text).map((member) => {
    const end = endOfString(member, 0);
    const name = JSON.parse(member.slice(0, end)) as string;
    return [name, member.slice(member.indexOf(':', end) + 1).trim()];
  });
}

/** Splits the text of a JSON array into the texts of its items. Throws `SyntaxError` if the text is not a JSON array. */
export function readItems(text: string): string[] {
  if (!Array.isArray(JSON.parse(text))) throw new SyntaxError('expected a JSON array');
  return members(text);
}

/** The JSON text of an object on one line. Raw line breaks in JSON text are always white space. */
export function writeFields(fields: Iterable<RawField>): string {
  const parts: string[] = [];
  for (const [name, value] of fields) parts.push(`${JSON.stringify(name)}:${value}`);
  return `{${parts.join(',')}}`.replace(/[\r\n]/g, ' ');
}

/** Applies `changes` to `fields`: a changed field keeps its position, a new one is appended. */
export function mergeFields(fields: readonly RawField[], changes: readonly RawField[]): RawField[] {
  const merged = new Map(fields);
  for (const [name, value] of changes) merged.set(name, value);
  return [...merged];
}

/** The comma-separated members of a valid JSON object or array, each trimmed. */
function members(text: string): string[] {
  const source = text.trim();
  const found: string[] = [];
  let depth = 0;
  let start = 1;
  for (let i = 0; i < source.length; i++) {
    const char = source[i];
    if (char === '"') i = endOfString(source, i) - 1;
    else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
    const ends = depth === 0 || (depth === 1 && char === ',');
    if (!ends) continue;
    const member = source.slice(start, i).trim();
    if (member !== '') found.push(member);
    start = i + 1;
  }
  return found;
}

/** The index after the closing quote of the string that opens at `from`. */
function endOfString(text: string, from: number): number {
  let i = from + 1;
  while (text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i + 1;
}
