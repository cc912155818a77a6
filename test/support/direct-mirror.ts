import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createActivities } from '../../activities/index.js';
import type { RunId, UtcSeconds } from '../../src/core/brands.js';
import type { Activities, PublishedRun } from '../../src/core/contract/index.js';
import { newRunId } from '../../src/core/run-id.js';
import type { Settings } from '../../src/core/settings.js';
import { openConnections } from '../../src/temporal/worker/connections.js';
import { detectDeletes } from '../../workflows/mirror/detect-deletes.js';
import { Extraction, type LongActivities } from '../../workflows/mirror/extraction.js';
import { mergeStaged } from '../../workflows/mirror/merge-steps.js';
import { mergeSettled } from '../../workflows/mirror/reread.js';
import { newWriter } from './writer.js';

/** A failed activity is part of a test. */
const QUIET = new DefaultLogger('ERROR');

export interface DirectRun {
  readonly reconcile?: boolean;
  readonly full?: boolean;
  readonly allowDeletes?: boolean;
}

/**
 * A mirror without Temporal: the steps of the workflow and its activities, one attempt each, in this process. For tests that
 * need hundreds of runs.
 */
export class DirectMirror {
  readonly #connections;
  readonly #connection: string;
  readonly #writer = newWriter();
  #runId: RunId | null = null;
  #checkpoint: { readonly updatedSince: UtcSeconds } | null = null;

  constructor(
    settings: Settings,
    private readonly resource: string,
    /** Temporal's clock, milliseconds since 1970. */
    private readonly now: () => number,
    /** Time since each activity was first scheduled, ms. */
    private readonly elapsed = 0,
  ) {
    this.#connections = openConnections(settings);
    this.#connection = settings.connections[0]!.name;
  }

  get store() {
    return this.#connections.connection(this.#connection).store;
  }

  /** @throws the failure of a step */
  async run({
    reconcile = false,
    full = reconcile,
    allowDeletes = false,
  }: DirectRun = {}): Promise<PublishedRun> {
    const now = this.now();
    const runId = newRunId(now, this.#runId, Math.random().toString(16).slice(2, 10).padEnd(8, '0'));
    const ref = { connection: this.#connection, resource: this.resource, runId };
    const activities = this.#activities();
    const prepared = await activities['worktrack.prepareRun']({
      ...ref,
      ...{
        mode: full ? 'full' : 'increment',
        reconcile,
        adopt: false,
        allowDeletes,
        since: null,
        rollbackTo: null,
        resumable: null,
      },
      ...{ checkpoint: this.#checkpoint, publishedRunId: this.#runId, writer: this.#writer },
      ...{ displaced: false, startedAt: now, nominalStart: now },
    });
    const extraction = new Extraction(ref, activities, { staged: null, pageSize: null }, () => {});
    await extraction.read('list');
    const proxies = { long: activities, work: activities, allowDeletes };
    const deletes = prepared.reconcile ? await detectDeletes(ref, prepared, proxies, extraction) : null;
    const { merged, shifted } = await mergeSettled(extraction, (pass) => {
      const gone = deletes?.gone ?? null;
      return mergeStaged(ref, activities, { pass, stage: extraction.stage, gone, allowDeletes });
    });
    const published = await activities['worktrack.publish']({
      ...{ ...ref, stage: extraction.stage, plan: merged.plan, results: merged.results, shifted },
      unproven: deletes?.unproven ?? 0,
      ...(deletes === null ? {} : { deletesProblems: deletes.problems }),
    });
    this.#runId = runId;
    this.#checkpoint = published.checkpoint;
    return published;
  }

  /** The activities as a workflow calls them. */
  #activities(): LongActivities {
    const activities = createActivities(this.#connections);
    const call = (name: keyof Activities, input: unknown): Promise<unknown> => {
      const scheduled = {
        scheduledTimestampMs: this.now() - this.elapsed,
        currentAttemptScheduledTimestampMs: this.now(),
      };
      const activity = activities[name] as (given: unknown) => Promise<unknown>;
      const environment = new MockActivityEnvironment({ attempt: 1, ...scheduled }, { logger: QUIET });
      return environment.run(activity, input) as Promise<unknown>;
    };
    const proxies = Object.keys(activities).map((key) => {
      const name = key as keyof Activities;
      const proxy = Object.assign((input: unknown) => call(name, input), {
        executeWithOptions: (_options: object, [input]: readonly unknown[]) => call(name, input),
      });
      return [name, proxy];
    });
    return Object.fromEntries(proxies) as LongActivities;
  }

  close(): Promise<void> {
    return this.#connections.close();
  }
}
