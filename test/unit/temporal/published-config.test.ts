import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { type ConnectedWorker, publishConfig } from '../../../src/temporal/worker/published-config.js';
import { MINIMAL_CONFIG } from '../../support/minimal-config.js';

const HOUR_MS = 3_600_000;

describe("a worker's published configuration", () => {
  const settings = parseSettings(MINIMAL_CONFIG, 'worktrack.yaml');
  let starts = 0;
  let terminated: unknown[] = [];
  let isReachable = true;
  const answer = <T>(value: T): Promise<T> =>
    isReachable ? Promise.resolve(value) : Promise.reject(new Error('no answer'));
  const worker = {
    connection: {
      plugins: [],
      withDeadline: (_: number, call: () => Promise<unknown>) => call(),
      workflowService: {
        startWorkflowExecution: () => answer({ runId: `run-${++starts}`, started: true }),
        terminateWorkflowExecution: ({ workflowExecution }: { workflowExecution: { runId: string } }) => {
          terminated.push(workflowExecution.runId);
          return answer({});
        },
      },
    },
    options: { namespace: 'default', taskQueue: 'q', identity: '1@host' },
  } as unknown as ConnectedWorker;
  beforeEach(() => {
    starts = 0;
    terminated = [];
    isReachable = true;
    vi.useFakeTimers();
  });
  afterEach(() => vi.useRealTimers());

  it('is published again within the day that it lasts, and at each load of the file', async () => {
    const published = publishConfig(worker, settings, () => {});
    await published.ready;
    expect(starts).toBe(1);
    await vi.advanceTimersByTimeAsync(24 * HOUR_MS);
    expect(starts).toBe(3);
    published.publish(settings);
    await vi.advanceTimersByTimeAsync(0);
    expect(starts).toBe(4);
  });

  it('is published within a minute after Temporal can be reached again, and reported once', async () => {
    isReachable = false;
    const problems: string[] = [];
    const published = publishConfig(worker, settings, (message) => problems.push(message));
    await published.ready;
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    expect(problems).toEqual([expect.stringContaining('cannot compare it: ')]);
    isReachable = true;
    starts = 0;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(starts).toBe(1);
  });

  it('is withdrawn once, and only the run that this worker started', async () => {
    const published = publishConfig(worker, settings, () => {});
    await published.ready;
    await published.withdraw();
    await published.withdraw();
    expect(terminated).toEqual(['run-1']);
    await vi.advanceTimersByTimeAsync(24 * HOUR_MS);
    expect(starts).toBe(1);
  });
});
