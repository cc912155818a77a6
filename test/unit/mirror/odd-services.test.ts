import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { ACTIVITIES } from '../../../src/core/contract/activity-table.js';
import type { Activities } from '../../../src/core/contract/index.js';
import { inParallel } from '../../../src/core/in-parallel.js';
import { DEMO_KEY, ODD_SERVICES } from '../../../src/simulator/index.js';
import { failureOf } from '../../../workflows/shared/run-errors.js';
import { ActivityMirror } from '../../support/in-process-mirror.js';
import type { Input, Output } from '../../support/mirror-driver.js';
import {
  expectOutcomes,
  ODD_CASES,
  type OddCase,
  type OddRequest,
  type OddResult,
  oddConnection,
  oddName,
  runOdd,
  startOdd,
} from '../../support/odd/index.js';
import { shortenBackOffs } from '../../support/short-waits.js';

/** So many services are exported at a time. Some of them wait. */
const AT_ONCE = 16;
/** In place of Temporal's back-off, which begins with a second. */
const RETRY_DELAY_MS = 20;

/** A mirror whose activities are tried again, as Temporal does. */
class RetryingMirror extends ActivityMirror {
  override async step<N extends keyof Activities>(name: N, input: Input<N>, attempt = 1): Promise<Output<N>> {
    const { maximumAttempts = Number.POSITIVE_INFINITY } = ACTIVITIES[name].limits.retry;
    const begun = this.clock;
    for (let tried = 0; ; tried++)
      try {
        return await super.step(name, input, attempt + tried, this.clock - begun);
      } catch (error) {
        const isFinal = !(error instanceof ApplicationFailure) || error.nonRetryable === true;
        if (isFinal || tried + 1 >= maximumAttempts) throw error;
        const wait = Number(error.nextRetryDelay ?? RETRY_DELAY_MS);
        await sleep(wait);
        this.clock += wait;
      }
  }

  /** What the export of the resource answers. */
  async export(request: OddRequest): Promise<OddResult> {
    const resource = this.mirror.state.resource;
    try {
      const { warnings } = await this.run(request);
      return { outcome: 'published', runs: [{ resource, outcome: 'published', error: null, warnings }] };
    } catch (error) {
      const { outcome, error: found } = failureOf(error);
      return { outcome, runs: [{ resource, outcome, error: found, warnings: [] }] };
    }
  }
}

/** The same with Temporal, with the services that name waits: test/integration/faults/odd-services.test.ts. */
const CASES = ODD_CASES.filter(({ waits }) => waits !== true);

describe('an export, two increments and a reconcile of an odd service, without Temporal', () => {
  let folder: string;
  const outcomes = new Map<OddCase, PromiseSettledResult<Awaited<ReturnType<typeof runOdd>>>>();

  beforeAll(async () => {
    shortenBackOffs();
    process.env.WORKTRACK_API_KEY = DEMO_KEY;
    folder = await mkdtemp(join(tmpdir(), 'worktrack-odd-'));
    await inParallel(CASES, AT_ONCE, async (one) => {
      const [outcome] = await Promise.allSettled([runOne(join(folder, `${CASES.indexOf(one)}`), one)]);
      outcomes.set(one, outcome);
    });
  }, 600_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(CASES.map((one) => [oddName(one), one] as const))('%s', (_, one) => {
    const outcome = outcomes.get(one)!;
    if (outcome.status === 'rejected') throw outcome.reason;
    expectOutcomes(one, outcome.value);
  });

  it('is tried for every odd service', () => {
    const known = new Set(ODD_CASES.flatMap(({ odd }) => odd));
    expect(ODD_SERVICES.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
    expect(new Set(ODD_CASES.map(oddName)).size).toBe(ODD_CASES.length);
  });
});

async function runOne(lake: string, one: OddCase): ReturnType<typeof runOdd> {
  const simulator = await startOdd(one);
  const keyFile = `${lake}-key`;
  const yaml = oddConnection(one, 'odd', { url: simulator.url, lake, keyFile });
  const mirror = new RetryingMirror(parseSettings(`connections:\n${yaml}`, 'odd.yaml'), 'tasks');
  try {
    const { store } = mirror;
    return await runOdd(one, { simulator, keyFile, store, exportOnce: (request) => mirror.export(request) });
  } finally {
    await mirror.close();
    await simulator.close();
  }
}
