import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import type { RunRecord } from '../../../src/core/contract/index.js';
import { limitRecord, limitRecords, limitWarnings, toReport } from '../../../src/core/run-records.js';
import { changesField, schemaChangeTexts } from '../../../src/core/schema-changes.js';
import { cutText, jsonTextBytes } from '../../../src/core/text-budget.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { schemaChanges } from '../../../src/lake/rows/data-columns.js';
import { toFailure, transientFailure } from '../../../src/run/failures.js';

const MIB = 1024 * 1024;
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
/** Names and messages that a service could choose. */
const HOSTILE = ['x', 'é', '日', '😀', '"', '\\', '\n', '\u0001', '\ud800'].map((unit) =>
  unit.repeat(20_000 / unit.length),
);
const hostile = (at: number): string => `${HOSTILE[at % HOSTILE.length]}${at}`;

function report(at: number, texts: readonly string[], message: string | null): RunRecord {
  const counts = {
    fetched: 1,
    duplicates: 0,
    unchanged: 0,
    inserted: 1,
    updated: 0,
    deleted: 0,
    restated: 0,
    retained: 0,
    rows: 123_456_789,
  };
  const resource = `resource-${at}`.padEnd(100, 'x');
  return {
    resource,
    outcome: message === null ? 'published' : 'failed',
    runId: '20261121T020000Z-00000001' as RunId,
    rows: 123_456_789,
    counts,
    snapshot:
      `${resource}/snapshots/dt=2026-11-21/run=20261121T020000Z-00000001/_datapackage.json` as ObjectKey,
    warnings: texts.map((text) => ({ kind: 'text', text })),
    error: message === null ? null : { type: 'Transient', message },
  };
}

describe('A text budget', () => {
  it('counts the bytes of a text in JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (a, b) => {
        const text = `${a}${b}\ud800${a}`;
        const real = bytesOf(text) - 2;
        // Line breaks and the like have a short form.
        return jsonTextBytes(text) >= real && jsonTextBytes(text) <= real + 4 * text.length;
      }),
    );
    for (const text of HOSTILE) expect(jsonTextBytes(text)).toBeGreaterThanOrEqual(bytesOf(text) - 2);
  });

  it('leaves a text that fits as it is, and marks what it cuts with its length', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 300 }),
        fc.integer({ min: 50, max: 400 }),
        (text, max) => {
          const cut = cutText(text, max);
          if (jsonTextBytes(text) <= max) return cut === text;
          const mark = `… (cut: ${text.length} characters)`;
          return (
            jsonTextBytes(cut) <= max && cut.endsWith(mark) && text.startsWith(cut.slice(0, -mark.length))
          );
        },
      ),
    );
  });

  it('never cuts within a surrogate pair', () => {
    for (let max = 40; max < 60; max++) expect(cutText('😀'.repeat(100), max).isWellFormed()).toBe(true);
  });

  it('keeps the first warnings, and counts the others, even if it is applied again', () => {
    const many = Array.from({ length: 100 }, (_, at) => `warning ${at}`);
    const once = limitWarnings(many);
    expect(once).toHaveLength(21);
    expect(once.at(-1)).toEqual({ kind: 'more', count: 80 });
    expect(limitWarnings([...once, 'late', 'later']).at(-1)).toEqual({ kind: 'more', count: 82 });
    const few = ['one', 'two'].map((text) => ({ kind: 'text', text }));
    expect(limitWarnings(few)).toEqual(few);
    expect(toReport({ ...report(0, [], null), warnings: once }).warnings.at(-1)).toBe(
      'and 80 more, in the manifest',
    );
  });

  it('holds for the schema changes of thousands of columns with names of 20,000 characters', () => {
    const columns = Array.from({ length: 3000 }, (_, at) => ({
      name: hostile(at),
      types: 16,
      values: noFacts(),
    }));
    const changes = schemaChanges([], columns);
    const { schemaChanges: kept } = changesField(changes);
    const texts = schemaChangeTexts(kept!);
    expect(Math.max(...texts.map(bytesOf))).toBeLessThan(400);
    expect(texts[0]).toMatch(/^new column "x+… \(cut: 20001 characters\)" \(string\)$/);
    expect(texts.at(-1)).toBe(`${3000 - kept!.first.length} more, in the manifest`);
    expect(bytesOf(kept)).toBeLessThan(4000);
  });

  it('holds for failures with messages of megabytes', () => {
    for (const text of HOSTILE) {
      const message = text.repeat(15);
      expect(bytesOf(transientFailure(message).message)).toBeLessThan(2100);
      expect(bytesOf((toFailure(new Error(message)) as Error).message)).toBeLessThan(2100);
      expect(bytesOf((toFailure(new TypeError(message)) as Error).message)).toBeLessThan(2100);
    }
  });

  it('holds for a report, and changes none that fits', () => {
    const warnings = Array.from({ length: 300 }, (_, at) => hostile(at));
    for (const text of HOSTILE) expect(bytesOf(limitRecord(report(0, warnings, text)))).toBeLessThan(10_000);
    const small = report(0, ['a'], 'b');
    expect(limitRecord(small)).toEqual(small);
  });

  it.each([1, 20, 300, 1000, 2500])(
    'holds for an export of %i resources with warnings and errors of any length',
    (count) => {
      const warnings = Array.from({ length: 30 }, (_, at) => hostile(at));
      const some = Array.from({ length: Math.min(count, 40) }, (_, at) =>
        limitRecord(report(at, warnings, hostile(at))),
      );
      const reports = Array.from({ length: count }, (_, at) => {
        const { resource, snapshot } = report(at, [], null);
        return { ...some[at % some.length]!, resource, snapshot };
      });
      const limited = limitRecords(reports);
      expect(bytesOf(limited)).toBeLessThan(1.2 * MIB);
      expect(limited.map(({ resource, outcome }) => [resource, outcome])).toEqual(
        reports.map(({ resource, outcome }) => [resource, outcome]),
      );
      for (const { error } of limited) expect(error!.message).not.toBe('');
      if (count <= 1000) for (const { counts } of limited) expect(counts).not.toBeNull();
    },
  );
});
