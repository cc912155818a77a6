/**
 * A worker of an application that also serves temporal-worktrack. The plugin brings the activities; the workflows are in
 * the application's own bundle, `workflows.ts`.
 */
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import { WorktrackPlugin } from 'temporal-worktrack';
import * as activities from '../export-from-workflow/activities.js';
import { connectWorker, taskQueue } from './connect.js';

const { connection, namespace } = await connectWorker();
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue,
  activities,
  workflowsPath: fileURLToPath(new URL('workflows.js', import.meta.url)),
  // Reads $WORKTRACK_CONFIG, else worktrack.yaml in the working directory.
  plugins: [new WorktrackPlugin()],
});
console.log(`Worker on task queue ${taskQueue}. Ctrl-C drains it.`);
// Returns after SIGINT or SIGTERM, when activities have saved their positions.
await worker.run();
await connection.close();
