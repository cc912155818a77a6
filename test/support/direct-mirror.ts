import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createActivities } from '../../activities/index.js';
import type { RunId, UtcSeconds } from '../../src/core/brands.js';
import type { Activities, PublishedRun } from '../../src/core/contract/index.js';
import type { Steps } from '../../src/core/phases/phase-steps.js';
import { runPhases } from '../../src/core/phases/run-phases.js';
import { newRunId } from '../../src/core/run-id.js';
import type { Settings } from '../../src/core/settings.js';
import { openConnections } from '../../src/temporal/worker/connections.js';
import { IN_LAKE } from './manual-mirror.js';
import { newWriter } from './writer.js';

/** A failed activity is part of a test. */
const QUIET = new DefaultLogger('ERROR');

export interface DirectRun {
  readonly reconcile?: boolean;
  readonly full?: boolean;
  readonly allowDeletes?: boolean;
}

/**
 * A mirror without Temporal: a run in the lake, with one attempt of each activity, in this process. For tests that need
 * hundreds of runs.
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
    const done = await this.#call(
      'worktrack.run',
      {
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
        ...{ displaced: false, startedAt: now, nominalStart: now, pageSize: null, hookedTo: null },
      },
      IN_LAKE,
    );
    if (done.kind !== 'spilled') throw new Error('the run was published in memory');
    const options = { prepared: done.prepared, pageSize: null, allowDeletes };
    const { publish } = await runPhases(this.#steps, ref, options);
    const published = await this.#call('worktrack.publish', publish);
    this.#runId = runId;
    this.#checkpoint = published.checkpoint;
    return published;
  }

  get #steps(): Steps {
    return {
      extractPages: (input) => this.#call('worktrack.extractPages', input),
      findAbsent: (input) => this.#call('worktrack.findAbsent', input),
      confirmDeletes: (input) => this.#call('worktrack.confirmDeletes', input),
      planMerge: (input) => this.#call('worktrack.planMerge', input),
      mergeParts: (input) => this.#call('worktrack.mergeParts', input),
    };
  }

  #call<N extends keyof Activities>(
    name: N,
    input: Parameters<Activities[N]>[0],
    attempt = 1,
  ): Promise<Awaited<ReturnType<Activities[N]>>> {
    const scheduled = {
      scheduledTimestampMs: this.now() - this.elapsed,
      currentAttemptScheduledTimestampMs: this.now(),
    };
    const activity = createActivities(this.#connections)[name] as (
      given: Parameters<Activities[N]>[0],
    ) => Promise<Awaited<ReturnType<Activities[N]>>>;
    const environment = new MockActivityEnvironment({ attempt, ...scheduled }, { logger: QUIET });
    return environment.run(activity, input);
  }

  close(): Promise<void> {
    return this.#connections.close();
  }
}
