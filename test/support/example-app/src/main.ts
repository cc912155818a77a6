import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import {
  type ExportView,
  followExport,
  startExport,
  temporalClientOf,
  WorktrackPlugin,
} from 'temporal-worktrack';
import { type Simulator, startSimulator } from 'temporal-worktrack/simulator';
import * as activities from './activities.js';
import { morningWorkflow } from './workflows.js';

const { ADDRESS: address = '', TASK_QUEUE: taskQueue = '', CONNECTION: name = '' } = process.env;

// A plugin that is given to the connection and to the worker is asked twice.
const plugins = [new WorktrackPlugin()];
const native = await NativeConnection.connect({ address, plugins });
const worker = await Worker.create({
  connection: native,
  taskQueue,
  activities,
  workflowsPath: fileURLToPath(new URL('workflows.js', import.meta.url)),
  plugins,
});
const running = worker.run();

const connection = await Connection.connect({ address });
const client = new Client({ connection });
const said = await client.workflow.execute(morningWorkflow, {
  workflowId: `morning-${name}`,
  taskQueue,
  args: [name],
});

const temporal = temporalClientOf(client);
const views: ExportView[] = [];
const workflowId = await startExport(temporal, { connection: name }, { taskQueue });
const { outcome, runs } = await followExport(temporal, workflowId, {
  onView: (view) => void views.push(view),
});

// The made-up service that an application has for its tests.
const service: Simulator = await startSimulator({ counts: { projects: 1 } });
await service.close();

worker.shutdown();
await running;
await connection.close();
await native.close();
console.log(JSON.stringify({ said, outcome, runs, looked: views.length > 0 }));
