import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { RequestRecord } from '../../../src/simulator/stats.js';
import { holdAnswer } from '../../support/hold.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const ALL = ['projects', 'tasks', 'members', 'clients', 'tags', 'more-1', 'more-2', 'more-3'] as const;
const COUNTS = Object.fromEntries(ALL.map((name) => [name, 100]));
const CONCURRENCY = ALL.length;
const RETRY_AFTER_MS = 2_000;
/** The number of the page that gets a 429. */
const REFUSED_PAGE = 3;

let stack: Stack;
afterEach(() => stack?.stop());

function clientStack(http: string): Promise<Stack> {
  return startStack({
    simulator: { seed: 6, counts: COUNTS, resources: ALL.slice(5).map((name) => ({ name })) },
    resources: `[${ALL.join(', ')}]`,
    yaml: `    sync: { pageSize: 10 }\n    http: ${http}\n`,
  });
}

function mostAtOnce(requests: readonly RequestRecord[]): number {
  return Math.max(...requests.map(({ inFlight }) => inFlight));
}

describe('an export of eight resources together', () => {
  it('sends nothing before the time in a 429, then slows down, and recovers', async () => {
    stack = await clientStack(`{ concurrency: ${CONCURRENCY} }`);
    const { admin } = stack.simulator;
    // Answers that take far longer than their requests overlap, however slow the machine is.
    admin.faults.add({ fault: { kind: 'latency', ms: 500 } });
    const refusal = { kind: 'status', status: 429, retryAfter: RETRY_AFTER_MS / 1000 } as const;
    const rule = admin.faults.add({ match: { resource: 'tasks', nth: REFUSED_PAGE + 1 }, fault: refusal });
    const held = ALL.map((resource) => holdAnswer(stack.simulator, { resource, page: REFUSED_PAGE }));
    const refused = held[ALL.indexOf('tasks')]!;
    await stack.startWorker();
    const exporting = stack.export();
    await until(() => held.every(({ isThere }) => isThere()), 'a page of each resource is under way');
    const before = admin.stats().requests;
    const refusedAt = Date.now();
    refused.release();
    await until(() => admin.stats().recent.some(({ status }) => status === 429), 'the 429 is sent');
    // The client is in this process: it receives the 429 within a few turns of the event loop, however long they take.
    for (let turn = 0; turn < 25; turn++) await sleep(10);
    for (const { release } of held) release();
    expect((await exporting).outcome).toBe('published');
    expect(admin.faults.hits(rule)).toBe(1);

    const { recent } = admin.stats();
    const late = recent.slice(before);
    // Timers may be early by a millisecond, and the service's clock is another one.
    expect(late[0]!.at - refusedAt).toBeGreaterThan(RETRY_AFTER_MS - 10);
    expect(mostAtOnce(recent.slice(0, before))).toBe(CONCURRENCY);
    // Half of the rate, plus the increase from successful requests in flight.
    expect(mostAtOnce(late.slice(0, 8))).toBeLessThanOrEqual(6);
    expect(mostAtOnce(late)).toBeGreaterThan(6);
    expect(mostAtOnce(late)).toBeLessThanOrEqual(CONCURRENCY);
  });

  it('respects `http.requestsPerSecond` for any number of resources', async () => {
    stack = await clientStack('{ requestsPerSecond: 15 }');
    await stack.startWorker();
    const begun = Date.now();
    expect((await stack.export()).outcome).toBe('published');
    const requests = stack.simulator.admin.stats().recent;
    expect(requests.length).toBeGreaterThanOrEqual(80);
    expect(requests.at(-1)!.at - begun).toBeGreaterThan(((requests.length - 1) * 1000) / 15);
  });
});
