import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

const WORKFLOWS = fileURLToPath(new URL('../../support/waiting-workflow.mjs', import.meta.url));
const HOUR = 3_600_000;

describe('waits that share a timer', () => {
  const taskQueue = `waiting-${randomUUID()}`;
  let native: NativeConnection;
  let connection: Connection;
  let client: Client;
  let worker: Worker;
  let running: Promise<void>;

  beforeAll(async () => {
    const address = inject('servers').temporalAddress;
    native = await NativeConnection.connect({ address });
    connection = await Connection.connect({ address });
    client = new Client({ connection });
    worker = await Worker.create({ connection: native, taskQueue, workflowsPath: WORKFLOWS });
    running = worker.run();
  });
  afterAll(async () => {
    worker?.shutdown();
    await running;
    await Promise.all([native?.close(), connection?.close()]);
  });

  const start = (...times: number[]) =>
    client.workflow.start('waiting', { workflowId: randomUUID(), taskQueue, args: [times] });

  async function timers(handle: Awaited<ReturnType<typeof start>>) {
    const { events } = await handle.fetchHistory();
    return {
      started: events!.filter((event) => event.timerStartedEventAttributes).length,
      fired: events!.filter((event) => event.timerFiredEventAttributes).length,
      canceled: events!.filter((event) => event.timerCanceledEventAttributes).length,
    };
  }

  it('end at their times, with one timer for equal times', async () => {
    const handle = await start(300, 300, 300);
    for (const waited of await handle.result()) expect(waited).toBeGreaterThanOrEqual(300);
    expect(await timers(handle)).toEqual({ started: 1, fired: 1, canceled: 0 });
  });

  it('end at their times if these differ, and if a later one came first', async () => {
    const handle = await start(HOUR, 200);
    await expect.poll(async () => (await timers(handle)).started).toBe(2);
    await handle.signal('release');
    const [long, short] = (await handle.result()) as number[];
    expect(short).toBeGreaterThanOrEqual(200);
    expect(long).toBeLessThan(HOUR);
    expect(await timers(handle)).toEqual({ started: 2, fired: 1, canceled: 1 });
  });

  it('end as soon as their condition holds, and leave no timer', async () => {
    const handle = await start(HOUR, HOUR);
    await handle.signal('release');
    for (const waited of await handle.result()) expect(waited).toBeLessThan(HOUR);
    const { started, canceled } = await timers(handle);
    expect(started).toBe(canceled);
  });

  it('end with the cancellation of the workflow, and leave no timer', async () => {
    const handle = await start(HOUR, 2 * HOUR);
    await expect.poll(async () => (await timers(handle)).started).toBe(1);
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    expect(await timers(handle)).toEqual({ started: 1, fired: 0, canceled: 1 });
  });
});
