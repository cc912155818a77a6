import type { Millis, RunId, UtcSeconds } from '../../core/brands.js';
import type {
  ActiveRun,
  LearnedPageSize,
  MirrorStatus,
  RunError,
  RunOutcome,
} from '../../core/contract/index.js';
import { behindSince, countNights, DEFAULT_MAX_AGE_MS, type Nights } from '../../core/data-age.js';
import { judgeResource, type Verdict } from '../../core/resource-state.js';
import { parseRunDate } from '../../core/run-id.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { Pointer } from '../../lake/documents/pointer.js';
import type { ObjectStore } from '../../lake/store/index.js';
import type { TemporalClient } from '../client/connect.js';
import { ownerProblem, type PublishedFacts, publishedFacts, readLake } from './read-lake.js';
import { type MirrorRead, readMirror } from './read-mirror.js';
import { readUnsuccessfulRuns, type UnsuccessfulRun } from './run-log.js';
import { silenceSentences } from './silence.js';

/** A run in progress. What only its mirror knows is `null` if the mirror does not answer. */
export type StatusRun = { readonly [Field in keyof ActiveRun]: ActiveRun[Field] | null } & Pick<
  MirrorRead,
  'retrying' | 'waitingUntil' | 'storeLimit' | 'unpause'
>;

/** The status of a mirrored resource, and what it amounts to. */
export interface ResourceStatus extends Verdict, Omit<PublishedFacts, 'runs'> {
  readonly name: string;
  readonly checkpoint: { readonly updatedSince: UtcSeconds } | null;
  /** Rows of the current snapshot, including tombstones. */
  readonly rows: number | null;
  /** The last run, rollbacks included. */
  readonly lastRun: {
    readonly runId: RunId | null;
    readonly outcome: RunOutcome;
    /** When the run was published, ISO 8601; `null` if it was not. */
    readonly publishedAt: string | null;
  } | null;
  /** When the current snapshot was published, ISO 8601; a later failed run does not change it. */
  readonly snapshotAt: string | null;
  /** Start of the run that published the current snapshot, ISO 8601: the snapshot shows the service as it was then. */
  readonly dataAsOf: string | null;
  /** Why the last run was not published, or why the resource cannot be written or read. */
  readonly error: RunError | null;
  /** `null` if no run is in progress. */
  readonly active: StatusRun | null;
  /** After a rollback, until a complete full read is published. */
  readonly rolledBack: { readonly from: RunId; readonly to: RunId } | null;
  /** Nominal start of the scheduled run that the published data lacks, ISO 8601. */
  readonly behindSince: string | null;
  /** Starts of the Schedule in the last week, and those that no published run has followed; `null`: not known. */
  readonly nights: Nights | null;
  /** `null` if the configured page size is in use, or if the page size is not known. */
  readonly pageSize: LearnedPageSize | null;
  /** The connection of another name or URL that owns the lake, and what to do; absent: it belongs to this one. */
  readonly owner?: string;
  /** Why its mirror did not answer, and what to do; `null` if it did. */
  readonly silence: string | null;
  /** The source of this status; `null` if neither its mirror nor `latest.json` exists or answers. */
  readonly source: 'mirror' | 'latest.json' | null;
}

export interface StatusOptions {
  /** Time limit of a mirror's answer. Default: 4,000. */
  readonly timeoutMs?: Millis | undefined;
  /** Whether a worker polls the task queue. If none does, no mirror is asked. Default: not known. */
  readonly hasWorker?: boolean | null;
  /** Nominal start of the last run that the Schedule started; default: not known. */
  readonly lastScheduled?: Date | null;
  /** When the Schedule was due in the last week, oldest first; default: not known. */
  readonly due?: readonly Date[] | null;
  /** The largest age of data that is not stale. Default: 26 hours. */
  readonly maxAgeMs?: Millis;
  /** Called with each SDK error that leaves a run unknown, such as one that failed after the last published run. */
  readonly onUnknown?: ((error: unknown) => void) | undefined;
}

/**
 * The status of each resource of a connection, combined from its mirror, the server and `latest.json`. If the mirror does
 * not answer, the data comes from `latest.json`, and failures from the exports that ended.
 *
 * @param temporal `null` if Temporal is unreachable
 * @throws StoreError if the lake cannot be read, and the mirror does not answer either
 * @example
 * const resources = await readStatus(temporal, connection, store);
 * for (const { name, state, rows, error } of resources) console.log(name, state, rows, error?.message);
 */
export function readStatus(
  temporal: TemporalClient | null,
  connection: ConnectionSettings,
  store: ObjectStore,
  options: StatusOptions = {},
): Promise<ResourceStatus[]> {
  let ended: Promise<readonly UnsuccessfulRun[]> | null = null;
  const endedRuns = (): Promise<readonly UnsuccessfulRun[]> => {
    ended ??=
      temporal === null ? Promise.resolve([]) : readUnsuccessfulRuns(temporal, connection.name, options);
    return ended;
  };
  return Promise.all(
    connection.resources.map(({ name }) =>
      readResource({ temporal, connection, store, name, options, endedRuns }),
    ),
  );
}

interface Reading {
  readonly temporal: TemporalClient | null;
  readonly connection: ConnectionSettings;
  readonly store: ObjectStore;
  readonly name: string;
  readonly options: StatusOptions;
  /** The ended runs of the connection that were not published; read once, if a mirror does not answer. */
  readonly endedRuns: () => Promise<readonly UnsuccessfulRun[]>;
}

async function readResource(reading: Reading): Promise<ResourceStatus> {
  const { options, name } = reading;
  const { hasWorker = null, maxAgeMs = DEFAULT_MAX_AGE_MS } = options;
  const at = Date.now();
  let read = await readBoth(reading);
  // A run may have published between the two answers.
  if (read.denied !== null) read = await readBoth(reading);
  const { lake, mirror, denied } = read;
  const status = mirror?.status ?? null;
  if (status === null && lake.error !== null) throw lake.error;
  const pointer = denied === null ? lake.pointer : null;
  const foreign = lake.pointer === null ? null : denied;
  const problem = lake.problem ?? (lake.pointer === null ? denied : null);
  const { runs, ...known } = await knownOf(reading, status, pointer);
  const active = activeOf(mirror);
  const rolledBack = rolledBackOf(pointer);
  const due = options.lastScheduled?.getTime() ?? null;
  const behind = pointer && behindSince(due, parseRunDate(pointer.runId), at);
  const { checkpoint, lastRun } = known;
  const facts = {
    problem,
    owner: foreign === null ? null : (lake.owner ?? foreign),
    active: active && { startedAt: active.startedAt, retrying: active.retrying?.error ?? null },
    hasWorker,
    lastRun: lastRun && {
      outcome: lastRun.outcome,
      startedAt: lastRun.runId === null ? null : parseRunDate(lastRun.runId),
      error: known.error,
    },
    dataFrom: checkpoint === null ? null : Date.parse(checkpoint.updatedSince),
    rolledBack: rolledBack !== null,
    behindSince: behind,
  };
  const error = foreign ?? problem;
  return {
    name,
    ...known,
    nights: pointer && nightsOf(runs, reading, active !== null),
    // The data of another owner is not that of this connection.
    ...(foreign === null ? {} : { rows: null, snapshotAt: null, dataAsOf: null, checkpoint: null }),
    ...judgeResource(facts, { maxAgeMs, at }),
    error: error === null ? known.error : { type: foreign === null ? 'Lake' : 'Displaced', message: error },
    active,
    ...(lake.owner === null ? {} : { owner: lake.owner }),
    rolledBack,
    behindSince: behind === null ? null : new Date(behind).toISOString(),
    silence: mirror?.silence == null ? null : silenceSentences(mirror.silence),
    source: status !== null ? 'mirror' : pointer === null ? null : 'latest.json',
  };
}

async function readBoth({ temporal, connection, store, name, options }: Reading) {
  const { timeoutMs, hasWorker = null } = options;
  const [lake, mirror] = await Promise.all([
    readLake(store, connection, name),
    temporal &&
      readMirror(temporal, connection.name, name, { timeoutMs, hasWorker }).catch((error: unknown) => {
        // The lake is left.
        options.onUnknown?.(error);
        return null;
      }),
  ]);
  const status = mirror?.status ?? null;
  const isIdle = status !== null && status.active === null;
  const denied =
    lake.problem === null
      ? await ownerProblem(store, lake.pointer, connection, name, isIdle ? status : null)
      : null;
  return { lake, mirror, denied };
}

/** @param runs the published runs that are known, newest first */
function nightsOf(
  runs: readonly RunId[],
  { options, connection }: Reading,
  isActive: boolean,
): Nights | null {
  const starts = runs.map(parseRunDate);
  const oldest = starts.at(-1);
  if (oldest === undefined) return null;
  // Nothing is known of the time before: the resource may be new.
  const due = options.due?.map((time) => time.getTime()).filter((time) => time >= oldest);
  // The run in progress may still publish for the last start.
  if (isActive) due?.pop();
  return due === undefined || due.length === 0
    ? null
    : countNights(due, starts, connection.schedule.jitterMs);
}

type Known = Omit<
  ResourceStatus,
  keyof Verdict | 'name' | 'active' | 'rolledBack' | 'behindSince' | 'nights' | 'silence' | 'owner' | 'source'
> & { readonly runs: readonly RunId[] };

/** What the mirror says; if it does not answer, what the lake and the exports that ended say. */
async function knownOf(
  { name, store, endedRuns }: Reading,
  status: MirrorStatus | null,
  pointer: Pointer | null,
): Promise<Known> {
  const current = pointer ?? status?.published ?? null;
  const snapshotAt = current && new Date(current.publishedAt).toISOString();
  const since = pointer === null ? Number.NEGATIVE_INFINITY : parseRunDate(pointer.runId);
  const ended =
    status === null
      ? (await endedRuns()).find((run) => run.resource === name && run.startedAt > since)
      : status.lastRun;
  const published = { outcome: 'published', warnings: [], error: null } as const;
  const last = ended ?? (pointer && { ...published, runId: pointer.runId });
  const isPublished = last?.outcome === 'published' && last.runId === current?.runId;
  const facts =
    status === null
      ? await publishedFacts(store, pointer)
      : { ...factsOf(status, last?.warnings ?? []), ...(await onlyInManifest(store, pointer)) };
  return {
    checkpoint: status?.checkpoint ?? pointer?.checkpoint ?? null,
    rows: current?.rows ?? null,
    snapshotAt,
    dataAsOf: current && new Date(parseRunDate(current.runId)).toISOString(),
    pageSize: status?.pageSize ?? null,
    ...facts,
    lastRun: last && {
      runId: last.runId,
      outcome: last.outcome,
      publishedAt: isPublished ? snapshotAt : null,
    },
    error: last?.error ?? null,
  };
}

/** What no mirror knows: the API key, and earlier runs. A manifest that cannot be read is what `verify` reports. */
async function onlyInManifest(store: ObjectStore, pointer: Pointer | null) {
  const { organization, runs } = await publishedFacts(store, pointer).catch(() => ({
    ...{ organization: null, runs: [] },
  }));
  return { organization, runs };
}

/** What a mirror says about its last run. */
function factsOf({ published, tableWarning }: MirrorStatus, warnings: readonly string[]) {
  // The run that the table does not show may not be the last one.
  const table = tableWarning === undefined ? [] : [tableWarning];
  return {
    warnings: [...new Set([...warnings, ...table])],
    deletes: published?.deletes ?? null,
    checks: published?.checks ?? null,
    missedByIncrements: published?.missed ?? null,
  };
}

function rolledBackOf(pointer: Pointer | null): ResourceStatus['rolledBack'] {
  const { from, to } = pointer?.rolledBack ?? {};
  return from === undefined || to === undefined ? null : { from, to };
}

const UNKNOWN = {
  ...{ runId: null, startedAt: null, phase: null, mode: null },
  ...{ pages: null, rows: null, resumed: null },
} as const;

function activeOf(mirror: MirrorRead | null): StatusRun | null {
  if (mirror === null) return null;
  const { status, isBusy, retrying, waitingUntil, storeLimit, unpause } = mirror;
  const step = { retrying, waitingUntil, storeLimit, unpause };
  if (status === null) return isBusy ? { ...UNKNOWN, ...step } : null;
  return status.active === null ? null : { ...status.active, ...step };
}
