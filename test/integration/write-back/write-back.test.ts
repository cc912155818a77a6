import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { followWriteBack } from '../../../src/temporal/follow/follow-write-back.js';
import { idempotencyKey } from '../../../src/write-back/idempotency-key.js';
import { readSnapshot } from '../../support/snapshot.js';
import { type Stack, until } from '../../support/stack.js';
import {
  fileIn,
  readReceipts,
  recordsOf,
  stage,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
  writeBack,
  writesSeen,
} from '../../support/write-back.js';

/** Rows of a batch that lasts until it is cancelled. */
const ROWS = 1000;

describe('writing time entries back', () => {
  let stack: Stack;
  let first: { stop(): Promise<void> };
  beforeEach(async () => {
    stack = await startWriteBackStack({ s3: true });
    first = await stack.startWorker();
  });
  afterEach(() => stopWriteBackStack(stack));

  it('creates each row once, with a receipt that names the record', async () => {
    const file = await fileIn(stack, timeEntriesCsv(300));
    const result = await writeBack(stack, { resource: 'time-entries', file });
    expect(result).toMatchObject({
      outcome: 'written',
      counts: { created: 300, rejected: 0, unknown: 0 },
      unsent: 0,
    });
    const receipts = await readReceipts(stack, result.batchId);
    const records = recordsOf(stack, 'time-entries');
    expect(records.length).toBe(300);
    expect(receipts.map(({ row }) => row)).toEqual(Array.from({ length: 300 }, (_, n) => String(n + 1)));
    const byId = new Map(records.map((record) => [record.id, record]));
    for (const [n, { id, outcome, http_status }] of receipts.entries()) {
      expect({ outcome, http_status }).toEqual({ outcome: 'created', http_status: '201' });
      expect(byId.get(id)).toMatchObject({ description: `no. ${n}`, billable: n % 2 === 0 });
    }
    const again = await writeBack(stack, { resource: 'time-entries', file });
    expect(again).toEqual(result);
    expect(writesSeen(stack)).toBe(300);
  });

  it('sends only the rows that are new when a batch gets a longer file', async () => {
    const source = { resource: 'time-entries', batchId: 'november' };
    const first = await writeBack(stack, { ...source, file: await fileIn(stack, timeEntriesCsv(120)) });
    expect(first.counts.created).toBe(120);
    // The new rows come first, so that every old one has another number.
    const [header, ...lines] = timeEntriesCsv(130).trimEnd().split('\n');
    const longer = [header, ...lines.slice(120), ...lines.slice(0, 120)].join('\r\n');
    const second = await writeBack(stack, { ...source, file: await fileIn(stack, longer) });
    expect(second).toMatchObject({ outcome: 'written', rows: 130, counts: { created: 130 } });
    expect(writesSeen(stack)).toBe(130);
    const receipts = await readReceipts(stack, 'november');
    expect(receipts.length).toBe(130);
    expect(new Set(receipts.map(({ id }) => id))).toEqual(
      new Set(recordsOf(stack, 'time-entries').map(({ id }) => id)),
    );
    // And the first file again: it knows nothing of the second, and still nothing is written.
    const third = await writeBack(stack, { ...source, file: await fileIn(stack, timeEntriesCsv(120)) });
    expect(third).toMatchObject({ outcome: 'written', rows: 120, counts: { created: 120 } });
    expect(writesSeen(stack)).toBe(130);
  });

  it('continues when the service rejects a row, and reports the reason', async () => {
    const csv = timeEntriesCsv(60).split('\n');
    csv[7] = 'wrong,-5,2026-11-20T08:00:00Z,true';
    const file = await fileIn(stack, csv.join('\n'));
    const result = await writeBack(stack, { resource: 'time-entries', file });
    expect(result).toMatchObject({ outcome: 'incomplete', counts: { created: 59, rejected: 1 } });
    const receipts = await readReceipts(stack, result.batchId);
    expect(receipts[6]).toMatchObject({
      row: '7',
      outcome: 'rejected',
      http_status: '422',
      id: null,
      message: 'durationSeconds must be a non-negative integer.',
    });
  });

  it('does not count a conflict of a row with itself as a rejection', async () => {
    const file = await fileIn(
      stack,
      'ref,durationSeconds:integer,startedAt\na,60,2026-11-20T08:00:00Z\nb,60,2026-11-20T08:00:00Z\n',
    );
    const fault = (ref: string, kind: 'lose' | 'conflict') =>
      stack.simulator.admin.faults.add({
        match: { idempotencyKey: idempotencyKey(stack.connection, 'conflicts', ref) },
        remaining: 1,
        fault: kind === 'lose' ? { kind: 'lose-response' } : { kind: 'status', status: 409 },
      });
    // Of row a the record is made and the answer lost; the service then answers as to a request that is under way.
    fault('a', 'lose');
    fault('a', 'conflict');
    fault('b', 'conflict');
    const result = await writeBack(stack, {
      resource: 'time-entries',
      file,
      keyColumn: 'ref',
      batchId: 'conflicts',
    });
    expect(result.counts).toMatchObject({ created: 1, rejected: 1 });
    const receipts = await readReceipts(stack, 'conflicts');
    expect(receipts.map(({ outcome }) => outcome)).toEqual(['created', 'rejected']);
    expect(recordsOf(stack, 'time-entries').map(({ id }) => id)).toEqual([receipts[0]!.id]);
  });

  it('counts equal rows separately, and uses a key column as the key', async () => {
    const twins = await fileIn(stack, `${timeEntriesCsv(1)}${timeEntriesCsv(1).split('\n')[1]}\n`);
    const both = await writeBack(stack, { resource: 'time-entries', file: twins });
    expect(both.counts.created).toBe(2);

    const row = (ref: string, seconds: number) =>
      `{"ref":"${ref}","durationSeconds":${seconds},"startedAt":"2026-11-20T08:00:00Z"}\n`;
    const keyed = { resource: 'time-entries', keyColumn: 'ref', batchId: 'keyed' };
    const text = row('a', 60) + row('b', 60) + row('a', 60) + row('b', 90);
    const first = await writeBack(stack, { ...keyed, file: await fileIn(stack, text, 'ndjson') });
    expect(first.counts).toMatchObject({ created: 2, skipped: 1, rejected: 1 });
    const receipts = await readReceipts(stack, 'keyed');
    expect(receipts.map(({ key, outcome }) => [key, outcome])).toEqual([
      ['a', 'created'],
      ['b', 'created'],
      ['a', 'skipped'],
      ['b', 'rejected'],
    ]);
    const changed = await writeBack(stack, { ...keyed, file: await fileIn(stack, row('a', 61), 'ndjson') });
    expect(changed.counts).toMatchObject({ created: 0, rejected: 1 });
    expect(recordsOf(stack, 'time-entries').length).toBe(4);
    await expect(
      writeBack(stack, {
        ...keyed,
        keyColumn: 'startedAt',
        file: await fileIn(stack, row('a', 60), 'ndjson'),
      }),
    ).rejects.toThrow('was started with key column ref');
  });

  it('stops at a refused key, and continues with a valid one', async () => {
    const { admin } = stack.simulator;
    admin.faults.add({ match: { method: 'POST' }, fault: { kind: 'latency', ms: 5 } });
    const file = await fileIn(stack, timeEntriesCsv(400));
    const running = writeBack(stack, { resource: 'time-entries', file });
    await until(() => recordsOf(stack, 'time-entries').length > 100, 'rows are written');
    admin.keys.revoke('demo');
    const refused = await running;
    expect(refused.outcome).toBe('refused');
    expect(refused.error).toMatchObject({ type: 'Refused', scope: 'key' });
    expect(refused.counts.created).toBe(recordsOf(stack, 'time-entries').length);
    expect(refused.counts.created + refused.unsent).toBe(400);
    const seen = writesSeen(stack);
    // Eight refused rows, those in flight, and twelve from all over the rest.
    expect(seen - refused.counts.created).toBeLessThanOrEqual(8 + 8 + 12);

    admin.keys.add({ key: DEMO_KEY, name: 'demo', organization: 'acme', grants: ['*'] });
    const result = await writeBack(stack, { resource: 'time-entries', file });
    expect(result).toMatchObject({ outcome: 'written', counts: { created: 400 } });
    expect(recordsOf(stack, 'time-entries').length).toBe(400);
    // No row that had its receipt was sent again.
    expect(writesSeen(stack)).toBe(seen + 400 - refused.counts.created);
  });

  it('reports an unknown path as such, and does not reject the rows', async () => {
    const file = await fileIn(stack, timeEntriesCsv(40));
    const wrong = stack.settings.connections[0]!;
    await first.stop();
    const path = {
      ...wrong.writeBack,
      'time-entries': { ...wrong.writeBack['time-entries'], path: 'time-entry' },
    };
    const worker = await stack.startWorker({
      ...stack.settings,
      connections: [{ ...wrong, writeBack: path }],
    });
    const failed = await writeBack(stack, { resource: 'time-entries', file });
    expect(failed).toMatchObject({ outcome: 'failed', error: { type: 'Configuration' }, unsent: 40 });
    expect(failed.error!.message).toContain('writeBack.time-entries');
    await worker.stop();
    await stack.startWorker();
    const result = await writeBack(stack, { resource: 'time-entries', file });
    expect(result).toMatchObject({ outcome: 'written', counts: { created: 40 } });
  });

  it('stops when it is cancelled, keeps its receipts, and continues when started again', async () => {
    stack.simulator.admin.faults.add({ match: { method: 'POST' }, fault: { kind: 'latency', ms: 100 } });
    const input = await stage(stack, {
      resource: 'time-entries',
      file: await fileIn(stack, timeEntriesCsv(ROWS)),
    });
    const wish = { ...input, readBack: false };
    const { workflowId } = await startWriteBack(stack.temporal, wish, { taskQueue: stack.taskQueue });
    await until(() => recordsOf(stack, 'time-entries').length > 60, 'rows are written');
    await stack.temporal.client.workflow.getHandle(workflowId).cancel();
    const cancelled = await followWriteBack(stack.temporal, workflowId, { everyMs: 50 });
    expect(cancelled.outcome).toBe('cancelled');
    const written = recordsOf(stack, 'time-entries').length;
    expect(written).toBeLessThan(ROWS);
    expect(cancelled.counts).toMatchObject({ created: written, unknown: 0 });
    expect((await readReceipts(stack, input.batchId)).length).toBe(written);
    stack.simulator.admin.faults.clear();
    await startWriteBack(stack.temporal, wish, { taskQueue: stack.taskQueue });
    const result = await followWriteBack(stack.temporal, workflowId, { everyMs: 50 });
    expect(result).toMatchObject({ outcome: 'written', counts: { created: ROWS } });
    expect(writesSeen(stack)).toBe(ROWS);
  });

  it('makes written records appear in the lake', async () => {
    const file = await fileIn(stack, timeEntriesCsv(25));
    const result = await writeBack(stack, { resource: 'time-entries', file }, {});
    expect(result).toMatchObject({ outcome: 'written', warnings: [] });
    const { rows } = await readSnapshot(stack.store, 'time-entries');
    expect(new Set(rows.map(({ id }) => id))).toEqual(
      new Set((await readReceipts(stack, result.batchId)).map(({ id }) => id)),
    );
  });

  it('uses types from the published snapshot, and keeps number literals', async () => {
    stack.simulator.admin.create(
      'time-entries',
      '{"startedAt":"2026-11-20T08:00:00Z","durationSeconds":60,"rate":1.5,"billable":true,"tags":["a"]}',
    );
    await stack.export();
    const csv =
      'startedAt,durationSeconds,rate,billable,tags,big:integer,note,empty\n' +
      '2026-11-20T09:00:00Z,120,12.50,TRUE,"[ ""x"" , 9007199254740993 ]",9007199254740993,"",\n';
    const result = await writeBack(stack, {
      resource: 'time-entries',
      file: await fileIn(stack, `\ufeff${csv}`),
    });
    expect(result.outcome).toBe('written');
    const [written] = stack.simulator.admin.records('time-entries').filter((text) => text.includes('12.50'));
    expect(written).toContain(
      '"startedAt":"2026-11-20T09:00:00Z","durationSeconds":120,"rate":12.50,"billable":true,"tags":["x",9007199254740993],"big":9007199254740993,"note":""',
    );
    expect(written).not.toContain('"empty"');
  });

  it('keeps rows and the key out of histories, receipts and messages', async () => {
    const marker = 'Marker-91c7';
    const { admin } = stack.simulator;
    admin.configure({ echoAuthorization: true });
    const rule = admin.faults.add({
      match: { method: 'POST' },
      remaining: 3,
      fault: { kind: 'status', status: 503 },
    });
    const csv = `description,durationSeconds:integer,startedAt\n${marker},60,2026-11-20T08:00:00Z\n${marker},-1,x\n`;
    const result = await writeBack(stack, { resource: 'time-entries', file: await fileIn(stack, csv) });
    expect(result.counts).toMatchObject({ created: 1, rejected: 1 });
    expect(admin.faults.hits(rule)).toBe(3);
    admin.keys.revoke('demo');
    const other = await writeBack(stack, {
      resource: 'time-entries',
      file: await fileIn(stack, `${csv.replaceAll('60', '61')}${marker},1,y\n`),
    });
    expect(other.outcome).toBe('refused');
    for (const { batchId } of [result, other]) {
      const receipts = JSON.stringify(await readReceipts(stack, batchId));
      expect(receipts).not.toContain(DEMO_KEY);
    }
    const workflows: { workflowId: string; runId: string }[] = [];
    // The two batches and their lock. The server lists a workflow a moment later.
    await until(async () => {
      workflows.length = 0;
      for await (const workflow of stack.workflows())
        if (workflow.type !== 'workerConfigurationWorkflow') workflows.push(workflow);
      return workflows.length === 3;
    }, 'three workflows are listed');
    for (const { workflowId, runId } of workflows) {
      const { events } = await stack.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
      const text = payloadsOf(events!);
      expect(text).not.toContain(marker);
      expect(text).not.toContain(DEMO_KEY);
    }
  });
});

/** All payloads and texts of a history. */
function payloadsOf(events: readonly object[]): string {
  const out: string[] = [];
  const visit = (value: unknown): void => {
    if (value instanceof Uint8Array) out.push(Buffer.from(value).toString('latin1'));
    else if (typeof value === 'string') out.push(value);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit);
  };
  events.forEach(visit);
  return out.join('\n');
}
