import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WriteBackResult } from '../../../src/core/contract/write-back.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import type { Fault } from '../../../src/simulator/faults.js';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { drawn, longOnly } from '../../support/seeds.js';
import { quickRetries, shortenBackOffs } from '../../support/short-waits.js';
import { type Stack, until } from '../../support/stack.js';
import {
  cancelWriteBack,
  fileIn,
  readReceipts,
  recordsOf,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
  writeBack,
  writesSeen,
} from '../../support/write-back.js';

shortenBackOffs();

/** A worker looks at the file of a key again after three seconds. */
const KEY_CACHE_MS = 3_000;
const POST = { method: 'POST', resource: 'time-entries' } as const;

describe('a row that may have been sent', () => {
  let stack: Stack;
  let batch: { resource: string; file: string };
  let keyFile: string;
  let worker: { stop(): Promise<void> };

  beforeEach(async () => {
    stack = await startWriteBackStack();
    batch = { resource: 'time-entries', file: await fileIn(stack, timeEntriesCsv(1)) };
    keyFile = join(stack.folder, 'key');
    await writeFile(keyFile, DEMO_KEY);
  });
  afterEach(() => stopWriteBackStack(stack));

  async function work(change?: (settings: ConnectionSettings) => Partial<ConnectionSettings>): Promise<void> {
    const [connection] = stack.settings.connections;
    const changed = { ...connection!, apiKey: { file: keyFile }, ...change?.(connection!) };
    const worksOn = { ...quickRetries.worker, shutdownGraceTime: 2_000 };
    worker = await stack.startWorker({ ...stack.settings, connections: [changed] }, { worker: worksOn });
  }

  /** For errors that the connector retries until it gives up. */
  const givesUpSoon = ({ retries }: ConnectionSettings) => ({
    retries: { ...retries, giveUpAfterMs: 1_500 },
  });

  /** For a service that may forget the key of a request after a millisecond. */
  const forgetsKeys = (settings: ConnectionSettings) => ({
    writeBack: { ...settings.writeBack, unknownAfterMs: 1 },
  });

  const records = (): number => recordsOf(stack, 'time-entries').length;

  /** Runs the command again after the idempotency key has expired. */
  async function runAgainLater(): Promise<WriteBackResult> {
    const { admin } = stack.simulator;
    admin.faults.clear();
    admin.configure({ idempotencyRetentionMs: 0 });
    await work(forgetsKeys);
    return writeBack(stack, batch);
  }

  async function expectNeverTwice(first: WriteBackResult, written: number, says: RegExp): Promise<void> {
    expect(first).toMatchObject({ counts: { created: 0, unknown: 1 }, unsent: 0 });
    expect(records()).toBe(written);
    const [receipt] = await readReceipts(stack, first.batchId);
    // A slow machine may end the attempt before it reports its reason.
    const reason = new RegExp(`${says.source}|stopped before the response arrived`);
    expect(receipt).toMatchObject({ outcome: 'unknown', message: expect.stringMatching(reason) });
    // An attempt that Temporal has given up may still be retrying.
    await worker.stop();
    const seen = writesSeen(stack);
    const again = await runAgainLater();
    expect(again).toMatchObject({ outcome: 'incomplete', counts: { created: 0, unknown: 1 }, unsent: 0 });
    expect(writesSeen(stack)).toBe(seen);
    expect(records()).toBe(written);
  }

  it('is unknown when its response is lost and the API key is removed before the retry', async () => {
    await work();
    const { admin } = stack.simulator;
    admin.faults.add({ match: POST, remaining: 1, fault: { kind: 'lose-response' } });
    admin.beforeAnswer(POST, async () => {
      await rm(keyFile);
      const goneAt = Date.now();
      await until(() => Date.now() > goneAt + KEY_CACHE_MS, 'the worker has to read the key again');
    });
    const first = await writeBack(stack, batch);
    expect(first).toMatchObject({ outcome: 'failed', error: { type: 'Configuration' } });
    await writeFile(keyFile, DEMO_KEY);
    await expectNeverTwice(first, 1, /the outcome is unknown: .*key cannot be read/);
  });

  it('is unknown when its response is lost and the retry is refused', async () => {
    // A rejected key in a file is read again for half a minute, one in the environment is not.
    await work(({ apiKey }) => ({ apiKey }));
    const { admin } = stack.simulator;
    admin.faults.add({ match: POST, remaining: 1, fault: { kind: 'lose-response' } });
    admin.faults.add({ match: POST, fault: { kind: 'status', status: 401 } });
    const first = await writeBack(stack, batch);
    expect(first).toMatchObject({ outcome: 'refused', error: { type: 'Refused', scope: 'key' } });
    await expectNeverTwice(first, 1, /the outcome is unknown: Simulated fault/);
  });

  // In `npm test`, the retry that is refused, above, and test/unit/activities/send-attempt.test.ts.
  longOnly('is unknown when its response is lost and the retry gets a 404', async () => {
    await work(givesUpSoon);
    const { admin } = stack.simulator;
    admin.faults.add({ match: POST, remaining: 1, fault: { kind: 'lose-response' } });
    admin.faults.add({ match: POST, fault: { kind: 'status', status: 404 } });
    await expectNeverTwice(await writeBack(stack, batch), 1, /the outcome is unknown/);
  });

  const spoilt: [string, Fault, number, RegExp][] = [
    ['is cut off', { kind: 'truncated-json' }, 1, /answered 201 with incomplete or invalid JSON/],
    ['cannot be decoded', { kind: 'bad-gzip' }, 1, /not valid gzip/],
    ['breaks off', { kind: 'reset-mid-body' }, 1, /broke/],
    ['is no JSON', { kind: 'status', status: 200, body: 'OK' }, 0, /answered 200 without a record: OK/],
    ['is a web page', { kind: 'html' }, 0, /answered 200 with a web page/],
    ['never comes, for the connection is reset', { kind: 'reset' }, 0, /broke/],
  ];
  it.each(drawn(spoilt, 1))('is unknown when its response %s', async (_, fault, written, says) => {
    await work(givesUpSoon);
    stack.simulator.admin.faults.add({ match: POST, fault });
    await expectNeverTwice(await writeBack(stack, batch), written, says);
  });

  it('is unknown when the worker is stopped before its response arrives', async () => {
    await work();
    const { admin } = stack.simulator;
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let stopping: Promise<void> | undefined;
    admin.faults.add({ match: POST, fault: { kind: 'lose-response' } });
    admin.beforeAnswer(POST, () => {
      stopping = worker.stop();
      return held;
    });
    const writing = writeBack(stack, batch);
    await until(() => stopping !== undefined, 'the row is under way');
    await stopping;
    release();
    await work(forgetsKeys);
    // The service has not processed the request, but the worker cannot know that.
    await expectNeverTwice(await writing, 0, /the outcome is unknown/);
  });

  it('gets its original result when the command runs again before the key expires', async () => {
    await work(givesUpSoon);
    const { admin } = stack.simulator;
    admin.faults.add({ match: POST, fault: { kind: 'truncated-json' } });
    const first = await writeBack(stack, batch);
    expect(first.counts).toMatchObject({ created: 0, unknown: 1 });
    admin.faults.clear();
    expect(await writeBack(stack, batch)).toMatchObject({ outcome: 'written', counts: { created: 1 } });
    expect(records()).toBe(1);
  });
});

describe('a row that cannot have been sent', () => {
  let stack: Stack;
  afterEach(() => stopWriteBackStack(stack));

  it('is sent even after a long delay, because no connection to the service was established', async () => {
    stack = await startWriteBackStack({ yaml: '    writeBack: { unknownAfter: 1s }\n' });
    const batch = { resource: 'time-entries', file: await fileIn(stack, timeEntriesCsv(3)) };
    let refused = 0;
    // Accepts connections, and closes each one during its TLS handshake.
    const deaf = createServer((socket) => {
      refused++;
      socket.on('error', () => undefined);
      socket.once('data', () => socket.resetAndDestroy());
    });
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', () => resolve()));
    stack.beforeStop(async () => void deaf.close());
    const { port } = deaf.address() as { port: number };
    const connection = { ...stack.settings.connections[0]!, baseUrl: `https://127.0.0.1:${port}` };
    const lost = await stack.startWorker({ ...stack.settings, connections: [connection] });
    const first = await cancelWriteBack(stack, batch, () => refused > 2, 'the worker tries to connect');
    const endedAt = Date.now();
    // The attempt may fail before the cancellation reaches it.
    expect(['cancelled', 'failed']).toContain(first.outcome);
    expect(first).toMatchObject({ counts: { created: 0, unknown: 0 }, unsent: 3 });
    await lost.stop();
    await stack.startWorker();
    await until(() => Date.now() > endedAt + 1_000, 'a key that was sent may have been forgotten');
    const moved = { ...batch, system: 'same' } as const;
    expect(await writeBack(stack, moved)).toMatchObject({ outcome: 'written', counts: { created: 3 } });
    expect(recordsOf(stack, 'time-entries').length).toBe(3);
  });
});
