import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { type FaultyS3, startFaultyS3 } from '../../support/faulty-s3.js';
import { expectMirrored } from '../../support/mirrored.js';
import { sharedS3 } from '../../support/shared-s3.js';
import { type Stack, startStack } from '../../support/stack.js';
import { expectOneActivity } from '../../support/stays-in-memory.js';
import { startTimeSkipping } from '../../support/time-skipping-server.js';

const RESOURCE = 'tasks';
const RETENTION_DAYS = 3;

describe('snapshots that expire on runs without changes', () => {
  let env: TestWorkflowEnvironment;
  let s3: FaultyS3;
  let stack: Stack;

  beforeAll(async () => {
    env = await startTimeSkipping(inject('servers').testServer);
  });
  afterEach(async () => {
    await stack?.stop();
    await s3?.close();
  });
  afterAll(() => env?.teardown());

  /** By how much Temporal's clock is ahead of the machine's. */
  let skippedMs = 0;

  async function start(): Promise<void> {
    s3 = await startFaultyS3(sharedS3(), { clock: () => Date.now() + skippedMs });
    stack = await startStack({
      s3Endpoint: s3.url,
      simulator: { seed: 7, now: await env.currentTimeMs(), counts: { [RESOURCE]: 40 } },
      resources: `[${RESOURCE}]`,
      yaml: `    retention: { snapshots: ${RETENTION_DAYS}d }\n    sync: { reconcileEvery: 60d }\n`,
      temporalAddress: env.address,
    });
    await stack.startWorker();
  }

  /** Activities of the mirror so far; before the first run, there is no mirror. */
  async function activities(): Promise<string[]> {
    const { events } = await stack.history(stack.mirrorId(RESOURCE)).catch(() => ({ events: [] }));
    return events!.flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? []);
  }

  /** One run, a day after the last one, with the activities and the requests to the store that it took. */
  async function night() {
    // Before the request, so that the store's clock is never behind Temporal's, however long the response takes.
    const asked = Date.now();
    const now = await env.currentTimeMs();
    skippedMs = now - asked;
    stack.simulator.admin.setNow(now);
    const before = (await activities()).length;
    s3.takeRequests();
    const [run] = (await stack.export()).runs;
    const tookMs = Date.now() - asked;
    const requests = s3.takeRequests();
    expect(run).toMatchObject({ outcome: 'published', error: null });
    const dates = await stack.store.listFolders(`${RESOURCE}/snapshots/`);
    await env.sleep('1 day');
    const warnings = run!.warnings.join('\n');
    return { activities: (await activities()).slice(before), requests, dates, warnings, tookMs };
  }

  it('are removed by the run itself, with three requests to the store more', async () => {
    await start();
    const removed: string[] = [];
    for (let at = 0; at < 12; at++) {
      const { activities, requests, dates, tookMs } = await night();
      expect(dates.length).toBe(Math.min(at + 1, RETENTION_DAYS));
      if (at === 0) continue;
      expectOneActivity(activities, tookMs);
      // The organization is checked once a minute, with up to six requests for each connection.
      const own = requests.filter((one) => !one.includes('/projects/'));
      const isExpiring = at >= RETENTION_DAYS;
      expect(own.length).toBeLessThanOrEqual(isExpiring ? 13 : 11);
      removed.push(...requests.filter((one) => one.startsWith('POST') && one.includes('delete')));
    }
    expect(removed.length).toBeGreaterThan(10);
    const kept: string[] = [];
    for await (const { key } of stack.store.list(`${RESOURCE}/snapshots/`)) kept.push(key.split('/')[2]!);
    expect(new Set(kept).size).toBe(RETENTION_DAYS);
    expect(await stack.store.listFolders(`${RESOURCE}/changes/`)).toHaveLength(12);
    expect((await verifySnapshot(stack.store, RESOURCE)).problems).toEqual([]);
    await expectMirrored(stack, RESOURCE);
  });

  it('are removed by the next sweep if one could not list or remove them', async () => {
    await start();
    for (let at = 0; at < RETENTION_DAYS; at++) await night();
    const listing = { method: 'GET', path: /prefix=[^&]*tasks(%2F|\/)(&|$)/, remaining: 1 } as const;
    s3.add({ ...listing, fault: { kind: 'status', status: 403, code: 'AccessDenied' } });
    const listed = await night();
    expectOneActivity(listed.activities, listed.tookMs);
    expect(listed.warnings).toContain('sweep: what earlier runs left could not be removed');
    expect(listed.dates).toHaveLength(RETENTION_DAYS + 1);

    // The manifests are removed, and the parts are not.
    const removal = { method: 'POST', path: /delete/, after: 1, remaining: 1 } as const;
    s3.add({ ...removal, fault: { kind: 'status', status: 403, code: 'AccessDenied' } });
    // The objects are then removed one by one.
    s3.add({ method: 'DELETE', fault: { kind: 'status', status: 403, code: 'AccessDenied' } });
    const refused = await night();
    s3.clear();
    expectOneActivity(refused.activities, refused.tookMs);
    expect(refused.warnings).toMatch(/refused to remove \d+ objects/);
    expect(refused.dates).toHaveLength(RETENTION_DAYS + 2);
    for await (const { key } of stack.store.list(`${RESOURCE}/snapshots/${refused.dates[0]}/`))
      expect(key).not.toContain('_datapackage.json');

    const last = await night();
    expectOneActivity(last.activities, last.tookMs);
    expect(last.warnings).toBe('');
    expect(last.dates).toHaveLength(RETENTION_DAYS);
  });
});
