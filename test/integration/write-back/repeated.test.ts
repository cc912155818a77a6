import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { writeBackWorkflowId } from '../../../src/core/contract/write-back.js';
import { toObjectKey } from '../../../src/lake/store/index.js';
import { historyText } from '../../support/history-text.js';
import { RowService } from '../../support/row-service.js';
import { drawn, longOnly } from '../../support/seeds.js';
import { type Stack, until } from '../../support/stack.js';
import {
  cancelWriteBack,
  fileIn,
  readReceipts,
  stage,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
  writeBack,
} from '../../support/write-back.js';

/** Rows of a batch that is cancelled twice. */
const ROWS = 500;

describe('a batch that is repeated immediately', () => {
  let stack: Stack;
  let service: RowService;
  beforeEach(async () => {
    service = await RowService.start();
    // The service forgets each key immediately: a row that is sent twice is two records.
    service.retentionMs = -1;
    stack = await startWriteBackStack({ baseUrl: service.url });
    await stack.startWorker();
  });
  afterEach(async () => {
    await stopWriteBackStack(stack);
    await service.stop();
  });

  const runIds = async (batchId: string): Promise<string[]> => {
    const workflowId = writeBackWorkflowId({
      connection: stack.connection,
      resource: 'time-entries',
      batchId,
    });
    const ids: string[] = [];
    for await (const { runId } of stack.temporal.client.workflow.list({
      query: `WorkflowId = '${workflowId}'`,
    }))
      ids.push(runId);
    return ids.sort();
  };

  /** Accepts this many more rows, and then refuses the API key. */
  function acceptOnly(rows: number): void {
    const most = service.records.length + rows;
    const body = '{"message":"Unknown key."}';
    service.respond = () => (service.records.length < most ? null : { status: 401, body });
  }

  it('writes each row once and keeps every receipt, although its run ids begin with the same digits', async () => {
    const batch = { resource: 'time-entries', file: await fileIn(stack, timeEntriesCsv(60)) };
    let batchId = '';
    const written: number[] = [];
    for (const rows of [20, 20]) {
      acceptOnly(rows);
      const refused = await writeBack(stack, batch);
      batchId = refused.batchId;
      expect(refused.outcome).toBe('refused');
      written.push(service.records.length);
      expect(refused.counts.created).toBe(written.at(-1));
      expect((await readReceipts(stack, batchId)).length).toBe(written.at(-1));
    }
    service.respond = () => null;
    const result = await writeBack(stack, batch);
    expect(result).toMatchObject({ outcome: 'written', counts: { created: 60 }, unsent: 0 });
    const { records } = service;
    expect(new Set(records.map(({ body }) => body.description)).size).toBe(60);
    expect(records.length).toBe(60);
    const receipts = await readReceipts(stack, batchId);
    expect(receipts.map(({ id }) => id).sort()).toEqual(records.map(({ id }) => id).sort());

    // The case is only the reported one if the first digits are equal, as they are for about a minute.
    let ids: string[] = [];
    await until(async () => {
      ids = await runIds(batchId);
      return ids.length === 3;
    }, 'the server lists three runs');
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    const logs: string[] = [];
    for await (const { key } of stack.store.list(`_write-back/${batchId}/_batch/plans/`))
      if (key.includes('/log/')) logs.push(key);
    for (const id of ids)
      expect(
        logs.some((key) => key.includes(id)),
        id,
      ).toBe(true);
  });

  // write-back.test.ts: "stops when it is cancelled, keeps its receipts, and continues when started again".
  longOnly('writes each row once after two cancellations in a row', async () => {
    const batch = { resource: 'time-entries', file: await fileIn(stack, timeEntriesCsv(ROWS)) };
    for (let stop = 1; stop <= 2; stop++) {
      const enough = service.records.length + 60;
      const count = (): number => service.records.length;
      // From then on so slowly that the batch cannot end before the cancellation reaches it.
      const pauseMs = (): number => (count() < enough ? 5 : 1_000);
      service.respond = () => new Promise((resolve) => setTimeout(() => resolve(null), pauseMs()));
      const cancelled = await cancelWriteBack(stack, batch, () => count() >= enough, 'rows are written');
      expect(cancelled.outcome).toBe('cancelled');
      expect((await readReceipts(stack, cancelled.batchId)).length).toBe(
        cancelled.counts.created + cancelled.counts.unknown,
      );
      expect(cancelled.counts.created + cancelled.counts.unknown).toBeGreaterThanOrEqual(count());
    }
    service.respond = () => null;
    // Only rows in doubt may be sent again, and there are none after an orderly stop.
    expect(await writeBack(stack, batch)).toMatchObject({ outcome: 'written', counts: { created: ROWS } });
    expect(service.records.length).toBe(ROWS);
  });

  const kinds: [string, RegExp][] = [
    ['the plan', /\/plan\.json$/],
    ['a chunk of rows', /\/rows\/.*\.ndjson$/],
    ['the list of hashes', /\/hashes\.bin$/],
    ['a log', /\/log\/.*\.json$/],
    ['the settings of the batch', /\/batch\.json$/],
  ];
  // test/unit/write-back/sealed.test.ts changes each byte of such objects.
  it.each(drawn(kinds, 1, ([what]) => what === 'the plan'))(
    'sends nothing if %s is damaged, and quotes nothing of it',
    async (_, pattern) => {
      const csv = timeEntriesCsv(60).replaceAll('no. ', 'Marker-91c7 ');
      const batch = { resource: 'time-entries', file: await fileIn(stack, csv) };
      acceptOnly(30);
      const { batchId } = await writeBack(stack, batch);
      service.respond = () => null;
      const [seen, records] = [service.writes.length, service.records.length];
      const objects: ObjectKey[] = [];
      for await (const { key } of stack.store.list(`_write-back/${batchId}/`))
        if (pattern.test(key)) objects.push(key);
      expect(objects.length).toBeGreaterThan(0);
      for (const key of objects) {
        const body = await stack.store.read(key);
        const changed = Buffer.from(body.toString('latin1').replace(/[1-9]/, '0'), 'latin1');
        const damages = [body.subarray(0, body.length / 2), Buffer.from('{}'), changed, Buffer.alloc(0)];
        for (const damaged of drawn(damages, 1, (one) => one === changed)) {
          await stack.store.write(key, damaged);
          const result = await writeBack(stack, batch).catch((error: Error) => error);
          const message = result instanceof Error ? result.message : (result.error?.message ?? '');
          if (!(result instanceof Error)) expect(result).toMatchObject({ error: { type: 'Lake' } });
          expect(message).toContain(key);
          expect(message).toContain('is damaged');
          expect(message).not.toContain('Marker');
        }
        await stack.store.write(key, body);
      }
      expect([service.writes.length, service.records.length]).toEqual([seen, records]);
      const workflowId = writeBackWorkflowId({
        connection: stack.connection,
        resource: 'time-entries',
        batchId,
      });
      for (const runId of await runIds(batchId)) {
        const history = await stack.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
        expect(historyText(history)).not.toContain('Marker');
      }
      expect(await writeBack(stack, batch)).toMatchObject({ outcome: 'written', counts: { created: 60 } });
      expect(service.records.length).toBe(60);
    },
  );

  it('sends nothing if its copy of the input is damaged', async () => {
    const file = await fileIn(stack, timeEntriesCsv(10));
    const { batchId } = await writeBack(stack, { resource: 'time-entries', file, batchId: 'first' });
    const seen = service.writes.length;
    const other = await fileIn(stack, timeEntriesCsv(10, 100));
    const input = await stage(stack, { resource: 'time-entries', file: other, batchId });
    const body = await stack.store.read(input.input);
    const changed = Buffer.from(body.toString('utf8').replace('no. 104', 'no. 904'));
    await stack.store.write(toObjectKey(input.input), changed);
    const result = await writeBack(stack, { resource: 'time-entries', file: other, batchId });
    expect(result).toMatchObject({ outcome: 'failed', error: { type: 'Lake' } });
    expect(service.writes.length).toBe(seen);
  });
});
