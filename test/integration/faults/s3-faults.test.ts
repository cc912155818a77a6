import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { toObjectKey } from '../../../src/lake/store/index.js';
import { type FaultyStack, startFaultyStack } from '../../support/faulty-stack.js';
import { expectMirrored } from '../../support/mirrored.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import { readPointer } from '../../support/snapshot.js';
import { until } from '../../support/stack.js';

shortenBackOffs();

let faulty: FaultyStack;
afterEach(() => faulty?.stop());

describe('credentials that expire', () => {
  it('delay a run, which continues at the same position once they are valid', async () => {
    faulty = await startFaultyStack();
    await faulty.stack.startWorker();
    const expired = faulty.s3.add({ after: 8, fault: { kind: 'status', status: 400, code: 'ExpiredToken' } });
    const exporting = faulty.stack.export();
    await until(() => expired.hits > 3, 'the credentials have expired');
    faulty.s3.clear();
    const result = await exporting;
    expect(result.outcome, JSON.stringify(result.runs)).toBe('published');
    await expectMirrored(faulty.stack, 'tasks');
  });

  it('are replaced by the new credentials of the machine, without a restart of the worker', async () => {
    faulty = await startFaultyStack();
    const { stack, s3, access } = faulty;
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'old', AWS_SESSION_TOKEN: 'old' });
    await stack.startWorker();
    const fault = { kind: 'status', status: 400, code: 'ExpiredToken' } as const;
    const expired = s3.add({ signedBy: 'old', fault });
    const exporting = stack.export();
    await until(() => expired.hits > 0, 'the old credentials have been refused');
    process.env.AWS_ACCESS_KEY_ID = access.accessKeyId;
    delete process.env.AWS_SESSION_TOKEN;
    const result = await exporting;
    expect(result.outcome, JSON.stringify(result.runs)).toBe('published');
  });
});

describe('a store without conditional writes', () => {
  it.each([
    ['drops them', { kind: 'ignore-conditions' }, /ignores the conditions of conditional writes/],
    [
      'does not know them',
      { kind: 'status', status: 501, code: 'NotImplemented' },
      /rejects conditional writes/,
    ],
  ] as const)(
    'a store without conditional writes that %s is rejected before anything is written',
    async (_, fault, message) => {
      faulty = await startFaultyStack();
      await faulty.stack.startWorker();
      faulty.s3.add({ conditional: true, fault });
      const { runs } = await faulty.stack.export();
      for (const run of runs) {
        expect(run).toMatchObject({ outcome: 'failed', error: { type: 'Configuration' } });
        expect(run.error!.message).toMatch(message);
        expect(run.error!.message).toContain('Use AWS S3');
      }
      const files = await readdir(faulty.stack.lakeFolder, { recursive: true, withFileTypes: true }).catch(
        () => [],
      );
      expect(files.filter((file) => file.isFile())).toEqual([]);
    },
  );

  it('is the first thing to repair, even if the service refuses the run', async () => {
    faulty = await startFaultyStack();
    await faulty.stack.startWorker();
    faulty.s3.add({ fault: { kind: 'ignore-conditions' } });
    faulty.stack.simulator.admin.faults.add({ match: {}, fault: { kind: 'status', status: 403 } });
    const { runs } = await faulty.stack.export();
    for (const run of runs) expect(run.error?.message).toMatch(/ignores the conditions/);
  });

  it('may refuse to remove what the probe has written', async () => {
    faulty = await startFaultyStack();
    const { stack, s3 } = faulty;
    await stack.startWorker();
    const denied = { kind: 'status', status: 403, code: 'AccessDenied' } as const;
    const removal = s3.add({ method: 'POST', body: /_probe-/, fault: denied });
    s3.add({ method: 'DELETE', path: /_probe-/, fault: denied });
    const listing = s3.add({ method: 'GET', path: /prefix=[^&]*_probe-/, fault: denied });
    expect((await stack.export()).outcome).toBe('published');
    expect(removal.hits).toBeGreaterThan(0);
    expect(listing.hits).toBeGreaterThan(0);
  });

  it('is probed once per worker and connection', async () => {
    faulty = await startFaultyStack();
    const { stack, s3 } = faulty;
    await stack.startWorker();
    const trouble = { kind: 'status', status: 500, code: 'InternalError' } as const;
    const first = s3.add({ path: /_probe-/, remaining: 1, fault: trouble });
    expect((await stack.export()).outcome).toBe('published');
    expect(first.hits).toBe(1);
    const again = s3.add({ path: /_probe-/, fault: trouble });
    expect((await stack.export()).outcome).toBe('published');
    expect(again.hits).toBe(0);
    expect((await readPointer(stack.store, 'tasks')).rows).toBe(120);
  });

  it('is probed with an object that is removed, even if the worker dies during the probe', async () => {
    faulty = await startFaultyStack();
    const { stack } = faulty;
    const [old, young] = ['_staging/_probe-1', '_staging/_probe-2'].map(toObjectKey);
    for (const key of [old!, young!]) await stack.store.write(key, Buffer.from('{}'));
    const longAgo = new Date(Date.now() - 2 * 24 * 60 * 60_000);
    await utimes(join(stack.lakeFolder, old!), longAgo, longAgo);
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    expect(await stack.store.head(old!)).toBeNull();
    // It may belong to another worker that is probing now.
    expect(await stack.store.head(young!)).not.toBeNull();
  });
});
