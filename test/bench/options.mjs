import { parseArgs } from 'node:util';

/**
 * The options of a benchmark (`npm run bench -- --rounds 5`), each in the type of its default: a number, a text, a switch, or a
 * list, which is written with commas. An option without a default (`undefined`) is a text.
 */
export function readOptions(defaults) {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      { type: typeof value === 'boolean' ? 'boolean' : 'string' },
    ]),
  );
  const { values } = parseArgs({ options });
  const read = ([name, value]) => [name, values[name] === undefined ? value : inTypeOf(value, values[name])];
  return Object.fromEntries(Object.entries(defaults).map(read));
}

function inTypeOf(value, text) {
  if (Array.isArray(value))
    return text
      .split(',')
      .filter(Boolean)
      .map((one) => inTypeOf(value[0], one));
  if (typeof value !== 'number') return text;
  if (!/^\d+$/.test(text)) throw new Error(`${text} is not a whole number`);
  return Number(text);
}
