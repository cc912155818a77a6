import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WriteBackResult } from '../../../src/core/contract/write-back.js';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { followWriteBack } from '../../../src/temporal/follow/follow-write-back.js';
import { startWorkerProcess } from '../../support/processes.js';
import { type Random, seededRandom } from '../../support/random.js';
import { RowService } from '../../support/row-service.js';
import { rounds } from '../../support/seeds.js';
import { type Stack, until } from '../../support/stack.js';
import { fileIn, stage, startWriteBackStack, stopWriteBackStack } from '../../support/write-back.js';

const SEED = Number(process.env.WORKTRACK_SEED ?? 1);
const ROUNDS = rounds(3);
/** Number of different keys in all files. */
const KEYS = 900;

interface Batch {
  readonly batchId: string;
  readonly file: string;
  readonly keys: readonly number[];
  readonly isAgain: boolean;
}

/** A file with a random part of all rows, in random order, in a random form. The cells depend only on the key. */
function randomFile(random: Random): { text: string; extension: string; keys: number[] } {
  const from = random.below(KEYS);
  const keys = Array.from({ length: 1 + random.below(400) }, (_, n) => (from + n) % KEYS);
  for (let at = keys.length - 1; at > 0; at--) {
    const other = random.below(at + 1);
    [keys[at], keys[other]] = [keys[other]!, keys[at]!];
  }
  const fields = ['ref', 'durationSeconds', 'description'];
  if (random.below(2) === 0) fields.reverse();
  const cell = (key: number, field: string): string | number =>
    field === 'ref' ? `k${key}` : field === 'durationSeconds' ? 60 + key : `row "${key}", é`;
  if (random.below(3) === 0) {
    const objects = keys.map((key) =>
      JSON.stringify(Object.fromEntries(fields.map((field) => [field, cell(key, field)]))),
    );
    return { text: objects.map((object) => `${object}\n`).join(''), extension: 'ndjson', keys };
  }
  const end = random.pick(['\n', '\r\n']);
  const header = fields.map((field) => (field === 'durationSeconds' ? `${field}:integer` : field)).join(',');
  const quoted = (text: string | number): string => `"${String(text).replaceAll('"', '""')}"`;
  const lines = keys.map((key) => fields.map((field) => quoted(cell(key, field))).join(','));
  return { text: [header, ...lines, ''].join(end), extension: 'csv', keys };
}

describe('files that overlap at random', () => {
  let stack: Stack;
  let service: RowService;
  beforeEach(async () => {
    service = await RowService.start();
    stack = await startWriteBackStack({ s3: true, baseUrl: service.url });
  });
  afterEach(async () => {
    await stopWriteBackStack(stack);
    await service.stop();
  });

  it(`write each key once, whatever stops their batches (seed ${SEED}, ${ROUNDS} rounds)`, async () => {
    const random = seededRandom(SEED);
    let worker = await startWorkerProcess(stack);
    const batches: Batch[] = [];
    const ran: string[] = [];

    async function start({ batchId, file, isAgain }: Batch): Promise<string> {
      const source = { resource: 'time-entries', file, keyColumn: 'ref', batchId };
      const input = { ...(await stage(stack, source)), readBack: false };
      const written = isAgain ? { written: 'again' as const } : {};
      const options = { taskQueue: stack.taskQueue };
      return (await startWriteBack(stack.temporal, { ...input, ...written }, options)).workflowId;
    }
    const follow = (workflowId: string): Promise<WriteBackResult> =>
      followWriteBack(stack.temporal, workflowId, { everyMs: 50 });
    const running = new Set<string>();

    async function isIdle(): Promise<boolean> {
      const states = await Promise.all(
        [...running].map((id) => stack.temporal.client.workflow.getHandle(id).describe()),
      );
      return states.every(({ status }) => status.name !== 'RUNNING');
    }

    /** Waits for some more records, or until no batch runs. */
    async function someLater(): Promise<void> {
      const enough = service.records.length + random.below(200);
      const isEnough = async () => service.records.length >= enough || (await isIdle());
      await until(isEnough, 'some rows are written');
    }

    /**
     * The service accepts the key no more, and after the end of all batches again. If it could be read, or if it accepted
     * rows of the same batch later, the refusals would be about single rows, and their outcomes.
     */
    async function refuseKey(): Promise<void> {
      service.respond = () => ({ status: 401, body: '{"message":"no"}' });
      service.isReadable = () => false;
      await until(isIdle, 'every batch has ended');
      service.isReadable = () => true;
    }

    for (let round = 0; round < ROUNDS; round++) {
      const isRepeat = batches.length > 0 && random.below(3) === 0;
      let batch: Batch;
      if (isRepeat) {
        batch = random.pick(batches);
      } else {
        const { text, extension, keys } = randomFile(random);
        const file = await fileIn(stack, text, extension);
        batch = { batchId: `b${round}`, file, keys, isAgain: random.below(8) === 0 };
        batches.push(batch);
      }
      service.respond = () => (random.below(40) === 0 ? 'drop' : null);
      const workflowId = await start(batch);
      running.add(workflowId);
      const handle = stack.temporal.client.workflow.getHandle(workflowId);
      const fate = random.pick(['end', 'cancel', 'terminate', 'refuse', 'kill', 'go on', 'go on']);
      ran.push(`${batch.batchId}${batch.isAgain ? ' again' : ''}: ${fate}`);
      if (fate !== 'end' && fate !== 'go on') await someLater();
      if (fate === 'cancel') await handle.cancel().catch(() => {});
      if (fate === 'terminate') await handle.terminate('test').catch(() => {});
      if (fate === 'refuse') await refuseKey();
      if (fate === 'kill') {
        worker.signal('SIGKILL');
        await worker.exited;
        worker = await startWorkerProcess(stack);
      }
      // The next batch may start while this one runs, or while its worker still sends.
      if (fate === 'go on' || fate === 'terminate') continue;
      await follow(workflowId).catch(() => {});
    }
    service.respond = () => null;
    for (const batch of batches) {
      const result = await follow(await start(batch)).catch((error: unknown) => error as WriteBackResult);
      ran.push(`${batch.batchId}: ${JSON.stringify(result.counts ?? String(result))}`);
    }
    // Once more, for the keys that another batch has resolved in the meantime.
    for (const batch of batches) {
      const result = await follow(await start(batch));
      expect(result, `${ran.join('\n')}`).toMatchObject({
        outcome: 'written',
        unsent: 0,
        counts: { unknown: 0 },
      });
    }
    const copies = new Map<string, number>();
    for (const { body } of service.records) {
      const ref = String(body.ref);
      copies.set(ref, (copies.get(ref) ?? 0) + 1);
    }
    for (const key of new Set(batches.flatMap(({ keys }) => keys))) {
      const again = batches.filter(({ isAgain, keys }) => isAgain && keys.includes(key)).length;
      const found = copies.get(`k${key}`) ?? 0;
      expect(found, `k${key}, ${again} batches with again\n${ran.join('\n')}`).toBeGreaterThanOrEqual(1);
      expect(found, `k${key}, ${again} batches with again\n${ran.join('\n')}`).toBeLessThanOrEqual(1 + again);
    }
  }, 600_000);
});
