import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { observeRun } from '../../../src/core/alerts/observations.js';
import type { RunRecord } from '../../../src/core/contract/index.js';
import { limitRecord, limitWarnings, toReport } from '../../../src/core/run-records.js';
import { changesField } from '../../../src/core/schema-changes.js';
import { type StoredWarning, toWarning, type Warning, warningText } from '../../../src/core/warnings.js';

const published = (record: Partial<RunRecord>): RunRecord => ({
  ...{ resource: 'tasks', outcome: 'published', runId: null, rows: 1, counts: null, snapshot: null },
  ...{ warnings: [], error: null },
  ...record,
});

describe('A warning', () => {
  it('shows its kind and its facts if another build has written it', () => {
    expect(warningText({ kind: 'solar-flare', records: 3, field: 'size' } as StoredWarning)).toBe(
      'solar-flare: records 3, field "size"',
    );
    expect(warningText({ kind: 'solar-flare' })).toBe('solar-flare');
    // Names of the language are no kinds.
    for (const kind of ['toString', 'constructor', '__proto__']) expect(warningText({ kind })).toBe(kind);
  });

  it('is a text whatever its facts are, because another build may have written others', () => {
    const facts = fc.dictionary(fc.string(), fc.jsonValue());
    const kinds = fc.constantFrom(
      'settings-changed',
      'list-doubt',
      'deletes-not-concluded',
      'check',
      'gap',
      'text',
      'moved',
    );
    fc.assert(
      fc.property(kinds, facts, (kind, of) => {
        expect(typeof warningText({ ...of, kind } as StoredWarning)).toBe('string');
      }),
    );
    expect(warningText({ kind: 'settings-changed' })).toBe('settings-changed');
    const later = { kind: 'list-doubt', doubt: { kind: 'new' } } as StoredWarning;
    expect(warningText(later)).toBe('list-doubt: doubt {"kind":"new"}');
  });

  it('keeps the kinds within its facts if it is cut', () => {
    const doubt = { kind: 'full-end', words: 'w'.repeat(50) };
    const all = [
      { kind: 'text', text: 'x'.repeat(170) },
      { kind: 'list-doubt', resource: 'tasks', doubt, field: null, isFirst: false },
    ] as Warning[];
    for (let most = 100; most < 1_000; most++)
      for (const warning of limitWarnings(all, most))
        if (warning.kind === 'list-doubt') expect(warning.doubt.kind).toBe('full-end');
  });

  it('is shown as it is if it is a text of an earlier build', () => {
    const texts = ['gap: the service no longer lists changes', 'new column "a" (string)'];
    for (const text of texts) {
      expect(warningText(text)).toBe(text);
      expect(toWarning(text)).toEqual({ kind: 'text', text });
      expect(warningText(toWarning(text))).toBe(text);
    }
    const record = published({ warnings: texts as unknown as Warning[] });
    expect(toReport(record).warnings).toEqual(texts);
    expect(limitWarnings(record.warnings)).toEqual(texts.map(toWarning));
  });

  it('keeps its facts apart from texts that are too long', () => {
    const check = (found: string): Warning => ({
      kind: 'check',
      name: 'rows',
      allowed: 'at least 1',
      found,
      acceptedBy: null,
    });
    expect(limitWarnings([check('0')])).toEqual([check('0')]);
    const [short] = limitWarnings([check('x'.repeat(50_000))]);
    expect(short).toMatchObject({ kind: 'check', name: 'rows', allowed: 'at least 1', acceptedBy: null });
    expect(warningText(short!).length).toBeLessThanOrEqual(2000);
  });

  it('is within the budget of a record, as facts and as English, whatever its texts are', () => {
    const warning = fc.oneof(
      fc.record({ kind: fc.constant('text' as const), text: fc.string({ unit: 'binary', maxLength: 5000 }) }),
      fc.record({ kind: fc.constant('table-behind' as const), message: fc.string({ maxLength: 5000 }) }),
      fc.record({
        ...{ kind: fc.constant('moved' as const), from: fc.string({ maxLength: 3000 }) },
        to: fc.string({ maxLength: 3000 }),
      }),
      fc.record({
        kind: fc.constant('odd'),
        names: fc.array(fc.string({ maxLength: 300 }), { maxLength: 100 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(warning, { maxLength: 60 }), fc.integer({ min: 200, max: 6000 }), (all, most) => {
        const kept = limitWarnings(all, most);
        const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
        expect(kept.length).toBeLessThanOrEqual(21);
        expect(bytes(kept)).toBeLessThan(most + 200);
        expect(bytes(kept.map(warningText))).toBeLessThan(most + 200);
        const [last] = kept.slice(-1);
        const more = last?.kind === 'more' ? last.count : 0;
        expect(kept.length - (more > 0 ? 1 : 0) + more).toBe(all.length);
        expect(limitWarnings(kept, most)).toEqual(kept);
      }),
    );
  });
});

describe('The schema changes of a run', () => {
  const warnings: readonly Warning[] = Array.from({ length: 40 }, (_, at) => ({
    ...{ kind: 'check', name: `check ${at}`, allowed: 'x'.repeat(300), found: '0', acceptedBy: null },
  }));
  const columns = Array.from({ length: 30 }, (_, at) => ({ name: `c${at}`, had: null, added: ['string'] }));

  it('are reported as an alert, however many other warnings there are', () => {
    const record = limitRecord(published({ warnings, ...changesField(columns.slice(0, 1)) }));
    expect(record.warnings.at(-1)).toMatchObject({ kind: 'more' });
    const problems = observeRun(record).flatMap((one) => one.problems);
    expect(problems.map(({ kind }) => kind)).toEqual(['warning', 'schema-change']);
    expect(problems[1]!.text).toBe('new column "c0" (string)');
    expect(toReport(record).warnings.at(-1)).toBe('schema change: new column "c0" (string)');
  });

  it('are counted, if there are too many to name them', () => {
    const record = limitRecord(published(changesField(columns)));
    const problems = observeRun(record).flatMap((one) => one.problems);
    expect(problems[0]!.text).toMatch(/^new column "c0" \(string\); .*; and 25 more$/);
    expect(toReport(record).warnings.at(-1)).toBe('schema change: 10 more, in the manifest');
  });
});

describe('English that the program writes', () => {
  /** Words of outside software that are searched for, with who writes them. */
  const OUTSIDE: Readonly<Record<string, string>> = {
    'Failed to extract statements: ': 'DuckDB',
    'Out of Memory Error': 'DuckDB',
    'Invalid Input Error: ${UNFIT}': 'DuckDB',
    'Could not resolve credentials using profile': 'the AWS SDK',
    "open '": 'Node.js',
    'does not support a prefix that does not end in a delimiter': 'S3 directory buckets',
    'Unknown encoding:': 'the Temporal SDK',
    'before the deadline': 'gRPC for Node.js',
  };
  const files = ['src', 'workflows', 'activities'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.startsWith('simulator'))
      .map((file) => `${folder}/${file}`),
  );
  const CALL =
    /\.(?:startsWith|endsWith|includes|indexOf|lastIndexOf|replace|replaceAll|split)\(\s*(['"`])((?:(?!\1).)*)\1/g;
  /** Two words, or the subject of a sentence. A scheme of a URL, or a prefix of an id, has no blank after its colon. */
  const isProse = (text: string): boolean =>
    /[a-z]{2,} [a-z]|[a-z]: ?$/i.test(text) && !/^[a-z]+:$/.test(text);

  it('is never searched to find out what it means', () => {
    const searched = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(CALL)].map(([, , text = '']) => ({ file, text })),
    );
    expect(searched.length).toBeGreaterThan(100);
    const prose = searched.filter(({ text }) => isProse(text) && !(text in OUTSIDE));
    expect(prose).toEqual([]);
  });

  it('is not the subject of a regular expression', () => {
    const sentences = files.flatMap((file) => {
      const code = readFileSync(file, 'utf8');
      // A text in a signal, a report or a manifest.
      return [
        ...code.matchAll(/\/[^/\n]+\/[a-z]*\.(?:test|exec)\(\s*(warning|problem|reason|remedy)\b[^)]*\)/g),
      ].map(([found]) => `${file}: ${found}`);
    });
    expect(sentences).toEqual([]);
  });
});
