import {
  Client,
  type ConnectionLike,
  type DataConverter,
  WorkflowIdConflictPolicy,
} from '@temporalio/client';
import { HOUR_MS, MINUTE_MS } from '../../core/duration.js';
import { errorMessage } from '../../core/errors.js';
import type { Settings } from '../../core/settings.js';
import { withDeadline } from '../client/connect.js';
import { CONFIG_RECORD_WORKFLOW, configRecord, configRecordId, encodeRecord } from './config-record.js';

/** Where a worker runs. */
export interface WorkerPlace {
  readonly connection: ConnectionLike;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly identity: string;
  readonly dataConverter?: DataConverter | undefined;
}

/** How long a record lasts that its worker does not renew. */
const KEPT_MS = 24 * HOUR_MS;
const RENEWED_EVERY_MS = 6 * HOUR_MS;
/** A worker that stops does not wait long for a server that is gone. */
const WITHDRAWN_WITHIN_MS = 1_000;

/** The published configuration of one worker. */
export interface PublishedConfig {
  /** Publishes another configuration. */
  publish(settings: Settings): void;
  /** Withdraws the record, because the worker stops. */
  withdraw(): Promise<void>;
}

/**
 * Publishes a worker's configuration as hashes, so that commands can compare it with theirs. The record is a workflow
 * whose first task is delayed past its end: the server keeps its input, and no worker ever receives a task of it. A worker
 * that was killed leaves its record until it expires; readers ignore records of workers that do not poll. The cost is one
 * start at each load of the configuration and four a day, independent of the number of runs.
 */
export function publishConfig(
  place: WorkerPlace,
  first: Settings,
  onError: (message: string) => void,
): PublishedConfig {
  const { connection, namespace, taskQueue, identity, dataConverter } = place;
  const client = new Client({
    connection,
    namespace,
    identity,
    ...(dataConverter === undefined ? {} : { dataConverter }),
  });
  const temporal = { client, namespace, address: '', close: async () => {} };
  let record = encoded(first);
  let timer: NodeJS.Timeout | undefined;
  let failed = false;
  let published: { workflowId: string; runId: string } | null = null;
  let publishing = Promise.resolve();

  const send = async (): Promise<void> => {
    clearTimeout(timer);
    try {
      const { capabilities } = await withDeadline(temporal, () =>
        connection.workflowService.getSystemInfo({}),
      );
      // The time-skipping test server, which has no Schedules, ignores the delay and stops its clock for the task.
      if (capabilities?.supportsSchedules !== true) return;
      const handle = await withDeadline(temporal, () =>
        client.workflow.start(CONFIG_RECORD_WORKFLOW, {
          workflowId: configRecordId(taskQueue, identity),
          // No worker polls this queue, in case the delay of the record ends.
          taskQueue: `${taskQueue}/configuration`,
          args: [record],
          startDelay: KEPT_MS,
          workflowExecutionTimeout: MINUTE_MS,
          workflowIdConflictPolicy: WorkflowIdConflictPolicy.TERMINATE_EXISTING,
          staticSummary: `Configuration of worker ${identity}, for \`worktrack status\` and \`doctor\``,
        }),
      );
      published = { workflowId: handle.workflowId, runId: handle.firstExecutionRunId };
      failed = false;
    } catch (error) {
      if (!failed)
        onError(
          `the configuration could not be published, so \`status\` and \`doctor\` cannot compare it: ${errorMessage(error)}`,
        );
      failed = true;
    }
    timer = setTimeout(renew, failed ? MINUTE_MS : RENEWED_EVERY_MS);
    timer.unref();
  };
  const renew = (): void => {
    publishing = publishing.then(send);
  };
  renew();
  return {
    publish(settings) {
      record = encoded(settings);
      renew();
    },
    async withdraw() {
      await publishing;
      clearTimeout(timer);
      if (published === null || failed) return;
      const { workflowId, runId } = published;
      const handle = client.workflow.getHandle(workflowId, runId);
      // If this fails, the record expires.
      const terminating = () => handle.terminate('the worker has stopped');
      await withDeadline(temporal, terminating, WITHDRAWN_WITHIN_MS).catch(() => {});
    },
  };
}

/** The record as it is kept in memory: the hashes of a thousand connections take 10 MiB otherwise. */
function encoded(settings: Settings) {
  return encodeRecord(configRecord(settings, Date.now()));
}
