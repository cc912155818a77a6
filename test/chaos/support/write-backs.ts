import { deepStrictEqual } from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  noRows,
  type WritableResource,
  type WriteBackInput,
  type WriteBackResult,
} from '../../../src/core/contract/write-back.js';
import { StoreError } from '../../../src/lake/store/index.js';
import { isUnreachable } from '../../../src/temporal/client/grpc.js';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { followWriteBack } from '../../../src/temporal/follow/follow-write-back.js';
import { stageWriteBack } from '../../../src/write-back/stage-input.js';
import type { Random } from '../../support/random.js';
import { readReceipts } from '../../support/write-back.js';
import { BATCH_MOMENTS, type BatchMoment, BatchWatch } from './batch-watch.js';
import type { Batch } from './batches.js';
import { checkMirrored } from './mirrored.js';
import type { Operation } from './operations.js';
import { recordsOf } from './records.js';
import { retryWhileDown } from './retry-while-down.js';
import type { World } from './world.js';

/** Share of batches that two clients send at the same time, and of batches without a read-back. */
const TWO_CLIENTS = 0.25;
const NOT_READ_BACK = 0.25;

export const timeEntriesWriteBack = writingBack('time-entries', (world, random) =>
  world.batches.timeEntries(random),
);
export const calendarWriteBack = writingBack('calendar-entries', (world, random) =>
  world.batches.calendarEntries(random),
);

function writingBack(resource: WritableResource, draw: (world: World, random: Random) => Batch): Operation {
  return {
    name: `write-back of ${resource}`,
    moments: BATCH_MOMENTS,
    mirrorsAll: false,
    async prepare(world, random) {
      const batch = draw(world, random);
      const clients = random.share() < TWO_CLIENTS ? 2 : 1;
      const readBack = random.share() >= NOT_READ_BACK;
      const watch = new BatchWatch(world.lakeFolder, resource);
      await watch.begin();
      let results: readonly WriteBackResult[] = [];
      return {
        async run() {
          const all = Array.from({ length: clients }, (_, client) =>
            sendFile(world, batch, { client, readBack }),
          );
          results = await Promise.all(all);
        },
        reached: (moment) => watch.reached(moment as BatchMoment),
        async check() {
          for (const result of results) checkResult(result, batch);
          await checkWritten(world, batch, results[0]!);
          if (readBack) await checkMirrored(world, [resource]);
          await checkGivenAgain(world, batch, results[0]!);
        },
      };
    },
  };
}

interface SendOptions {
  readonly client: number;
  readonly readBack: boolean;
}

/** Sends a file as the command does, retries while the lake is down, and waits for the end of the batch. */
async function sendFile(
  world: World,
  { resource, csv }: Batch,
  options: SendOptions,
): Promise<WriteBackResult> {
  const { settings, temporal, taskQueue } = world;
  const file = join(world.folder, `given-${options.client}.csv`);
  await writeFile(file, csv);
  const staged = await retryWhileDown(
    // A batch may have a calendar entry more than once.
    () =>
      stageWriteBack(settings.connections[0]!, {
        ...{ resource, file },
        ...(resource === 'calendar-entries' && { lastWins: true }),
      }),
    (error) => error instanceof StoreError && error.kind === 'unreachable',
  );
  const input: WriteBackInput = { ...staged, readBack: options.readBack };
  const { workflowId } = await retryWhileDown(
    () => startWriteBack(temporal, input, { taskQueue }),
    isUnreachable,
  );
  // `followWriteBack` retries by itself.
  return retryWhileDown(
    () => followWriteBack(temporal, workflowId, { everyMs: 100 }),
    () => false,
  );
}

function checkResult(result: WriteBackResult, { rows }: Batch): void {
  const { outcome, counts, warnings } = result;
  const text = JSON.stringify(result);
  if (outcome !== 'written' || warnings.length > 0) throw new Error(`the batch was not written: ${text}`);
  const superseded = rows.filter((row) => row.superseded).length;
  // A row whose response was lost counts as an update when it is sent again.
  const sum = counts.created + counts.updated;
  deepStrictEqual(counts, { ...noRows(), created: counts.created, updated: counts.updated, superseded });
  if (sum !== rows.length - superseded)
    throw new Error(`the counts do not sum up to ${rows.length} rows: ${text}`);
}

/** Checks that the service has each row once, and that the receipt of each row names its record. */
async function checkWritten(world: World, batch: Batch, { batchId, counts }: WriteBackResult): Promise<void> {
  const { resource, rows } = batch;
  const ids = await checkService(world, resource);
  const receipts = await readReceipts(world, batchId);
  if (receipts.length !== rows.length)
    throw new Error(`${batchId}: ${receipts.length} receipts of ${rows.length} rows`);
  const keys = new Set(receipts.map((receipt) => receipt.idempotency_key));
  if (resource === 'time-entries' && keys.size !== rows.length)
    throw new Error(`${batchId}: ${rows.length} rows have ${keys.size} idempotency keys`);
  const receiptCounts = noRows();
  for (const [at, { name, superseded, known }] of rows.entries()) {
    const { row, outcome, id, http_status } = receipts[at]!;
    const wrong = (what: string): Error => new Error(`${batchId}: row ${at + 1}, ${name}, has ${what}`);
    if (row !== String(at + 1)) throw wrong(`the receipt of row ${row}`);
    receiptCounts[outcome as keyof typeof receiptCounts]++;
    const allowed = superseded
      ? ['superseded']
      : resource === 'time-entries'
        ? ['created']
        : known
          ? ['updated']
          : ['created', 'updated'];
    if (!allowed.includes(outcome)) throw wrong(`the outcome ${outcome}`);
    if (id !== (superseded ? null : ids.get(name))) throw wrong(`the id ${id} and not ${ids.get(name)}`);
    if ((http_status === null) !== superseded) throw wrong(`the status ${http_status}`);
  }
  deepStrictEqual(receiptCounts, counts);
}

/** Checks that the service has what all batches wrote, once, and nothing else. Returns ids by name. */
async function checkService(world: World, resource: WritableResource): Promise<Map<string, string>> {
  const expected = world.batches.expected(resource);
  const ids = new Map<string, string>();
  for (const text of await recordsOf(world, resource)) {
    const record = JSON.parse(text) as Record<string, unknown> & { id: string };
    const name = world.batches.nameOf(resource, record);
    if (ids.has(name)) throw new Error(`${resource}: ${name} is at the service twice`);
    ids.set(name, record.id);
    for (const [field, value] of Object.entries(expected.get(name) ?? {}))
      deepStrictEqual(record[field], value, `${resource}: ${field} of ${name}`);
  }
  const lost = [...expected.keys()].filter((name) => !ids.has(name));
  const odd = [...ids.keys()].filter((name) => !expected.has(name));
  if (lost.length + odd.length > 0)
    throw new Error(`${resource}: missing ${lost.join()}; not written by any batch: ${odd.join()}`);
  return ids;
}

/** Checks that sending the same file again changes neither the service nor the receipts. */
async function checkGivenAgain(world: World, batch: Batch, before: WriteBackResult): Promise<void> {
  const records = await recordsOf(world, batch.resource);
  const receipts = await readReceipts(world, before.batchId);
  const again = await sendFile(world, batch, { client: 0, readBack: false });
  checkResult(again, batch);
  deepStrictEqual(again.counts, before.counts);
  deepStrictEqual(await readReceipts(world, before.batchId), receipts);
  deepStrictEqual(await recordsOf(world, batch.resource), records);
}
