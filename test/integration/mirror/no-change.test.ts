import { afterEach, describe, expect, inject, it } from 'vitest';
import { folderOf } from '../../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../../src/lake/documents/manifest.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.js';

const HOUR = 60 * 60_000;

describe('an export without changes', () => {
  let stack: Stack | undefined;
  let proxy: TcpProxy | undefined;
  afterEach(async () => {
    await stack?.stop();
    await proxy?.close();
  });

  /** Bytes between a worker and S3 during an increment without changes, for a number of rows. */
  async function measure(rows: number) {
    proxy = await startTcpProxy(new URL(inject('servers').s3Endpoint).host);
    stack = await startStack({
      simulator: { seed: 7, awkward: false, now: Date.now(), counts: { tasks: rows } },
      resources: '[tasks]',
      yaml: '    sync: { clock: service }\n',
      s3Endpoint: `http://${proxy.address}`,
    });
    // The overlap does not reach the changes in the hour of the seed.
    stack.simulator.admin.advance(HOUR);
    await stack.startWorker();
    expect((await stack.export()).runs[0]!.counts).toMatchObject({ inserted: rows });
    const whole = proxy.transferred();
    const before = await readPointer(stack.store, 'tasks');
    proxy.reset();
    expect((await stack.export()).runs[0]!.counts).toMatchObject({ fetched: 0, retained: rows, rows });
    const bytes = proxy.transferred();

    const after = await readPointer(stack.store, 'tasks');
    expect(after.snapshot).not.toBe(before.snapshot);
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
    const manifest = decodeManifest(await stack.store.read(after.snapshot), folderOf(after.snapshot));
    const rowBytes = manifest.parts.reduce((sum, part) => sum + part.bytes, 0);
    await stack.stop();
    await proxy.close();
    return { whole, bytes, rowBytes, parts: manifest.parts.length };
  }

  it('copies parts within the store: of the rows, the worker reads only the block indexes', async () => {
    const small = await measure(5_000);
    const large = await measure(50_000);
    expect(large.rowBytes).toBeGreaterThan(8 * small.rowBytes);
    // The proxy counts the traffic: it saw all rows of the first export.
    expect(large.whole.sent).toBeGreaterThan(large.rowBytes);
    const total = ({ bytes }: typeof large): number => bytes.sent + bytes.received;
    // An index has one entry for each block of rows, and is read to be checked.
    expect(total(large) - total(small)).toBeLessThan((large.rowBytes - small.rowBytes) / 50);
    expect(total(large)).toBeLessThan(large.rowBytes / 10);
  });
});
