import type { Client } from '@temporalio/client';
import { WRITE_BACK_WORKFLOW } from '../../core/contract/write-back.js';
import type { Meter } from '../../core/metrics.js';
import type { Settings } from '../../core/settings.js';

/** `worktrack/<connection>/write-back/<resource>/<batch>`; the lock of a resource has an underscore instead of a batch. */
const BATCH_ID = /^worktrack\/([^/]+)\/write-back\/([^/]+)\/[^_]/;

interface Open {
  count: number;
  /** Milliseconds since 1970. */
  since: number;
}

interface OpenBatchesOptions {
  /** The worker's client, whose connection can be exchanged. */
  readonly client: () => Pick<Client, 'workflow'>;
  readonly taskQueue: string;
  /** The current configuration. */
  readonly settings: () => Settings;
  readonly meter: Meter;
}

/**
 * Measures the running write-backs of each connection, and the age of the oldest. Each measurement is one list request to
 * Temporal. A connection without an open batch has no series until its first one.
 */
export class OpenBatches {
  readonly #options: OpenBatchesOptions;
  readonly #seen = new Map<string, Open>();

  constructor(options: OpenBatchesOptions) {
    this.#options = options;
  }

  /** @throws the error of Temporal's client */
  async measure(): Promise<void> {
    const { client, taskQueue, settings, meter } = this.#options;
    const names = settings().connections.map(({ name }) => name);
    for (const open of this.#seen.values()) Object.assign(open, { count: 0, since: Date.now() });
    const query = `WorkflowType = '${WRITE_BACK_WORKFLOW}' AND ExecutionStatus = 'Running' AND TaskQueue = '${taskQueue.replaceAll("'", "\\'")}'`;
    for await (const { workflowId, startTime, memo } of client().workflow.list({ query })) {
      const connection = BATCH_ID.exec(workflowId)?.[1];
      if (connection === undefined || !names.includes(connection)) continue;
      // The start time is that of the current history. A long batch continues as new, and keeps its memo.
      const startedAt = typeof memo?.startedAt === 'number' ? memo.startedAt : startTime.getTime();
      this.#add(connection, startedAt);
    }
    for (const [connection, { count, since }] of this.#seen) {
      const labels = { connection, resource: '' };
      meter.record('openBatches', count, labels);
      meter.record('openBatchAge', (Date.now() - since) / 1000, labels);
    }
  }

  #add(connection: string, startedAt: number): void {
    const open = this.#seen.get(connection) ?? { count: 0, since: startedAt };
    open.count++;
    open.since = open.count === 1 ? startedAt : Math.min(open.since, startedAt);
    this.#seen.set(connection, open);
  }
}
