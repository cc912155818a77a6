/** Starts the application's workflow and prints its result. */
import { connectClient, taskQueue, worktrackConnection } from '../embed-plugin/connect.js';
import { morningWorkflow } from './workflows.js';

const client = await connectClient();
const announced = await client.workflow.execute(morningWorkflow, {
  workflowId: `morning-${worktrackConnection}`,
  taskQueue,
  args: [worktrackConnection],
});
console.log(announced);
await client.connection.close();
