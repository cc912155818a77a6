import { describe, expect, it } from 'vitest';
import type { OpenConnection } from '../../../activities/index.js';
import { Pins } from '../../../src/temporal/worker/pins.js';

const HOUR = 3_600_000;
const RUNS = 1_000;

describe('the configurations of runs', () => {
  /** Times at which the settings of a run were read, which is once per run that is looked at. */
  let reads = 0;
  const connection = {
    get settings() {
      reads++;
      return { retries: { giveUpAfterMs: 6 * HOUR } };
    },
  } as unknown as OpenConnection;

  it('are looked through once an hour, not for each activity, and removed when no activity can come', async () => {
    let now = 1e12;
    const pins = new Pins(() => now);
    const activity = (run: number) =>
      pins.during(
        'worktrack.extractPages',
        { connection: 'acme', resource: 'tasks', runId: `run-${run}` },
        () => Promise.resolve(pins.connection('acme', () => connection)),
      );
    for (let run = 0; run < RUNS; run++) await activity(run);
    expect(pins.used()).toEqual(new Set([connection]));
    expect(reads).toBeLessThanOrEqual(RUNS);
    now += 25 * HOUR;
    await pins.during('worktrack.notify', { connection: 'acme' }, () => Promise.resolve());
    expect(pins.used().size).toBe(0);
  });
});
