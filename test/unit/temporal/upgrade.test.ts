import { describe, expect, it } from 'vitest';
import { untilKnown } from '../../../src/temporal/versions/upgrade.js';

const failed = (code: number): Error => Object.assign(new Error('no'), { code, details: 'no' });
const NOT_FOUND = failed(5);

/** The outcome of a call that fails in these ways before it succeeds, and how often it was made. */
async function outcome(failures: readonly Error[], appearsWithinMs = 60_000) {
  let calls = 0;
  const call = async () => {
    const failure = failures[calls++];
    if (failure !== undefined) throw failure;
    return 'known';
  };
  const end = await untilKnown(call, { appearsWithinMs }, 1).catch((error: unknown) => error);
  return { end, calls };
}

describe('an upgrade whose worker polls', () => {
  it('asks again if a busy server does not know the deployment', async () => {
    expect(await outcome([NOT_FOUND, NOT_FOUND])).toEqual({ end: 'known', calls: 3 });
  });

  it('ends with what else is wrong, and with a deployment that stays unknown', async () => {
    const denied = failed(7);
    expect(await outcome([NOT_FOUND, denied, denied])).toEqual({ end: denied, calls: 2 });
    expect(await outcome([NOT_FOUND, NOT_FOUND], -1)).toEqual({ end: NOT_FOUND, calls: 1 });
  });
});
