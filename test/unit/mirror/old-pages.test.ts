import { afterEach, describe, expect, it } from 'vitest';
import { HOUR_MS } from '../../../src/core/duration.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';

describe('the pages of a failed run', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  it.each([
    [23, 1],
    [25, 0],
  ])('are taken over for a day: after %i hours, by %i runs', async (hours, resumed) => {
    mirror = await InProcessMirror.start({
      simulator: { seed: 7, awkward: false, counts: { tasks: 12 } },
      ...{ resource: 'tasks', yaml: 'tasks', connection: '    sync: { pageSize: 5 }\n' },
    });
    await mirror.abandon();
    mirror.clock += hours * HOUR_MS;
    const { counts } = await mirror.run({ full: true });
    expect([mirror.resumed, counts.rows]).toEqual([resumed, 12]);
  });
});
