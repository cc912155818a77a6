import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { confirmRows } from '../../../activities/write-back/confirm-rows.js';
import { parseSettings } from '../../../src/config/index.js';
import { observeConfirmation } from '../../../src/core/alerts/index.js';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import {
  type ConfirmationVerdict,
  type ConfirmedRows,
  noRows,
} from '../../../src/core/contract/write-back.js';
import { openStore } from '../../../src/lake/store/index.js';
import type { ActivityDeps } from '../../../src/run/deps.js';
import { batchKeys } from '../../../src/write-back/batch-layout.js';
import { Confirmations, readConfirmations } from '../../../src/write-back/confirmations.js';
import type { ChunkRow } from '../../../src/write-back/plan-file.js';
import { readReceipts, resultLines, resultsHeader, type Summary } from '../../../src/write-back/results.js';
import { encodeSealed } from '../../../src/write-back/sealed.js';
import { PLAN, planRows } from '../activities/planned-rows.js';
import { client } from '../api/support.js';
import { publishRun } from '../lake/published.js';
import { column } from './staged.js';

const INPUT = PLAN;
const NOW = Date.parse('2026-11-28T12:00:00Z');

/** What a service makes of an accepted write. */
const FATES = ['fine', 'dropped', 'rounded', 'truncated', 'delayed'] as const;
type Fate = (typeof FATES)[number];

/** The service's record of a row, if it shows one in the first look, or in a later one. */
function recordOf(row: number, fate: Fate, look: 'first' | 'later'): (string | null)[][] {
  if (fate === 'dropped' || (fate === 'delayed' && look === 'first')) return [];
  const n = fate === 'rounded' ? row + 1 : row;
  const note = fate === 'truncated' ? 'row' : `row ${row}`;
  return [[`id${String(row).padStart(5, '0')}`, String(n), note]];
}

const EXPECTED: Readonly<Record<Fate, readonly [first: ConfirmationVerdict, later: ConfirmationVerdict]>> = {
  fine: ['confirmed', 'confirmed'],
  dropped: ['notSeen', 'notSeen'],
  rounded: ['differs', 'differs'],
  truncated: ['differs', 'differs'],
  delayed: ['notSeen', 'confirmed'],
};

/** A lake with a written batch, whose rows are looked for. */
async function withBatch<T>(rows: number, work: (batch: Batch) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'worktrack-confirm-'));
  const lake = `file://${join(folder, 'lake')}`;
  const settings = parseSettings(
    `connections: { acme: { baseUrl: "http://127.0.0.1:1", apiKey: { env: K }, lake: { url: "${lake}" }, resources: [{ name: time-entries, window: none }] } }`,
    'test',
  ).connections[0]!;
  const store = openStore(settings.lake);
  const api = client('http://127.0.0.1:1');
  try {
    await planRows(store, rows, 100);
    const results = Array.from({ length: rows }, (_, n) => ({
      row: { row: n + 1, key: `k${n + 1}`, idempotencyKey: `u${n + 1}` } as ChunkRow,
      result: {
        outcome: 'created',
        status: 201,
        id: `id${String(n + 1).padStart(5, '0')}`,
        message: null,
      } as const,
    }));
    const text = resultsHeader() + resultLines(results, { escapeFormulas: false });
    await store.write(batchKeys('b').results, Buffer.from(text, 'latin1'));
    const written = {
      results: batchKeys('b').results,
      counts: noRows(),
      unsent: 0,
      refusals: null,
      sameId: 0,
    };
    const summary: Summary = { plan: PLAN, baseUrl: settings.baseUrl, complete: true, found: 0, written };
    await store.write(batchKeys('b').summary, encodeSealed(summary));
    const deps: ActivityDeps = {
      connection: () => ({ settings, client: api, store }),
      ...{ origin: 'the test', now: () => NOW, draining: () => false, meter: { record: () => {} } as never },
    };
    return await work(new Batch(store, deps));
  } finally {
    await api.close();
    store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

class Batch {
  #runs = 0;

  constructor(
    readonly store: ReturnType<typeof openStore>,
    private readonly deps: ActivityDeps,
  ) {}

  async publish(records: (string | null)[][]): Promise<void> {
    const columns = [column('id', 'text'), column('n', 'integer'), column('note', 'text')];
    const runId = `20261128T02000${this.#runs++}Z-0123abcd` as RunId;
    const parts = records.length === 0 ? [] : [records];
    await publishRun(this.store, {
      ...{ resource: 'time-entries', runId, date: '2026-11-28', columns, parts },
    });
  }

  look(): Promise<ConfirmedRows> {
    const ref = { connection: 'acme', resource: 'time-entries', batchId: 'b' } as const;
    return new MockActivityEnvironment().run(() => confirmRows(this.deps, ref));
  }

  found() {
    return readConfirmations(this.store, 'b', INPUT);
  }
}

describe('the confirmations of a batch', () => {
  it('judge each row right if a service drops, rounds, truncates or delays some of the writes', async () => {
    const fate = fc.oneof(
      { weight: 19, arbitrary: fc.constant('fine' as const) },
      { weight: 1, arbitrary: fc.constantFrom(...FATES) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fate, { minLength: 1, maxLength: 250 }), async (fates) => {
        await withBatch(fates.length, async (batch) => {
          for (const [at, look] of (['first', 'later'] as const).entries()) {
            await batch.publish(fates.flatMap((one, n) => recordOf(n + 1, one, look)));
            const { counts, open } = await batch.look();
            const expected = fates.map((one) => EXPECTED[one][at]!);
            const { found } = await batch.found();
            expect(fates.map((_, n) => found.of(n + 1))).toEqual(expected);
            expect(counts.confirmed).toBe(expected.filter((one) => one === 'confirmed').length);
            expect(open).toBe(fates.length - counts.confirmed);
          }
        });
      }),
      { numRuns: 12 },
    );
  });

  it('say what was sent and found, and are joined to the receipts', async () => {
    await withBatch(3, async (batch) => {
      await batch.publish([...recordOf(1, 'fine', 'first'), ...recordOf(2, 'rounded', 'first')]);
      const { since } = await batch.look();
      expect(Date.parse(since)).toBeLessThanOrEqual(Date.now() - 3_600_000);
      const { found } = await batch.found();
      expect(found.differencesOf(2)).toEqual([{ field: 'n', sent: '2', shown: '3' }]);
      const receipts: unknown[] = [];
      for await (const { row, confirmation } of readReceipts(batch.store, 'b', {}))
        receipts.push([row, confirmation]);
      expect(receipts).toEqual([
        [1, 'confirmed'],
        [2, 'differs'],
        [3, 'notSeen'],
      ]);
    });
  });

  it('stay confirmed when somebody changes or deletes the record later', async () => {
    await withBatch(2, async (batch) => {
      await batch.publish([1, 2].flatMap((row) => recordOf(row, 'fine', 'first')));
      await batch.look();
      await batch.publish(recordOf(1, 'rounded', 'first'));
      expect(await batch.look()).toMatchObject({ counts: { confirmed: 2 }, open: 0 });
    });
  });

  it('are stored in little space, and are those of one input', () => {
    const found = new Confirmations(INPUT);
    for (let row = 1; row <= 100_000; row++) found.set(row, row % 1000 === 0 ? 'differs' : 'confirmed');
    const key = batchKeys('b').confirmations;
    const body = found.encode();
    expect(body.length).toBeLessThan(20_000);
    expect(Confirmations.decode(key, body, INPUT).counts).toEqual(found.counts);
    expect(Confirmations.decode(key, body, 'other' as ObjectKey).counts.confirmed).toBe(0);
  });

  it('are an alert if a row is not there as it was sent', () => {
    const counts = { confirmed: 97, differs: 2, notSeen: 1, notListed: 4 };
    const ended = { resource: 'time-entries', batchId: 'b', ...counts };
    const [problem] = observeConfirmation(ended).problems;
    expect(problem).toMatchObject({ kind: 'rows-not-confirmed', mark: 'b 1 2' });
    expect(problem!.text).toContain('1 not seen and 2 with other values');
    expect(observeConfirmation({ ...ended, differs: 0, notSeen: 0 }).problems).toEqual([]);
  });
});
