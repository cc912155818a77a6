import type { Client } from '@temporalio/client';
import { WRITE_BACK_WORKFLOW } from '../../core/contract/write-back.js';
import type { Meter } from '../../core/metrics.js';
import type { Settings } from '../../core/settings.js';

/** `worktrack/<connection>/write-back/<resource>/<batch>`; the lock of a resource has an underscore instead of a batch. */
const BATCH_ID = /^worktrack\/([^/]+)\/write-back\/([^/]+)\/[^_]/;

interface Open {
  readonly connection: string;
  readonly resource: string;
  count: number;
  /** Milliseconds since 1970. */
  since: number;
}

interface OpenBatchesOptions {
  readonly client: Pick<Client, 'workflow'>;
  readonly taskQueue: string;
  /** The current configuration. */
  readonly settings: () => Settings;
  readonly meter: Meter;
}

/**
 * Measures the running write-backs of each resource, and the age of the oldest. Each measurement is one list request to
 * Temporal. A resource without an open batch has no series until its first one.
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
    for await (const { workflowId, startTime, memo } of client.workflow.list({ query })) {
      const [, connection, resource] = BATCH_ID.exec(workflowId) ?? [];
      if (connection === undefined || resource === undefined || !names.includes(connection)) continue;
      // The start time is that of the current history. A long batch continues as new, and keeps its memo.
      const startedAt = typeof memo?.startedAt === 'number' ? memo.startedAt : startTime.getTime();
      this.#add(connection, resource, startedAt);
    }
    for (const { connection, resource, count, since } of this.#seen.values()) {
      meter.record('openBatches', count, { connection, resource });
      meter.record('openBatchAge', (Date.now() - since) / 1000, { connection, resource });
    }
  }

  #add(connection: string, resource: string, startedAt: number): void {
    const id = `${connection}/${resource}`;
    const open = this.#seen.get(id) ?? { connection, resource, count: 0, since: startedAt };
    open.count++;
    open.since = open.count === 1 ? startedAt : Math.min(open.since, startedAt);
    this.#seen.set(id, open);
  }
}
