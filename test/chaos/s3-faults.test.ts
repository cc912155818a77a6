import { DeleteBucketCommand } from '@aws-sdk/client-s3';
import { afterEach, describe, expect, it } from 'vitest';
import { ensureBucket } from '../../src/servers/index.js';
import type { S3FaultRule } from '../support/faulty-s3.js';
import {
  addLargeRecords,
  expectNothingLeft,
  type FaultyStack,
  startFaultyStack,
} from '../support/faulty-stack.js';
import { expectMirrored } from '../support/mirrored.js';

let faulty: FaultyStack;
afterEach(() => faulty?.stop());

describe('an export with transient store errors', () => {
  const cases: readonly (readonly [string, readonly S3FaultRule[]])[] = [
    [
      'SlowDown, more often than one request is repeated',
      [
        { method: 'PUT', remaining: 9, fault: { kind: 'status', status: 503, code: 'SlowDown' } },
        { method: 'GET', remaining: 9, fault: { kind: 'status', status: 503, code: 'SlowDown' } },
      ],
    ],
    [
      'internal errors',
      [{ remaining: 12, after: 4, fault: { kind: 'status', status: 500, code: 'InternalError' } }],
    ],
    [
      'resets within a part and within a whole object',
      [
        { path: /partNumber=/, remaining: 2, fault: { kind: 'reset', afterBytes: 1_000_000 } },
        { method: 'PUT', after: 3, remaining: 3, fault: { kind: 'reset', afterBytes: 100 } },
      ],
    ],
    [
      'answers that break off',
      [{ method: 'GET', after: 2, remaining: 4, fault: { kind: 'cut', afterBytes: 50 } }],
    ],
    [
      'a swap whose answer is lost',
      [{ path: /latest\.json/, conditional: true, remaining: 2, fault: { kind: 'lose-response' } }],
    ],
    [
      'lost answers to starting and completing an upload',
      [{ method: 'POST', path: /upload/, remaining: 2, fault: { kind: 'lose-response' } }],
    ],
  ];

  it.each(cases)('publishes everything once in spite of %s', async (_, rules) => {
    faulty = await startFaultyStack();
    addLargeRecords(faulty);
    await faulty.stack.startWorker();
    const states = rules.map((rule) => faulty.s3.add(rule));
    const result = await faulty.stack.export();
    expect(result.outcome, JSON.stringify(result.runs)).toBe('published');
    for (const state of states) expect(state.hits).toBeGreaterThan(0);
    faulty.s3.clear();
    for (const resource of ['tasks', 'members']) await expectMirrored(faulty.stack, resource);
    expect((await faulty.stack.export()).outcome).toBe('published');
    await expectNothingLeft(faulty);
  });
});

describe('an export with permanent store errors', () => {
  it('fails when access is denied, and names the permission to grant', async () => {
    faulty = await startFaultyStack();
    await faulty.stack.startWorker();
    faulty.s3.add({ method: 'PUT', after: 6, fault: { kind: 'status', status: 403, code: 'AccessDenied' } });
    const [tasks] = (await faulty.stack.export()).runs;
    expect(tasks).toMatchObject({ outcome: 'failed', error: { type: 'Lake' } });
    expect(tasks!.error!.message).toMatch(
      /^write of "tasks\/(snapshots|changes)\/dt=\S+" .*access is denied.*s3:PutObject/,
    );
    faulty.s3.clear();
    expect((await faulty.stack.export()).outcome).toBe('published');
    await expectMirrored(faulty.stack, 'tasks');
    await expectNothingLeft(faulty);
  });

  it('fails when the bucket is missing, and succeeds once it exists', async () => {
    faulty = await startFaultyStack();
    await faulty.client.send(new DeleteBucketCommand({ Bucket: faulty.stack.bucket }));
    await faulty.stack.startWorker();
    const [tasks] = (await faulty.stack.export()).runs;
    expect(tasks).toMatchObject({ outcome: 'failed', error: { type: 'Lake' } });
    expect(tasks!.error!.message).toMatch(
      /there is no such bucket \(404 NoSuchBucket: [^)]*\)\. Create it at http/,
    );
    await ensureBucket(faulty.access, faulty.stack.bucket);
    expect((await faulty.stack.export()).outcome).toBe('published');
  });

  it('gives up after `retries.giveUpAfter`, and the next run reuses the staged pages', async () => {
    faulty = await startFaultyStack('    retries: { giveUpAfter: 4s }\n');
    await faulty.stack.startWorker();
    faulty.s3.add({
      method: 'PUT',
      path: /\/snapshots\//,
      fault: { kind: 'status', status: 503, code: 'SlowDown' },
    });
    const [tasks] = (await faulty.stack.export()).runs;
    expect(tasks).toMatchObject({ outcome: 'failed', error: { type: 'Transient' } });
    expect(tasks!.error!.message).toMatch(/tasks\/snapshots\/.*limits requests/);
    faulty.s3.clear();
    faulty.stack.simulator.admin.resetStats();
    expect((await faulty.stack.export()).outcome).toBe('published');
    // All six pages had been staged, so that only changes since then are requested.
    const { recent } = faulty.stack.simulator.admin.stats();
    const paths = recent.filter(({ resource }) => resource === 'tasks').map(({ path }) => path);
    expect(paths).toEqual([expect.stringContaining('updatedSince=')]);
    await expectMirrored(faulty.stack, 'tasks');
  });
});
