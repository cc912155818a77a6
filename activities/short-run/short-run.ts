import { Context } from '@temporalio/activity';
import type { RunId } from '../../src/core/brands.js';
import type { Activities, ShortRun, ShortRunInput } from '../../src/core/contract/index.js';
import { MAX_SHORT_ATTEMPTS } from '../../src/core/mirror.js';
import { attemptRunIds } from '../../src/core/run-id.js';
import { dateOf, pointerKey, runFolder, stagingFolder } from '../../src/lake/published/layout.js';
import { readPointer } from '../../src/lake/published/pointer.js';
import { AttemptStore } from '../../src/lake/store/index.js';
import { createMergeParts } from '../merge/parts.js';
import { findPublishedAttempt } from '../publish/find-published.js';
import { withPublishMetrics } from '../publish/metrics.js';
import { createPublish } from '../publish/publish.js';
import { withHeartbeat } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { readRun } from '../shared/documents.js';
import { HeldMeter } from './held-meter.js';
import { planShortRun } from './plan.js';
import { removeExpired } from './remove-expired.js';
import { reportShortRun } from './report.js';

/** Memory of staged pages and of the base snapshot's part, in bytes. A larger run is no short one. */
const MAX_HELD_BYTES = 8 * 1024 * 1024;

/**
 * Does a whole run, if it has little to do (docs/explanation/architecture.md#short-runs). Prepare, extract and plan are
 * the functions of the separate steps, on a store whose staging folder is in memory. If these show a run that is not
 * short, or fail, the activity hands over and has written nothing. Otherwise it merges and publishes by the same rules as
 * the separate steps.
 *
 * After that, it writes the report, and removes the snapshots that have expired if nothing else has to be cleaned up.
 *
 * Each attempt has its own run id, so all its objects have their own names. A later attempt returns the result of an
 * earlier one that published its run.
 */
export function createShortRun(deps: ActivityDeps): Activities['worktrack.shortRun'] {
  return (input) => shortRun(deps, input);
}

// The steps send their own heartbeats. One around all of them would erase the details of those that extractPages sends.
async function shortRun(deps: ActivityDeps, input: ShortRunInput): Promise<ShortRun> {
  const { attempt } = Context.current().info;
  const ids = attemptRunIds(input.runId, attempt);
  const earlier = ids.slice(0, -1);
  const connection = deps.connection(input.connection);
  const find = (attempts: readonly RunId[]) => withHeartbeat(() => findPublishedBy(deps, input, attempts));
  const done = earlier.length === 0 ? null : await find(earlier);
  if (done !== null) return done;

  const run = { ...input, runId: ids.at(-1)! };
  const store = new AttemptStore(connection.store, ownKeys(run));
  const forgotten = await withHeartbeat(() => findForgotten(store, input));
  const repeated = forgotten === null ? null : await find([forgotten]);
  if (repeated !== null) return repeated;
  const meter = new HeldMeter(deps.meter);
  const view: ActivityDeps = {
    now: deps.now,
    origin: deps.origin,
    meter,
    // One page is all that a short run reads.
    draining: () => true,
    connection: (name) => (name === input.connection ? { ...connection, store } : deps.connection(name)),
  };
  const planned = await planShortRun(view, store, run);
  if (planned.kind === 'handed-over') {
    Context.current().log.info('the separate steps do this run', { reason: planned.reason });
    return { ...planned, attempt };
  }
  store.beginWriting();
  meter.release();
  const { ref, stage, plan, batches, pageSize } = planned;
  const results = [];
  for (let batch = 0; batch < batches; batch++) {
    const { result } = await createMergeParts(view)({ ...ref, plan, pass: 0, batch });
    results.push(result);
  }
  const publish = withPublishMetrics(view, createPublish(view));
  const published = await publish({ ...ref, stage, plan, results, shifted: false, unproven: 0 });
  const runId = published.runId ?? ref.runId;
  const { retention } = await readRun(store, ref);
  const result = { kind: 'published', attempt, runId, run: published, pageSize, retention } as const;
  if (runId !== ref.runId) return { ...result, reported: false };
  return withHeartbeat(async () => {
    const recent = await reportShortRun(deps, store, { ...ref, ...published });
    if (recent === null || input.expired === undefined) return { ...result, reported: recent !== null };
    const expired = { ...ref, due: input.expired, retention, recent, now: published.publishedAt };
    const due = await removeExpired(connection.store, expired);
    return { ...result, reported: true, ...(due === null ? {} : { due }) };
  });
}

/**
 * The attempt of this run that `latest.json` names; `null` for none. A server that has forgotten attempts, for example after a
 * reset of the activity, counts from one again. What is wrong with `latest.json` fails a step of the run.
 */
async function findForgotten(store: AttemptStore, { resource, runId }: ShortRunInput): Promise<RunId | null> {
  const pointer = await readPointer(store, resource).catch(() => null);
  return attemptRunIds(runId, MAX_SHORT_ATTEMPTS).find((id) => id === pointer?.runId) ?? null;
}

/** The result of one of the attempts, if it published its run. */
async function findPublishedBy(
  deps: ActivityDeps,
  { connection, resource, nominalStart }: ShortRunInput,
  attempts: readonly RunId[],
): Promise<ShortRun | null> {
  const { store, settings } = deps.connection(connection);
  const place = { connection, resource: { name: resource }, nominalStart };
  const run = await findPublishedAttempt(store, place, attempts);
  if (run === null) return null;
  const { attempt } = Context.current().info;
  const { retention } = settings;
  return {
    kind: 'published',
    attempt,
    runId: run.runId,
    run,
    pageSize: null,
    retention,
    reported: false,
  };
}

function ownKeys({ resource, runId, nominalStart }: ShortRunInput) {
  const date = dateOf(nominalStart);
  return {
    staging: `${stagingFolder(resource, runId)}/`,
    folders: (['snapshots', 'changes'] as const).map((tree) => `${runFolder(resource, tree, date, runId)}/`),
    pointer: pointerKey(resource),
    maxBytes: MAX_HELD_BYTES,
  };
}
