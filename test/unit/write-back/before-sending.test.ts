import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { toByteString } from '../../../src/core/brands.js';
import { DAY_MS } from '../../../src/core/duration.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { idempotencyKey } from '../../../src/write-back/idempotency-key.js';
import { readInputRows } from '../../../src/write-back/input-rows.js';
import { WindowCheck } from '../../../src/write-back/published-checks.js';
import { InputFacts } from '../../../src/write-back/reading.js';
import { fieldsOf } from './support.js';

async function read(text: string) {
  const facts = new InputFacts();
  const types = { published: [], fixed: {}, text: [] };
  const rows: Record<string, string>[] = [];
  async function* chunks() {
    yield Buffer.from(text);
  }
  for await (const some of readInputRows(chunks(), { format: 'csv', types, facts }))
    rows.push(...some.map(fieldsOf));
  return { rows, skipped: facts.headerLines };
}

describe('a line that repeats the header', () => {
  it.each([
    ['in the middle', 'note,n:integer\na,1\nnote,n:integer\nb,2\n'],
    ['twice, and at the end', 'note,n:integer\nnote,n:integer\na,1\nb,2\nnote,n:integer\n'],
    ['quoted, with spaces', 'note,n:integer\na,1\n" note ","n:integer"\nb,2\n'],
    ['without the type', 'note,n:integer\na,1\nnote,n\nb,2\n'],
    ['with a byte order mark', '\ufeffnote,n:integer\na,1\n\ufeffnote,n:integer\nb,2\n'],
    ['with empty cells at the end', 'note,n:integer,\na,1,\nnote,n:integer,,\nb,2,\n'],
  ])('is skipped and counted: %s', async (_, text) => {
    const { rows, skipped } = await read(text);
    expect(rows).toEqual([
      { note: '"a"', n: '1' },
      { note: '"b"', n: '2' },
    ]);
    expect(skipped).toBeGreaterThan(0);
  });

  it('is not a row that shares only some of its texts', async () => {
    const { rows, skipped } = await read('note,project\nnote,project 1\nproject,note\n');
    expect([rows.length, skipped]).toEqual([2, 0]);
  });
});

describe('rows before the window of their resource', () => {
  const now = Date.UTC(2026, 10, 20);
  const counted = (dates: readonly string[], windowField: string | null = 'startedAt') => {
    const resources = [{ name: 'time-entries', windowMs: 90 * DAY_MS, windowField }];
    const check = new WindowCheck({ resources } as unknown as ConnectionSettings, 'time-entries', now);
    const row = (json: string) => ({
      line: 1,
      fields: [{ name: toByteString('startedAt'), json: toByteString(json) }],
    });
    check.add(dates.map(row));
    return check.found;
  };

  it('are counted, whatever form of a date they have', () => {
    const before = [
      '"2026-05-04T08:00:00Z"',
      '"2026-05-04"',
      '1777881600',
      '1777881600000',
      '"2026-05-04 08:00"',
    ];
    const within = ['"2026-11-02T08:00:00Z"', '"2026-11-02"', '1793606400', '"yesterday"', 'null', '""'];
    expect(counted([...before, ...within])).toEqual({ rows: 5, field: 'startedAt', windowMs: 90 * DAY_MS });
    expect(counted(within)).toBeNull();
  });

  it('are not known without the field that dates the window', () => {
    expect(counted(['"2026-05-04"'], null)).toBeNull();
  });
});

describe('the form of idempotency keys', () => {
  const FORMS = {
    'uuid-v5': /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    'uuid-v4': /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    hex: /^[0-9a-f]{32}$/,
  };

  it('is what the configuration says, and each row has its own key in it', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...(Object.keys(FORMS) as (keyof typeof FORMS)[])),
        fc.string(),
        fc.string(),
        (form, a, b) => {
          const [one, other] = [a, b].map((key) => idempotencyKey('acme', 'november', key, form));
          expect(one).toMatch(FORMS[form]);
          expect(one === other).toBe(a === b);
        },
      ),
    );
  });

  const settingsWith = (writeBack: string) =>
    parseSettings(
      `connections:\n  acme:\n    baseUrl: https://x.example.com\n    apiKey: { env: KEY }\n    lake: { url: file:///tmp/lake }\n    writeBack: ${writeBack}\n`,
      'x',
    ).connections[0]!.writeBack['time-entries'];

  it('can be set, like the header', () => {
    const found = settingsWith(
      '{ time-entries: { idempotencyKey: { form: uuid-v4, header: X-Request-Id }, repeat: never } }',
    );
    expect(found).toMatchObject({
      idempotencyKey: { form: 'uuid-v4', header: 'X-Request-Id' },
      repeat: 'never',
    });
  });

  it.each([
    'Authorization',
    'authorization',
    'Cookie',
    'Host',
    'Content-Type',
    'Content-Length',
    'Transfer-Encoding',
    'Proxy-Authorization',
    'X-Api-Key',
    'a b',
    '""',
  ])('is not sent in the header %s', (header) => {
    expect(() => settingsWith(`{ time-entries: { idempotencyKey: { header: ${header} } } }`)).toThrow(
      /HTTP header/,
    );
  });
});
