import { Context } from '@temporalio/activity';
import type { RunId } from '../../src/core/brands.js';
import type { Activities, ShortRun, ShortRunInput, ShortSweep } from '../../src/core/contract/index.js';
import { errorMessage } from '../../src/core/errors.js';
import { MAX_SHORT_ATTEMPTS, sweepWarning } from '../../src/core/mirror.js';
import { attemptRunIds } from '../../src/core/run-id.js';
import { dateOf, folderOf, pointerKey, runFolder, stagingFolder } from '../../src/lake/published/layout.js';
import { decodeManifest } from '../../src/lake/published/manifest.js';
import { readPointer } from '../../src/lake/published/pointer.js';
import { AttemptStore } from '../../src/lake/store/index.js';
import { createMergeParts } from '../merge/parts.js';
import { findPublishedAttempt } from '../publish/find-published.js';
import { withPublishMetrics } from '../publish/metrics.js';
import { createPublish } from '../publish/publish.js';
import { withHeartbeat } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { sweepResource } from '../sweep/sweep-resource.js';
import { HeldMeter } from './held-meter.js';
import { planShortRun } from './plan.js';

/** Memory of staged pages and of the base snapshot's part, in bytes. A larger run is no short one. */
const MAX_HELD_BYTES = 8 * 1024 * 1024;

/**
 * Does a whole run, if it has little to do (docs/explanation/how-it-works.md#short-runs). Prepare, extract and plan are
 * the functions of the separate steps, on a store whose staging folder is in memory. If these show a run that is not
 * short, or fail, the activity hands over and has written nothing. Otherwise it merges and publishes by the same rules as
 * the separate steps.
 *
 * After that, it sweeps if that is due.
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
  // A delayed attempt has published the run instead. The sweep is then a separate activity.
  if (runId !== ref.runId) return { kind: 'published', attempt, runId, run: published, pageSize: null };
  const result = { kind: 'published', attempt, runId, run: published, pageSize } as const;
  const task: ShortSweep | undefined =
    earlier.length > 0 ? { before: null, scope: 'all', ended: [], ...input.sweep } : input.sweep;
  if (task === undefined) return result;
  return withHeartbeat(async () => {
    try {
      const { snapshot } = published;
      const manifest = decodeManifest(await store.read(snapshot), folderOf(snapshot));
      const { isDone, refused } = await sweepResource(connection.store, {
        ...{ ...ref, ...task, head: manifest, replaced: [...earlier, ...task.ended] },
        ...{ writer: input.writer, settings: connection.settings.retention, now: published.publishedAt },
        signal: Context.current().cancellationSignal,
      });
      return { ...result, swept: { before: task.before, isDone, refused } };
    } catch (error) {
      const message = errorMessage(error);
      Context.current().log.warn('the sweep failed; the next one repeats it', { error: message });
      return { ...result, run: { ...published, warnings: [...published.warnings, sweepWarning(message)] } };
    }
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
  const { store } = deps.connection(connection);
  const place = { connection, resource: { name: resource }, nominalStart };
  const run = await findPublishedAttempt(store, place, attempts);
  if (run === null) return null;
  const { attempt } = Context.current().info;
  return { kind: 'published', attempt, runId: run.runId, run, pageSize: null };
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
