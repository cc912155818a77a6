import { mix } from './deterministic.js';

const json = (value: unknown): string => JSON.stringify(value);

/** JSON literals. `JSON.stringify` cannot write some of them. */
const TEXTS: readonly string[] = [
  '""',
  'null',
  json('comma, "quotes", and ; semicolon'),
  json('carriage\rreturn'),
  json('line\nfeed'),
  json('both\r\nof them\r\n'),
  json('tab\tand trailing space '),
  json('=HYPERLINK("http://example.invalid","x")'),
  json('+1 555 0100'),
  json('@SUM(A1:A9)'),
  json('-2+3'),
  json('emoji 👩‍👩‍👧‍👦 🏳️‍🌈'),
  json('combining e\u0301 is not é'),
  json('שלום עולם ‏‎ العربية'),
  json('line\u2028separator\u2029s'),
  String.raw`"NUL \u0000 inside"`,
  String.raw`"lone \ud800 surrogate"`,
  String.raw`"escaped \/ slash \u00e9"`,
  json('"'),
  json("'single'"),
  json('\\N'),
  json('NULL'),
  json('\ufeffbyte order mark'),
  json('long '.repeat(2000)),
];

const FIELDS: readonly string[] = [
  '"externalNumber":9007199254740993',
  '"externalNumber":12.50',
  '"externalNumber":1e21',
  '"externalNumber":-0',
  '"externalNumber":0.1',
  '"externalNumber":1E-7',
  '"externalNumber":-123456789012345678901234567890.123456789',
  '"note":""',
  '"note":null',
  '"note":"null"',
  '"nested":{"a":{"b":[1,2.50,{"c":null}]},"text":"with, comma and \\"quotes\\""}',
  '"nested":{}',
  '"nested":[]',
  '"nested":[[9007199254740993],"x\\ny"]',
  '"__proto__":{"polluted":true}',
  '"__proto__":"plain"',
  '"constructor":"not a function"',
  '"_run_id":"a field of the service"',
  '"name, with comma":1',
  '"name \\"with\\" quotes":2',
  '"name\\nwith a line break":3',
  '"":"empty field name"',
  '"Status":"upper","status":"lower"',
  '"flag":true',
  '"flag":false',
  '"toString":"own"',
  '"1":"a name that looks like an index"',
];

/**
 * The awkward values of the `n`th awkward row of a table. Cycles through all values, so that a few dozen awkward rows contain
 * every one.
 *
 * @returns `text`: JSON literal of its description, title or name; `extra`: JSON text of further fields, starting with a comma
 */
export function awkwardness(seed: number, n: number): { readonly text: string; readonly extra: string } {
  const offset = mix(seed, 0) % FIELDS.length;
  const names = new Set<string>();
  let extra = '';
  for (let i = 0; i < 3; i++) {
    const field = FIELDS[(offset + n + i * 9) % FIELDS.length] as string;
    const name = field.slice(0, field.indexOf(':'));
    if (names.has(name)) continue;
    names.add(name);
    extra += `,${field}`;
  }
  return { text: TEXTS[(offset + n) % TEXTS.length] as string, extra };
}

/** A source key with characters such as slashes, spaces, percent signs and other scripts. */
export function awkwardSourceKey(n: number): string {
  const kinds = [`cal/${n} event`, `100%25-${n}`, `ключ-${n}`, `a+b&c=${n}?`, `#${n};x`, `"${n}",`];
  return kinds[n % kinds.length] as string;
}
