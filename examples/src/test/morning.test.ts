/**
 * Tests the application's workflows in the time-skipping environment of the SDK, with the simulated service and a lake in
 * a temporary folder. Run it with `npm test`. `TEMPORAL_TEST_SERVER` names an installed test server; without it, the SDK
 * downloads one.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import {
  followExport,
  onPublishedWorkflowId,
  parseSettings,
  requirePublished,
  startExport,
  temporalClientOf,
  WorktrackPlugin,
} from 'temporal-worktrack';
import { DEMO_KEY, type Simulator, startSimulator } from 'temporal-worktrack/simulator';
import * as announcing from '../export-from-workflow/activities.js';
import { morningWorkflow } from '../export-from-workflow/workflows.js';
import { createWarehouseActivities } from '../on-published/activities.js';
import type { loadWarehouse } from '../on-published/workflows.js';

const taskQueue = 'test';
let environment: TestWorkflowEnvironment;
let service: Simulator;
let folder: string;
let worker: Worker;

before(async () => {
  const path = process.env.TEMPORAL_TEST_SERVER;
  environment = await TestWorkflowEnvironment.createTimeSkipping(
    path === undefined ? {} : { server: { executable: { type: 'existing-path', path } } },
  );
  service = await startSimulator({ awkward: false, counts: { projects: 12, tasks: 30 } });
  folder = await mkdtemp(join(tmpdir(), 'application-test-'));
  process.env.WORKTRACK_API_KEY = DEMO_KEY;
  const yaml = `
connections:
  acme:
    baseUrl: ${service.url}
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "file://${folder}" }
    resources: [projects, tasks]
    onPublished: { workflow: loadWarehouse, taskQueue: ${taskQueue} }
`;
  const settings = parseSettings(yaml, 'the test');
  worker = await Worker.create({
    connection: environment.nativeConnection,
    taskQueue,
    workflowsPath: fileURLToPath(new URL('../embed-plugin/workflows.js', import.meta.url)),
    activities: { ...announcing, ...createWarehouseActivities(settings) },
    plugins: [new WorktrackPlugin({ settings })],
  });
});

after(async () => {
  await environment?.teardown();
  await service?.close();
  await rm(folder, { recursive: true, force: true });
});

test('the morning workflow starts an export, waits for it and announces the rows', async () => {
  const announced = await worker.runUntil(async () => {
    const args: [string] = ['acme'];
    const text = await environment.client.workflow.execute(morningWorkflow, {
      workflowId: 'morning',
      taskQueue,
      args,
    });
    // A run starts `loadWarehouse` once, with its report.
    const temporal = temporalClientOf(environment.client);
    const workflowId = await startExport(temporal, { connection: 'acme', full: true }, { taskQueue });
    for (const { resource, runId, rows } of requirePublished(await followExport(temporal, workflowId))) {
      const hook = environment.client.workflow.getHandle<typeof loadWarehouse>(
        onPublishedWorkflowId('acme', resource, runId),
      );
      // `result` lets time pass, so the pause of the workflow takes no time.
      assert.deepEqual(await hook.result(), { resource, runId, rows });
    }
    return text;
  });
  assert.equal(announced, '42 rows are in the lake');
});
