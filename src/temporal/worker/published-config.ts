import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Client, WorkflowIdConflictPolicy } from '@temporalio/client';
import type { Worker } from '@temporalio/worker';
import { type ConfigDigest, configDigest } from '../../config/index.js';
import type { EpochMs } from '../../core/brands.js';
import { HOUR_MS, MINUTE_MS } from '../../core/duration.js';
import { errorMessage } from '../../core/errors.js';
import type { Settings } from '../../core/settings.js';
import { parseStored } from '../../core/stored-json.js';
import { cutText, MAX_SUMMARY_BYTES } from '../../core/text-budget.js';
import { VERSION } from '../../core/version.js';
import { withDeadline } from '../client/connect.js';

/** What a worker publishes about its configuration: hashes and names, no values and no secrets. */
export interface ConfigRecord {
  readonly version: string;
  /** The worker's configuration file. */
  readonly source: string;
  /** When the worker read it. */
  readonly loadedAt: EpochMs;
  /** By connection. */
  readonly connections: Readonly<Record<string, ConfigDigest>>;
}

/** The record as an argument of a workflow. Compressed, because hundreds of connections share most of their hashes. */
export interface EncodedRecord {
  readonly gzip: string;
}

/** A worker with a connection, which can be exchanged. */
export type ConnectedWorker = Pick<Worker, 'connection' | 'options'>;

/** The published configuration of one worker. */
export interface PublishedConfig {
  /** Resolves when the first attempt to publish has ended. */
  readonly ready: Promise<void>;
  /** Publishes another configuration. */
  publish(settings: Settings): void;
  /** Withdraws the record. Call it after the worker's last poll, because a later one would be that of another worker. */
  withdraw(): Promise<void>;
}

/** The type of the workflow that holds the record of a worker. */
export const CONFIG_RECORD_TYPE = 'workerConfigurationWorkflow';
/** Half the life of the workflow. */
const PUBLISHED_EVERY_MS = 12 * HOUR_MS;
/** A worker that stops does not wait long for a server that is gone. */
const WITHDRAWN_WITHIN_MS = 10_000;

/** The workflow that holds the record of a worker. */
export function configRecordId(taskQueue: string, identity: string): string {
  return `worktrack-worker/${taskQueue}/${identity}`;
}

/** A client with the current connection of a worker. */
export function clientOf({ connection, options }: ConnectedWorker): Client {
  const { namespace, identity, dataConverter } = options;
  return new Client({
    connection: connection!,
    namespace,
    identity,
    ...(dataConverter && { dataConverter }),
  });
}

/** @throws Error if it is not a record */
export function decodeRecord({ gzip }: EncodedRecord): ConfigRecord {
  return parseStored(gunzipSync(Buffer.from(gzip, 'base64'))) as ConfigRecord;
}

/**
 * Publishes a worker's configuration as hashes, so that commands can compare it with theirs, and shows that the worker has
 * not stopped. The record is the input of a workflow that waits for a day. The worker starts it at each load of its
 * configuration and every twelve hours, and terminates it when it stops. Readers ignore the record of a worker that was
 * killed, because that worker does not poll.
 *
 * An identity could not hold the record: it has at most 1,000 characters, and cannot change while the worker runs. A memo
 * could not either: the databases of some servers hold at most 64 KiB of it.
 */
export function publishConfig(
  worker: ConnectedWorker,
  first: Settings,
  onError: (message: string) => void,
): PublishedConfig {
  const { taskQueue, identity } = worker.options;
  const workflowId = configRecordId(taskQueue, identity);
  let record = encoded(first);
  let timer: NodeJS.Timeout | undefined;
  let failed = false;
  let withdrawn = false;
  /** The run of the record that was published last. */
  let published: string | null = null;

  const start = async (client: Client): Promise<void> => {
    const handle = await client.workflow.start(CONFIG_RECORD_TYPE, {
      workflowId,
      taskQueue,
      args: [record],
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.TERMINATE_EXISTING,
      staticSummary: cutText(
        `Configuration of worker ${identity}, for \`worktrack status\` and \`doctor\``,
        MAX_SUMMARY_BYTES,
      ),
    });
    published = handle.firstExecutionRunId;
  };
  const attempt = async (): Promise<void> => {
    clearTimeout(timer);
    if (withdrawn) return;
    try {
      const client = clientOf(worker);
      await withDeadline({ client }, () => start(client));
      failed = false;
    } catch (error) {
      if (!failed)
        onError(
          `the configuration could not be published, so \`status\` and \`doctor\` cannot compare it: ${errorMessage(error)}`,
        );
      failed = true;
    }
    timer = setTimeout(enqueue, failed ? MINUTE_MS : PUBLISHED_EVERY_MS);
    timer.unref();
  };
  let publishing = attempt();
  const enqueue = (): void => {
    publishing = publishing.then(attempt);
  };
  return {
    ready: publishing,
    publish(settings) {
      record = encoded(settings);
      enqueue();
    },
    async withdraw() {
      if (withdrawn) return;
      withdrawn = true;
      clearTimeout(timer);
      await publishing;
      if (published === null) return;
      const client = clientOf(worker);
      const handle = client.workflow.getHandle(workflowId, published);
      const terminate = () => handle.terminate('the worker has stopped');
      // If this fails, the worker counts as gone when its last poll is two minutes old.
      await withDeadline({ client }, terminate, WITHDRAWN_WITHIN_MS).catch(() => {});
    },
  };
}

/** The record as it is kept in memory: the hashes of a thousand connections take 10 MiB otherwise. */
function encoded(settings: Settings): EncodedRecord {
  const path = resolve(settings.source);
  const record: ConfigRecord = {
    version: VERSION,
    source: existsSync(path) ? path : settings.source,
    loadedAt: Date.now(),
    connections: Object.fromEntries(settings.connections.map((one) => [one.name, configDigest(one)])),
  };
  return { gzip: gzipSync(JSON.stringify(record)).toString('base64') };
}
