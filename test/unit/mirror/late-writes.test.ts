import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';

const HOUR = 3_600_000;

describe('The sweep an hour after a purge', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  /** A mirror that has just purged a record. @returns what was below a prefix before the purge */
  async function purged(prefix: string, yaml = 'tasks', connection = '') {
    mirror = await InProcessMirror.start({
      simulator: { seed: 7, awkward: false, counts: { tasks: 6 } },
      ...{ resource: 'tasks', yaml, connection },
    });
    const { admin } = mirror.simulator;
    const secret = admin.create('tasks', { title: 'secret' });
    await mirror.run();
    const [key] = await keysWith(prefix);
    const body = key === undefined ? null : await mirror.store.read(key);
    admin.remove('tasks', [secret]);
    await mirror.purge(secret);
    expect(await keysWith(prefix)).not.toContain(key);
    return { key: key!, body: body!, before: mirror.newestId! };
  }

  async function keysWith(text: string): Promise<ObjectKey[]> {
    const found: ObjectKey[] = [];
    for await (const { key } of mirror.store.list('tasks/')) if (key.includes(text)) found.push(key);
    return found;
  }

  it('removes a data file of the table that arrived late', async () => {
    const { key, body, before } = await purged('/table/part-', 'tasks', '    tables: { format: delta }\n');
    await mirror.store.write(key, body);
    mirror.clock += HOUR;
    await mirror.sweep({ before });
    expect(await keysWith('/table/part-')).not.toContain(key);
  });

  it.each([false, true])(
    'keeps a run since the purge whose swap may still arrive (store ahead: %s)',
    async (isAhead) => {
      const { before } = await purged('/never');
      const lake = join(mirror.folder, 'lake');
      const later = new Date(Date.now() + 2 * HOUR);
      if (isAhead)
        for (const one of await readdir(lake, { recursive: true, withFileTypes: true }))
          if (one.isFile()) await utimes(join(one.parentPath, one.name), later, later);
      mirror.simulator.admin.create('tasks', { title: 'added' });
      // It began in the second of the purge.
      mirror.clock -= 1000;
      const { publish } = await mirror.merged();
      const key = pointerKey('tasks');
      const expected = await mirror.store.read(key);
      await publish();
      const late = await mirror.store.read(key);
      await mirror.store.write(key, expected);
      mirror.clock += HOUR;
      await mirror.sweep({ before });
      const { etag } = (await mirror.store.readIfExists(key))!;
      expect(await mirror.store.swap(key, late, { etag })).toMatchObject({ outcome: 'written' });
      expect((await verifySnapshot(mirror.store, 'tasks')).problems).toEqual([]);
    },
  );
});
