import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ExportResult } from '../../../src/core/contract/index.js';
import { folderOf } from '../../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../../src/lake/documents/manifest.js';
import { type FaultyS3, startFaultyS3 } from '../../support/faulty-s3.js';
import { IS_LONG } from '../../support/seeds.js';
import { sharedS3 } from '../../support/shared-s3.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { startTimeSkipping } from '../../support/time-skipping-server.js';

/** Of snapshots; the default in `npm run test:long`. */
const RETENTION_DAYS = IS_LONG ? 30 : 8;
/** More than that, so that snapshots are removed; four months in `npm run test:long`. */
const NIGHTS = IS_LONG ? 120 : 14;
const DAY = 24 * 60 * 60_000;

describe('nightly exports over months, in the time-skipping server', () => {
  let env: TestWorkflowEnvironment;
  let stack: Stack;
  let s3: FaultyS3;
  /** By how much Temporal's clock is ahead of the machine's: the store's clock is, too. */
  let skippedMs = 0;

  beforeAll(async () => {
    env = await startTimeSkipping(inject('servers').testServer);
    s3 = await startFaultyS3(sharedS3(), { clock: () => Date.now() + skippedMs });
    stack = await startStack({
      s3Endpoint: s3.url,
      simulator: {
        seed: 5,
        awkward: false,
        now: await env.currentTimeMs(),
        counts: { 'time-entries': 40, projects: 5 },
      },
      resources: '[time-entries, projects]',
      yaml: IS_LONG ? '' : `    retention: { snapshots: ${RETENTION_DAYS}d }\n`,
      temporalAddress: env.address,
    });
  });
  afterAll(async () => {
    await stack?.stop();
    await s3?.close();
    await env?.teardown();
  });

  it('keep every row that was ever in the window, and never move the checkpoint back', async () => {
    await stack.startWorker();
    // Not `env.client`: its result() lets time run, and with nothing pending it runs for years.
    const client = new Client({ connection: env.connection });
    const { admin } = stack.simulator;
    const ever = new Set(admin.records('time-entries', 'listed').map(idOf));
    const checkpoints: string[] = [];
    for (let night = 0; night < NIGHTS; night++) {
      // Before the request, so that the store's clock is never behind Temporal's, however long the response takes.
      const asked = Date.now();
      const now = await env.currentTimeMs();
      skippedMs = now - asked;
      admin.setNow(now);
      const startedAt = new Date(now - 3_600_000).toISOString();
      const created = admin.create('time-entries', {
        startedAt,
        durationSeconds: 60 * night,
        description: `night ${night}`,
      });
      ever.add(created);
      const result = (await client.workflow.execute('exportWorkflow', {
        workflowId: `${stack.connection}-night-${night}`,
        taskQueue: stack.taskQueue,
        args: [{ connection: stack.connection }],
      })) as ExportResult;
      expect(result.outcome).toBe('published');
      // Not by a query: this server loses one that comes as the mirror continues as new, and may then stop its clock.
      checkpoints.push(await publishedCheckpoint(stack));
      // Each run sweeps once.
      const kept = await stack.store.listFolders('time-entries/snapshots/');
      expect(kept.length).toBeGreaterThanOrEqual(Math.min(night + 1, RETENTION_DAYS));
      expect(kept.length).toBeLessThanOrEqual(RETENTION_DAYS + 1);
      expect(await stack.store.listFolders('time-entries/changes/')).toHaveLength(night + 1);
      await env.sleep('1 day');
    }
    expect([...checkpoints].sort()).toEqual(checkpoints);
    expect(Date.parse(checkpoints.at(-1)!) - Date.parse(checkpoints[0]!)).toBeGreaterThan((NIGHTS - 2) * DAY);
    // The service has forgotten the first ones; the lake has not.
    expect(admin.records('time-entries', 'listed').length).toBeLessThan(ever.size);
    const { rows } = await readSnapshot(stack.store, 'time-entries');
    expect(new Set(rows.map((row) => row.id))).toEqual(ever);
    expect(rows.length).toBe(ever.size);
    // 120 runs take 100 s alone, and several times as long next to other tests.
  }, 900_000);
});

/** The checkpoint that the newest snapshot reaches. */
async function publishedCheckpoint({ store }: Stack): Promise<string> {
  const { snapshot } = await readPointer(store, 'time-entries');
  return decodeManifest(await store.read(snapshot), folderOf(snapshot)).checkpoint.updatedSince;
}

function idOf(record: string): string {
  return (JSON.parse(record) as { id: string }).id;
}

describe('the diff of a dry run that no command reads, in the time-skipping server', () => {
  let env: TestWorkflowEnvironment;
  let stack: Stack;
  beforeAll(async () => {
    env = await startTimeSkipping(inject('servers').testServer);
    const now = await env.currentTimeMs();
    stack = await startStack({
      ...{ simulator: { now, awkward: false, counts: { projects: 5 } }, resources: '[projects]' },
      temporalAddress: env.address,
    });
  });
  afterAll(async () => {
    await stack?.stop();
    await env?.teardown();
  });

  it('is removed after an hour', async () => {
    await stack.startWorker();
    const client = new Client({ connection: env.connection });
    const run = (input: object, workflowId: string) =>
      client.workflow.execute('exportWorkflow', {
        ...{ workflowId: `${stack.connection}-${workflowId}`, taskQueue: stack.taskQueue },
        args: [{ connection: stack.connection, ...input }],
      }) as Promise<ExportResult>;
    await run({}, 'export');
    stack.simulator.admin.create('projects', { name: 'new' });
    const { runs } = await run({ dryRun: { cells: 5 } }, 'dry-run');
    const diff = runs[0]!.dryRun!.diff!;
    await env.sleep('55 minutes');
    expect(await stack.store.head(diff)).not.toBeNull();
    await env.sleep('10 minutes');
    await until(async () => (await stack.store.head(diff)) === null, 'the diff is removed');
  });
});

describe('a request to a mirror that does not answer, in the time-skipping server', () => {
  let env: TestWorkflowEnvironment;
  let stack: Stack;
  let busy: Worker;
  let running: Promise<void>;

  beforeAll(async () => {
    env = await startTimeSkipping(inject('servers').testServer);
    stack = await startStack({
      simulator: { now: await env.currentTimeMs(), counts: { projects: 5 } },
      resources: '[projects]',
      temporalAddress: env.address,
    });
    busy = await Worker.create({
      connection: env.nativeConnection,
      taskQueue: `${stack.taskQueue}-busy`,
      workflowsPath: fileURLToPath(new URL('../../support/waiting-workflow.mjs', import.meta.url)),
    });
    running = busy.run();
  });
  afterAll(async () => {
    busy?.shutdown();
    await running;
    await stack?.stop();
    await env?.teardown();
  });

  it('is repeated after an hour, so that busy mirrors get one, and starts a mirror that has gone', async () => {
    await stack.startWorker();
    const client = new Client({ connection: env.connection });
    // Takes the request, but does not read it.
    const silent = await client.workflow.start('waiting', {
      workflowId: stack.mirrorId('projects'),
      taskQueue: `${stack.taskQueue}-busy`,
      args: [[365 * DAY]],
    });
    const requests = async (): Promise<number> => {
      const { events } = await silent.fetchHistory();
      return events!.filter((event) => event.workflowExecutionSignaledEventAttributes).length;
    };
    const exporting = await client.workflow.start('exportWorkflow', {
      workflowId: `${stack.connection}-night`,
      taskQueue: stack.taskQueue,
      args: [{ connection: stack.connection }],
    });
    await until(async () => (await requests()) === 1, 'the request is sent');
    await env.sleep('59 minutes');
    expect(await requests()).toBe(1);
    await env.sleep('2 minutes');
    await until(async () => (await requests()) === 2, 'the request is sent again');
    await silent.terminate();
    await env.sleep('61 minutes');
    const result = (await exporting.result()) as ExportResult;
    expect(result.runs).toMatchObject([{ outcome: 'published', rows: 5 }]);
  });
});
