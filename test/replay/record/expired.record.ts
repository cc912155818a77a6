import { inject, it } from 'vitest';
import { startTimeSkipping } from '../../support/time-skipping-server.js';
import { mirror, stack, started } from './recorder.js';

/** The last one has a second run of the same day, whose first snapshot a sweep removes a day later. */
const NIGHTS = 5;

it('records runs that expire snapshots', async () => {
  const env = await startTimeSkipping(inject('servers').testServer);
  try {
    const now = await env.currentTimeMs();
    await started({
      temporalAddress: env.address,
      simulator: { now, awkward: false, counts: { projects: 3 } },
      yaml: '    retention: { snapshots: 2d }\n    sync: { reconcileEvery: 60d }\n',
    });
    for (let night = 0; night < NIGHTS; night++) {
      stack.simulator.admin.setNow(await env.currentTimeMs());
      await stack.export();
      if (night === NIGHTS - 1) await stack.export();
      await env.sleep('1 day');
    }
    await stack.export();
    await mirror('expired');
  } finally {
    await stack.stop();
    await env.teardown();
  }
});
