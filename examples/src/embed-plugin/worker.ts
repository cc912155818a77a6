/**
 * A worker of an application that also serves temporal-worktrack. The plugin brings the activities; the workflows are in
 * the application's own bundle, `workflows.ts`.
 */
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import { loadSettings, WorktrackPlugin } from 'temporal-worktrack';
import * as announcing from '../export-from-workflow/activities.js';
import { createWarehouseActivities } from '../on-published/activities.js';
import { connectWorker, taskQueue } from './connect.js';

// Reads $WORKTRACK_CONFIG, or worktrack.yaml in the working directory.
const settings = loadSettings({ env: process.env, cwd: process.cwd() });
const { connection, namespace } = await connectWorker();
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue,
  activities: { ...announcing, ...createWarehouseActivities(settings) },
  workflowsPath: fileURLToPath(new URL('workflows.js', import.meta.url)),
  plugins: [new WorktrackPlugin({ settings })],
});
console.log(`Worker on task queue ${taskQueue}. Ctrl-C drains it.`);
// Returns after SIGINT or SIGTERM, when activities have saved their positions.
await worker.run();
await connection.close();
