import { Client } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ExportInput, ExportResult } from '../../../src/core/contract/index.js';
import { listedIds } from '../../support/mirrored.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';
import { startTimeSkipping } from '../../support/time-skipping-server.js';

const ROWS = 60;
const RESOURCES = ['time-entries', 'tasks'] as const;

describe('nightly exports of lists that hid a row in the first one, in the time-skipping server', () => {
  let env: TestWorkflowEnvironment;
  let stack: Stack;
  let night = 0;

  beforeAll(async () => {
    env = await startTimeSkipping(inject('servers').testServer);
    stack = await startStack({
      simulator: {
        ...{ seed: 5, awkward: false, now: await env.currentTimeMs(), cursorStyle: 'offset' },
        counts: { 'time-entries': ROWS, tasks: ROWS },
      },
      // Deletes are never detected for either.
      resources: '[{ name: time-entries, window: 90d }, { name: tasks, window: none, deletes: keep }]',
      yaml: '    sync: { pageSize: 20 }\n',
      temporalAddress: env.address,
    });
  });
  afterAll(async () => {
    await stack?.stop();
    await env?.teardown();
  });

  /** Exports, and advances to the next run. @returns the mode of each resource */
  async function exportNight(input: Partial<ExportInput> = {}): Promise<string[]> {
    stack.simulator.admin.setNow(await env.currentTimeMs());
    const client = new Client({ connection: env.connection });
    const result = (await client.workflow.execute('exportWorkflow', {
      workflowId: `${stack.connection}-night-${night++}`,
      taskQueue: stack.taskQueue,
      args: [{ connection: stack.connection, ...input }],
    })) as ExportResult;
    expect(result.outcome).toBe('published');
    await env.sleep('1 day');
    return Promise.all(RESOURCES.map(modeOf));
  }

  async function modeOf(resource: string): Promise<string> {
    const { snapshot } = await readPointer(stack.store, resource);
    const body = (await stack.store.read(snapshot)).toString('utf8');
    return (JSON.parse(body) as { worktrack: { mode: string } }).worktrack.mode;
  }

  async function missing(resource: string): Promise<string[]> {
    const ids = new Set((await readSnapshot(stack.store, resource)).rows.map((row) => row.id));
    return listedIds(stack, resource).filter((id) => !ids.has(id));
  }

  it('read everything after a week, also with a window and with deletes: keep, and a full export restarts the week', async () => {
    await stack.startWorker();
    const { admin } = stack.simulator;
    // A deletion before the cursor hides another record, and the list shows no sign of it.
    for (const resource of RESOURCES)
      admin.beforeAnswer({ resource, page: 1 }, () =>
        admin.remove(resource, [listedIds(stack, resource)[0]!]),
      );
    expect(await exportNight()).toEqual(['full', 'full']);
    for (const resource of RESOURCES) expect((await missing(resource)).length, resource).toBe(1);
    for (let one = 1; one < 7; one++) expect(await exportNight(), `night ${one}`).toEqual(INCREMENTS);
    for (const resource of RESOURCES) expect((await missing(resource)).length, resource).toBe(1);
    expect(await exportNight()).toEqual(['full', 'full']);
    for (const resource of RESOURCES) {
      expect(await missing(resource), resource).toEqual([]);
      const { rows } = await readSnapshot(stack.store, resource);
      expect(rows.filter((row) => row._deleted_at !== null)).toEqual([]);
    }
    for (let one = 1; one < 4; one++) expect(await exportNight()).toEqual(INCREMENTS);
    expect(await exportNight({ full: true })).toEqual(['full', 'full']);
    for (let one = 1; one < 7; one++) expect(await exportNight()).toEqual(INCREMENTS);
    expect(await exportNight()).toEqual(['full', 'full']);
  });
});

const INCREMENTS = ['increment', 'increment'];
