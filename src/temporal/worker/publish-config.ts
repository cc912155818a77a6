import {
  Client,
  type ConnectionLike,
  type DataConverter,
  WorkflowIdConflictPolicy,
} from '@temporalio/client';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/duration.js';
import { errorMessage } from '../../core/errors.js';
import type { Settings } from '../../core/settings.js';
import { cutText, MAX_SUMMARY_BYTES } from '../../core/text-budget.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { CONFIG_RECORD_WORKFLOW, configRecord, configRecordId, encodeRecord } from './config-record.js';
import { removeOldRecords } from './old-records.js';

/** Where a worker runs. */
export interface WorkerPlace {
  /** The worker's connection, which can be exchanged. */
  readonly connection: () => ConnectionLike;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly identity: string;
  readonly dataConverter?: DataConverter | undefined;
}

/** The first task of a record is delayed past the life of every worker. */
const NEVER_MS = 3_650 * DAY_MS;
/** How often a worker checks that its record is still there. */
const CHECKED_EVERY_MS = HOUR_MS;
/** A worker that stops does not wait long for a server that is gone. */
const WITHDRAWN_WITHIN_MS = 1_000;
/** `WORKFLOW_EXECUTION_STATUS_RUNNING`. */
const RUNNING = 1;

/** The published configuration of one worker. */
export interface PublishedConfig {
  /** Resolves when the first attempt to publish has ended. */
  readonly ready: Promise<void>;
  /** Publishes another configuration. */
  publish(settings: Settings): void;
  /** Withdraws the record. Call it after the worker's last poll, because a later one would be that of another worker. */
  withdraw(): Promise<void>;
}

/**
 * Publishes a worker's configuration as hashes, so that commands can compare it with theirs, and shows that the worker has
 * not stopped. The record is the input of a workflow that never begins: its first task is delayed for ten years, and no
 * worker polls its queue. It has no timeout, so it is true for as long as the worker runs. A worker that has
 * stopped terminates it. A worker that was killed leaves it; readers ignore records of workers that do not poll, and the next
 * worker that starts removes it. The cost is one start at each load of the configuration and one request an hour.
 */
export function publishConfig(
  place: WorkerPlace,
  first: Settings,
  onError: (message: string) => void,
): PublishedConfig {
  const { connection, namespace, taskQueue, identity } = place;
  const temporal: TemporalClient = {
    get client() {
      return clientOf(place);
    },
    namespace,
    address: '',
    close: async () => {},
  };
  const workflowId = configRecordId(taskQueue, identity);
  let record = encoded(first);
  let timer: NodeJS.Timeout | undefined;
  let failed = false;
  let withdrawn = false;
  /** The run of the record that was published last. */
  let published: string | null = null;
  let publishing = Promise.resolve();

  const start = async (): Promise<void> => {
    const { capabilities } = await connection().workflowService.getSystemInfo({});
    // The time-skipping test server, which has no Schedules, ignores the delay and stops its clock for the task.
    if (capabilities?.supportsSchedules !== true) return;
    const handle = await temporal.client.workflow.start(CONFIG_RECORD_WORKFLOW, {
      workflowId,
      taskQueue: `${taskQueue}/configuration`,
      args: [record],
      startDelay: NEVER_MS,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.TERMINATE_EXISTING,
      staticSummary: cutText(
        `Configuration of worker ${identity}, for \`worktrack status\` and \`doctor\``,
        MAX_SUMMARY_BYTES,
      ),
    });
    published = handle.firstExecutionRunId;
  };
  const isThere = async (): Promise<boolean> => {
    if (published === null) return false;
    const { status } = await temporal.client.workflow.getHandle(workflowId).describe();
    // Another worker with this identity may have replaced it.
    return status.code === RUNNING;
  };
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    clearTimeout(timer);
    if (withdrawn) return;
    try {
      await withDeadline(temporal, work);
      failed = false;
    } catch (error) {
      if (!failed)
        onError(
          `the configuration could not be published, so \`status\` and \`doctor\` cannot compare it: ${errorMessage(error)}`,
        );
      failed = true;
    }
    timer = setTimeout(() => enqueue(check), failed ? MINUTE_MS : CHECKED_EVERY_MS);
    timer.unref();
  };
  const check = async (): Promise<void> => {
    if (failed || !(await isThere())) await start();
  };
  const enqueue = (work: () => Promise<void>): void => {
    publishing = publishing.then(() => attempt(work));
  };
  enqueue(start);
  const ready = publishing;
  // Only complements the record, so its errors do not matter.
  publishing = publishing.then(() => removeOldRecords(temporal, taskQueue)).catch(() => {});
  return {
    ready,
    publish(settings) {
      record = encoded(settings);
      enqueue(start);
    },
    async withdraw() {
      if (withdrawn) return;
      withdrawn = true;
      clearTimeout(timer);
      await publishing;
      if (published === null) return;
      const handle = temporal.client.workflow.getHandle(workflowId, published);
      const terminating = () => handle.terminate('the worker has stopped');
      // If this fails, the worker counts as gone when its last poll is two minutes old.
      await withDeadline(temporal, terminating, WITHDRAWN_WITHIN_MS).catch(() => {});
    },
  };
}

function clientOf({ connection, namespace, identity, dataConverter }: WorkerPlace): Client {
  return new Client({
    connection: connection(),
    namespace,
    identity,
    ...(dataConverter === undefined ? {} : { dataConverter }),
  });
}

/** The record as it is kept in memory: the hashes of a thousand connections take 10 MiB otherwise. */
function encoded(settings: Settings) {
  return encodeRecord(configRecord(settings, Date.now()));
}
