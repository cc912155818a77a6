import { afterEach, describe, expect, it } from 'vitest';
import type { RequestRecord } from '../../../src/simulator/admin/stats.js';
import { type Stack, startStack } from '../../support/stack.js';

const ALL = ['projects', 'tasks', 'members', 'clients', 'tags', 'more-1', 'more-2', 'more-3'] as const;
const COUNTS = Object.fromEntries(ALL.map((name) => [name, 100]));
const LATENCY_MS = 150;

let stack: Stack;
afterEach(() => stack?.stop());

function clientStack(http: string): Promise<Stack> {
  return startStack({
    simulator: { seed: 6, counts: COUNTS, resources: ALL.slice(5).map((name) => ({ name })) },
    resources: `[${ALL.join(', ')}]`,
    yaml: `    sync: { pageSize: 10 }\n    http: ${http}\n`,
  });
}

/** The maximum of concurrent requests, if each lasts as long as its latency. */
function mostAtOnce(requests: readonly RequestRecord[]): number {
  const counts = requests.map(
    ({ at }) => requests.filter((r) => r.at <= at && at - r.at < LATENCY_MS).length,
  );
  return Math.max(0, ...counts);
}

describe('an export of eight resources at once', () => {
  it('sends nothing before the time in a 429, then slows down, and recovers', async () => {
    stack = await clientStack('{ concurrency: 8 }');
    const { admin } = stack.simulator;
    admin.faults.add({ fault: { kind: 'latency', ms: LATENCY_MS } });
    const refusal = { kind: 'status', status: 429, retryAfter: 2 } as const;
    const rule = admin.faults.add({ match: { resource: 'tasks', nth: 4 }, fault: refusal });
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    expect(admin.faults.hits(rule)).toBe(1);

    const requests = admin.stats().recent;
    const refused = requests.findIndex(({ status }) => status === 429);
    // Requests that were in flight when the 429 was sent do not count. Their number is limited by the concurrency.
    const after = requests.slice(refused + 1);
    const early = after.filter(({ at }) => at < requests[refused]!.at + LATENCY_MS + 2_000);
    expect(early.length).toBeLessThan(8);
    const late = after.slice(early.length);
    expect(late[0]!.at - requests[refused]!.at).toBeGreaterThanOrEqual(2_000);

    expect(mostAtOnce(requests.slice(0, refused))).toBeGreaterThan(6);
    expect(mostAtOnce(requests)).toBeLessThanOrEqual(8);
    // Half of the rate, plus the increase from successful requests in flight.
    expect(mostAtOnce(late.slice(0, 8))).toBeLessThanOrEqual(6);
    expect(mostAtOnce(late)).toBeGreaterThan(6);
  });

  it('respects `http.requestsPerSecond` for any number of resources', async () => {
    stack = await clientStack('{ requestsPerSecond: 30 }');
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    const requests = stack.simulator.admin.stats().recent;
    expect(requests.length).toBeGreaterThanOrEqual(80);
    const seconds = (requests.at(-1)!.at - requests[0]!.at) / 1000;
    // A late request makes the following ones seem early.
    expect((requests.length - 1) / seconds).toBeLessThanOrEqual(30 * 1.02);
  });
});
