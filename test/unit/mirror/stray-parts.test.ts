import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';

describe('a purge', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  it('removes stray parts, which can have the record', async () => {
    mirror = await InProcessMirror.start({
      simulator: { seed: 7, awkward: false, counts: { tasks: 3 } },
      ...{ resource: 'tasks', yaml: 'tasks' },
    });
    await mirror.run();
    const { manifest } = await mirror.current();
    const named = manifest.parts[0]!.key;
    const folder = named.slice(0, named.lastIndexOf('/') + 1);
    const stray = `${folder}part-00007-0123abcd.csv.gz` as ObjectKey;
    await mirror.store.write(stray, await mirror.store.read(named));
    await mirror.purge(idOf(mirror.simulator.admin.records('tasks')[0]!));
    expect(await mirror.store.head(stray)).toBeNull();
  });
});
