import { describe, expect, it } from 'vitest';
import type { ByteString } from '../../../src/core/brands.js';
import { writeRow } from '../../../src/lake/rows/csv.js';
import type { ColumnType } from '../../../src/table/rules/column-type.js';
import { type Random, seededRandom } from '../../support/random.js';
import { readParquet } from '../../support/read-parquet.js';
import { SEED } from '../../support/seeds.js';
import { textConverter } from '../../support/table-engine.js';
import { CSV } from '../lake/published.js';

/** A text and the value in a Parquet file that holds it exactly: of a time microseconds, of a decimal its digits; `null`: none does. */
type Case = readonly [text: string, value: unknown];

const RANDOM_CASES = 2000;
const MIN_LONG = -(2n ** 63n);
const MAX_LONG = 2n ** 63n - 1n;

/** A number of at most this many digits. */
function digitsFrom(random: Random, count: number): string {
  const digits = Array.from({ length: count }, () => random.below(10)).join('');
  return digits.replace(/^0+(?=\d)/, '');
}

/** One of the spellings that JSON has for a number: digits times ten to the power of -point. */
function spelled(
  random: Random,
  {
    digits,
    point,
    negative,
  }: { readonly digits: string; readonly point: number; readonly negative: boolean },
): string {
  const sign = negative ? '-' : '';
  const zeros = '0'.repeat(random.below(3));
  if (random.below(3) === 0) {
    const [first, ...rest] = digits;
    const fraction = `${rest.join('')}${zeros}`;
    const exponent = rest.length - point;
    const plus = exponent >= 0 && random.below(2) === 0 ? '+' : '';
    return `${sign}${first}${fraction === '' ? '' : `.${fraction}`}${random.pick(['e', 'E'])}${plus}${exponent}`;
  }
  if (point <= 0) return `${sign}${BigInt(digits) * 10n ** BigInt(-point)}${zeros === '' ? '' : `.${zeros}`}`;
  const padded = digits.padStart(point + 1, '0');
  return `${sign}${padded.slice(0, -point)}.${padded.slice(-point)}${zeros}`;
}

describe('a value in a table', () => {
  const convert = textConverter();

  /** Checks that each text has its value in a column whose type the configuration sets, or NULL. */
  async function expectValues(type: ColumnType, cases: readonly Case[]): Promise<void> {
    const rows = cases.map(([text], row) => writeRow([String(row) as ByteString, text as ByteString], ','));
    const columns = [
      { alias: 'row', kind: 'integer', type: 'long', fixed: false } as const,
      { alias: 'value', kind: 'text', type, fixed: true } as const,
    ];
    const csv = { ...CSV, compression: 'none' } as const;
    const { file, unfit } = await convert(Buffer.from(`row,value\n${rows.join('')}`), { csv, columns });
    const read = (await readParquet(file)).rows;
    expect(read.length).toBe(cases.length);
    for (const [row, [text, value]] of cases.entries())
      if (!Object.is(read[row]!.value ?? null, value))
        expect([text, read[row]!.value]).toEqual([text, value]);
    expect(unfit[1]).toBe(cases.filter(([, value]) => value === null).length);
  }

  const NO_NUMBERS: readonly Case[] = [
    ...[
      '0x1F',
      '12 ',
      ' 12',
      '007',
      '-01',
      '1_0',
      '+1',
      '1.',
      '.5',
      'Infinity',
      'NaN',
      '',
      '-',
      'e5',
      '1e',
      '1e+',
    ],
    ...['1,000', '12a', '--1', '1.5.5', 'true', '１２', '1\n', 'null', '-.5', '1e5.0'],
  ].map((text) => [text, null]);

  it('is a 64-bit integer, or does not fit', async () => {
    await expectValues('long', [
      ...NO_NUMBERS,
      ...([
        ['0', 0n],
        ['-0', 0n],
        ['0.00', 0n],
        ['1.0', 1n],
        ['1e3', 1000n],
        ['1E+00002', 100n],
      ] as const),
      ...([
        ['10e-1', 1n],
        ['-1.50e1', -15n],
        ['0e999999999999', 0n],
        ['1.5', null],
        ['1e-1', null],
      ] as const),
      ...([
        ['9223372036854775807', MAX_LONG],
        ['9223372036854775808', null],
        ['9.223372036854775807e18', MAX_LONG],
      ] as const),
      ...([
        ['-9223372036854775808', MIN_LONG],
        ['-9223372036854775809', null],
        ['1e19', null],
      ] as const),
      ...([
        [`1${'0'.repeat(400)}e-400`, 1n],
        ['1e2147483648', null],
        ['1e-9223372036854775809', null],
      ] as const),
    ]);
  });

  it('is a decimal with all its digits, or does not fit', async () => {
    const long = '12345678901234567890123456789012345678';
    await expectValues('decimal(38,0)', [
      ...NO_NUMBERS,
      ...([
        [long, BigInt(long)],
        [`-${long}`, -BigInt(long)],
        [`${long}0`, null],
        [`${long}.000`, BigInt(long)],
      ] as const),
      ...([
        ['1e37', 10n ** 37n],
        ['1e38', null],
        ['0.5', null],
      ] as const),
    ]);
    await expectValues('decimal(18,2)', [
      ...NO_NUMBERS,
      ...([
        ['0.125', null],
        ['0.12', 12n],
        ['0.120000000000000000000000000000000000000000000', 12n],
      ] as const),
      ...([
        ['-7.5', -750n],
        ['9999999999999999.99', 10n ** 18n - 1n],
        ['10000000000000000', null],
      ] as const),
      ...([
        ['125e-3', null],
        ['120e-3', 12n],
        ['1.2e1', 1200n],
      ] as const),
    ]);
    await expectValues('decimal(3,3)', [
      ['0.999', 999n],
      ['1', null],
      ['0', 0n],
      ['-0.001', -1n],
      ['0.0001', null],
    ]);
    await expectValues('decimal(38,38)', [
      ['1e-38', 1n],
      ['1e-39', null],
      ['10e-39', 1n],
      ['-0.5', -5n * 10n ** 37n],
    ]);
  });

  it('is any number that a decimal holds, however it is written', async () => {
    const random = seededRandom(SEED);
    for (const [precision, scale] of [
      [18, 2],
      [38, 10],
      [9, 0],
    ] as const) {
      const cases = Array.from({ length: RANDOM_CASES }, (): Case => {
        const digits = digitsFrom(random, 1 + random.below(precision + 3));
        const point = random.below(scale + 4);
        const value = BigInt(digits);
        const negative = random.below(2) === 0;
        const text = spelled(random, { digits, point, negative });
        // The value is digits times ten to the power of -point.
        const scaled =
          point <= scale ? value * 10n ** BigInt(scale - point) : value / 10n ** BigInt(point - scale);
        const isExact = point <= scale || value % 10n ** BigInt(point - scale) === 0n;
        const fits = isExact && scaled < 10n ** BigInt(precision);
        return [text, fits ? (negative ? -scaled : scaled) : null];
      });
      await expectValues(`decimal(${precision},${scale})`, cases);
    }
  });

  it('is a floating-point number as JSON.parse reads it', async () => {
    const random = seededRandom(SEED);
    const texts = [
      '0.1',
      '-0',
      '5e-324',
      '1e-400',
      '2.2250738585072011e-308',
      '9007199254740993',
      '1e308',
      '123456789e-320',
    ];
    for (let at = 0; at < RANDOM_CASES; at++) {
      const digits = digitsFrom(random, 1 + random.below(25));
      texts.push(spelled(random, { digits, point: random.below(400) - 50, negative: random.below(2) === 0 }));
    }
    await expectValues('double', [
      ...NO_NUMBERS,
      ...([
        ['1e400', null],
        ['-1e309', null],
      ] as const),
      ...texts.map((text): Case => [text, Number.isFinite(Number(text)) ? Number(text) : null]),
    ]);
  });

  it('is a boolean only if it is true or false', async () => {
    await expectValues('boolean', [
      ...([
        ['true', true],
        ['false', false],
      ] as const),
      ...['yes', 'TRUE', 'True', 't', 'f', '1', '0', '', ' true', 'no', 'on'].map(
        (text): Case => [text, null],
      ),
    ]);
  });

  it('is a time in UTC to the microsecond, or does not fit', async () => {
    const at = (iso: string, micros = 0n): bigint => BigInt(Date.parse(iso)) * 1000n + micros;
    await expectValues('timestamp', [
      ...([
        ['1970-01-01T01:00:00.000001+01:00', 1n],
        ['1969-12-31T23:59:59.999999Z', -1n],
      ] as const),
      ...([
        ['2026-11-21T02:00:00.123Z', 1795226400123000n],
        ['2026-11-21t02:00:00z', at('2026-11-21T02:00:00Z')],
      ] as const),
      ...([
        ['2026-11-21T02:00:00.1234560Z', at('2026-11-21T02:00:00Z', 123456n)],
        ['2026-11-21T02:00:00.1234561Z', null],
      ] as const),
      ...([
        ['2024-02-29T00:00:00-00:00', at('2024-02-29T00:00:00Z')],
        ['2023-02-29T00:00:00Z', null],
      ] as const),
      ...([
        ['2026-01-01T00:00:00+23:59', at('2025-12-31T00:01:00Z')],
        ['2026-01-01T00:00:00-23:59', at('2026-01-01T23:59:00Z')],
      ] as const),
      ...([
        ['9999-12-31T23:59:59.999999Z', 253402300799999999n],
        ['9999-12-31T23:00:00-02:00', null],
      ] as const),
      ...([
        ['0001-01-01T00:00:00Z', -62135596800000000n],
        ['0001-01-01T00:00:00+01:00', null],
      ] as const),
      ...([
        ['0000-12-31T23:30:00-01:00', -62135595000000000n],
        ['0000-12-31T00:00:00Z', null],
      ] as const),
      ...[
        ...[
          '2026-11-21T02:00:00',
          '2026-11-21 02:00:00Z',
          '2026-11-21T24:00:00Z',
          '2026-11-21T02:00:60Z',
          '2026-11-21',
        ],
        ...[
          '2026-11-21T02:00Z',
          '2026-11-21T02:00:00+0100',
          '2026-11-21T02:00:00+24:00',
          '2026-11-21T02:00:00.Z',
          '',
        ],
        ...[
          '2026-13-01T00:00:00Z',
          '2026-00-01T00:00:00Z',
          '2026-01-00T00:00:00Z',
          '2026-11-21T02:00:00,5Z',
          'infinity',
        ],
        ...[
          '2026-11-21T02:00:00 UTC',
          '+2026-11-21T02:00:00Z',
          '12026-11-21T02:00:00Z',
          '2026-11-21T02:00:00Z ',
          'epoch',
        ],
        ...[
          '2026-11-21T2:00:00Z',
          '２026-11-21T02:00:00Z',
          '2026-11-21T02:00:00+01',
          '2026-11-21T02:60:00Z',
          'now',
        ],
      ].map((text): Case => [text, null]),
    ]);
  });

  it('is the moment of any time, whatever its zone', async () => {
    const random = seededRandom(SEED);
    const cases = Array.from({ length: RANDOM_CASES }, (): Case => {
      const micros =
        BigInt(random.below(250_000_000)) * 1_000_000_000n -
        60_000_000_000_000_000n +
        BigInt(random.below(1e9));
      const offset = random.below(2 * 1439) - 1439;
      const local = micros + BigInt(offset) * 60_000_000n;
      const fraction = ((local % 1_000_000n) + 1_000_000n) % 1_000_000n;
      const seconds = new Date(Number((local - fraction) / 1000n)).toISOString().slice(0, 19);
      const zone = [Math.abs(offset) / 60, Math.abs(offset) % 60].map((part) =>
        String(Math.floor(part)).padStart(2, '0'),
      );
      const text = `${seconds}.${String(fraction).padStart(6, '0')}${offset < 0 ? '-' : '+'}${zone.join(':')}`;
      return [text, micros];
    });
    await expectValues('timestamp', cases);
  });

  it('is a date that exists, or does not fit', async () => {
    await expectValues('date', [
      ...([
        ['1970-01-02', 1],
        ['0001-01-01', -719162],
        ['9999-12-31', 2932896],
        ['2000-02-29', 11016],
      ] as const),
      ...[
        '0000-12-31',
        '1900-02-29',
        '2026-02-30',
        '2026-1-1',
        '2026-11-21T00:00:00Z',
        '20261121',
        '2026/11/21',
        '',
        '2026-11-21 ',
      ].map((text): Case => [text, null]),
      ...Array.from({ length: RANDOM_CASES }, (_, at): Case => {
        const day = at * 997 - 600_000;
        return [new Date(day * 86_400_000).toISOString().slice(0, 10), day];
      }),
    ]);
  });

  it('is the same text, with every character', async () => {
    const texts = [
      '',
      ' ',
      'a\u0000b',
      'l\nf',
      'cr\r',
      '\r\n',
      '"',
      '""',
      ',',
      'null',
      'NULL',
      '\\N',
      'ä€😀',
      '\ufeffx',
      '\t',
      "'",
    ];
    const cases = texts.map((text): Case => [Buffer.from(text).toString('latin1'), text]);
    const written = cases.map(([text]) => writeRow([text as ByteString], ',')).join('');
    const columns = [{ alias: 'value', kind: 'string', type: 'string', fixed: false } as const];
    const csv = { ...CSV, compression: 'none' } as const;
    const { file } = await convert(Buffer.from(`value\n${written}`, 'latin1'), { csv, columns });
    expect((await readParquet(file)).rows.map(({ value }) => value)).toEqual(texts);
  });

  it('is of an inferred type only in years that every engine reads', async () => {
    const typeOf = async (text: string): Promise<ColumnType> => {
      const columns = [{ alias: 'value', kind: 'string', type: 'empty', fixed: false } as const];
      const csv = { ...CSV, compression: 'none' } as const;
      return (await convert(Buffer.from(`value\n${text}\n`), { csv, columns })).types[0]!;
    };
    expect(await typeOf('1900-01-01T00:00:00+01:00')).toBe('string');
    expect(await typeOf('1899-12-31T23:30:00-01:00')).toBe('timestamp');
    expect(await typeOf('1899-12-31T23:59:59Z')).toBe('string');
    expect(await typeOf('9999-12-31T23:00:00-02:00')).toBe('string');
    expect(await typeOf('9999-12-31T23:59:59.999999Z')).toBe('timestamp');
    expect(await typeOf('1899-12-31')).toBe('string');
    expect(await typeOf('1900-01-01')).toBe('date');
  });
});
