import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import type { CheckedHead } from '../../../src/core/contract/index.js';
import { warningText } from '../../../src/core/warnings.js';
import { readPointerVersion } from '../../../src/lake/documents/pointer.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { readIntactHead } from '../../../src/run/prepare/rollback.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';

describe('A rollback whose head takes longer than one attempt', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  async function start(): Promise<void> {
    mirror = await InProcessMirror.start({
      simulator: { seed: 7, awkward: false, counts: { tasks: 3000 } },
      resource: 'tasks',
      yaml: '{ name: tasks }',
      connection: '    csv: { partSize: 1KiB, compression: none }',
    });
    await mirror.run();
  }

  it('continues where the attempt before it ended, and reads each part once', async () => {
    await start();
    const found = (await readPointerVersion(mirror.store, 'tasks'))!;
    const { manifest } = await mirror.current();
    const damaged = manifest.parts[1]!.key;
    await mirror.store.write(damaged, Buffer.from('damaged'));
    const progress = { checkedHead: null as CheckedHead | null };
    const read: ObjectKey[] = [];
    let attempts = 0;
    for (let left = 2; ; left = 2, attempts++) {
      const slow: ObjectStore = {
        ...mirror.store,
        stream(key, options) {
          if (left-- <= 0) throw new Error('the attempt has ended');
          read.push(key);
          return mirror.store.stream(key, options);
        },
      };
      // As Temporal passes it on.
      const kept = { checkedHead: JSON.parse(JSON.stringify(progress.checkedHead)) as CheckedHead | null };
      const attempt = (): ReturnType<typeof readIntactHead> => readIntactHead(slow, found, kept);
      const running = new MockActivityEnvironment().run(attempt) as ReturnType<typeof readIntactHead>;
      const head = await running.catch(() => null);
      progress.checkedHead = kept.checkedHead;
      if (head === null) continue;
      expect(head.before.parts.map(({ key }) => key)).toEqual(
        manifest.parts.map(({ key }) => key).filter((key) => key !== damaged),
      );
      expect(head.warnings.map(warningText)).toEqual([
        expect.stringContaining(`1 of ${manifest.parts.length} parts`),
      ]);
      break;
    }
    expect(attempts).toBeGreaterThan(0);
    expect(read.length - manifest.parts.length).toBeLessThanOrEqual(2 * attempts);
    expect(progress.checkedHead).toMatchObject({ parts: manifest.parts.length, damaged: [1] });
  });

  it('knows from the last heartbeat what was read', async () => {
    await start();
    const first = mirror.published!;
    mirror.simulator.admin.create('tasks', {});
    await mirror.run();
    const { etag } = (await readPointerVersion(mirror.store, 'tasks'))!;
    const { manifest } = await mirror.current();
    const checkedHead: CheckedHead = { etag, parts: manifest.parts.length, damaged: [1] };
    const beats = (environment: MockActivityEnvironment): void => {
      Object.assign(environment.context.info, { heartbeatDetails: { checkedHead } });
    };
    const { warnings } = await mirror.rollBack(first, beats);
    expect(warnings).toContainEqual(expect.stringContaining(`1 of ${manifest.parts.length} parts`));
  });
});
