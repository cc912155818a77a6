import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { confirmRows } from '../../../activities/write-back/confirm-rows.js';
import { ChunkWriter } from '../../../activities/write-back/plan-write-back.js';
import { writePlan } from '../../../activities/write-back/stored-batch.js';
import { parseSettings } from '../../../src/config/index.js';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import {
  type ConfirmationVerdict,
  type ConfirmedRows,
  noRows,
  type WritableResource,
} from '../../../src/core/contract/write-back.js';
import type { Column } from '../../../src/lake/rows/data-columns.js';
import { openStore } from '../../../src/lake/store/index.js';
import type { ActivityDeps } from '../../../src/run/deps.js';
import { batchKeys } from '../../../src/write-back/batch-layout.js';
import { readConfirmations } from '../../../src/write-back/confirmations.js';
import type { ChunkRow } from '../../../src/write-back/plan-file.js';
import { resultLines, resultsHeader, type Summary } from '../../../src/write-back/results.js';
import { encodeSealed } from '../../../src/write-back/sealed.js';
import { PLAN } from '../activities/planned-rows.js';
import { client } from '../api/support.js';
import { type PublishOptions, publishRun } from '../lake/published.js';

/** The input of a batch that `withBatch` makes. */
export const INPUT = PLAN;
export const NOW = Date.parse('2026-11-28T12:00:00Z');

/** A row that the service has accepted. */
export interface Written {
  readonly body: object;
  /** Of a calendar entry. Default: the row creates a time entry. */
  readonly pair?: readonly [string, string];
  /** `null`: the response had none. Default: `id00001` for the first row. */
  readonly id?: string | null;
}

interface BatchOptions {
  /** Settings of the resource, as in the configuration. */
  readonly resource?: string;
  /** Of the service. Default: there is none. */
  readonly baseUrl?: string;
}

export function idOfRow(row: number): string {
  return `id${String(row).padStart(5, '0')}`;
}

/** A lake with a written batch, whose rows are looked for. */
export async function withBatch<T>(
  rows: readonly Written[],
  work: (batch: Batch) => Promise<T>,
  { resource = '{ name: time-entries, window: none }', baseUrl = 'http://127.0.0.1:1' }: BatchOptions = {},
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'worktrack-confirm-'));
  const lake = `file://${join(folder, 'lake')}`;
  const settings = parseSettings(
    `connections: { acme: { baseUrl: "${baseUrl}", apiKey: { env: K }, lake: { url: "${lake}" }, resources: [${resource}] } }`,
    'test',
  ).connections[0]!;
  const store = openStore(settings.lake);
  const api = client(baseUrl);
  const deps: ActivityDeps = {
    connection: () => ({ settings, client: api, store }),
    ...{ origin: 'the test', now: () => NOW, draining: () => false, meter: { record: () => {} } as never },
  };
  try {
    const batch = new Batch(
      store,
      deps,
      settings.resources[0]!.name as WritableResource,
      join(folder, 'lake'),
    );
    await batch.write(rows);
    return await work(batch);
  } finally {
    await api.close();
    store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

export class Batch {
  #runs = 0;

  /** @param folder of the lake */
  constructor(
    readonly store: ReturnType<typeof openStore>,
    private readonly deps: ActivityDeps,
    private readonly resource: WritableResource,
    readonly folder: string,
  ) {}

  /** Writes the plan of an input, and what an ended batch has: receipts and a summary. */
  async write(rows: readonly Written[], plan: ObjectKey = PLAN): Promise<void> {
    const writer = new ChunkWriter(this.store, plan, 'w', 100);
    const planned = rows.map(({ body, pair = null }, n): ChunkRow => {
      const [row, text] = [n + 1, JSON.stringify(body)];
      const sent = { idempotencyKey: `u${row}`, content: '', pair, body: text, verdict: null };
      return { row, line: row + 1, key: `k${row}`, ...sent, receipt: null, sentAt: null };
    });
    for (const row of planned) await writer.add(row);
    const { chunks, pending } = await writer.finish();
    const { baseUrl } = this.deps.connection('acme').settings;
    await writePlan(this.store, plan, {
      ...{ sequence: 1, baseUrl, input: plan, rows: rows.length, chunks, pending, writer: 'w' },
    });
    const results = planned.map((row, n) => {
      const { id = idOfRow(row.row) } = rows[n]!;
      return { row, result: { outcome: 'created', status: 201, id, message: null } as const };
    });
    const keys = batchKeys('b');
    const text = resultsHeader() + resultLines(results, { escapeFormulas: false });
    await this.store.write(keys.results, Buffer.from(text, 'latin1'));
    const written = { results: keys.results, counts: noRows(), unsent: 0, refusals: null, sameId: 0 };
    const summary: Summary = { plan, baseUrl, complete: true, found: 0, written };
    await this.store.write(keys.summary, encodeSealed(summary));
  }

  /** Publishes records by key, in ascending order. */
  async publish(
    columns: readonly Column[],
    records: readonly (readonly (string | null)[])[],
    more: Partial<PublishOptions> = {},
  ): Promise<void> {
    const runId = `20261128T02000${this.#runs++}Z-0123abcd` as RunId;
    const parts = records.length === 0 ? [] : [records];
    const { resource } = this;
    await publishRun(this.store, { resource, runId, date: '2026-11-28', columns, parts, ...more });
  }

  look(): Promise<ConfirmedRows> {
    const ref = { connection: 'acme', resource: this.resource, batchId: 'b' } as const;
    return new MockActivityEnvironment().run(() => confirmRows(this.deps, ref));
  }

  /** Looks, and says what was found of the first rows. */
  async verdicts(rows = 1): Promise<(ConfirmationVerdict | null)[]> {
    await this.look();
    const { found } = await this.found();
    return Array.from({ length: rows }, (_, n) => found.of(n + 1));
  }

  found() {
    return readConfirmations(this.store, 'b', INPUT);
  }
}
