import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection } from '@temporalio/worker';

/** The task queue of this application. */
export const taskQueue = process.env.TASK_QUEUE ?? 'my-application';

/** The connection of `worktrack.yaml` to export. */
export const worktrackConnection = process.env.CONNECTION ?? 'acme';

/** A client of the SDK, configured by `TEMPORAL_*` or a profile. Close its connection at the end. */
export async function connectClient(): Promise<Client> {
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const connection = await Connection.connect(connectionOptions);
  return new Client({ connection, ...(namespace === undefined ? {} : { namespace }) });
}

/** The same for a worker. */
export async function connectWorker(): Promise<{ connection: NativeConnection; namespace: string }> {
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  return { connection: await NativeConnection.connect(connectionOptions), namespace };
}
