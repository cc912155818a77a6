/** Starts an export with the application's own client and follows it. */
import { type ExportView, followExport, startExport, temporalClientOf } from 'temporal-worktrack';
import { connectClient, taskQueue, worktrackConnection } from './connect.js';

const client = await connectClient();
const temporal = temporalClientOf(client);
const workflowId = await startExport(temporal, { connection: worktrackConnection }, { taskQueue });
const { outcome, runs } = await followExport(temporal, workflowId, {
  onView: ({ resources }: ExportView) =>
    console.error(
      resources.map(({ resource, stage, rows }) => `${resource}: ${stage}, ${rows} rows`).join('; '),
    ),
});
console.log(JSON.stringify({ outcome, rows: runs.map(({ resource, rows }) => [resource, rows]) }));
await client.connection.close();
process.exitCode = outcome === 'published' ? 0 : 1;
