import { listName } from '../../api/index.js';
import type { RunId, UtcSeconds } from '../../core/brands.js';
import type {
  MirrorState,
  PublishedHook,
  PublishedMode,
  PublishedRun,
  RunInput,
} from '../../core/contract/index.js';
import { HOUR_MS } from '../../core/duration.js';
import { sizeToTry } from '../../core/learned-page-size.js';
import { MAX_REREADS } from '../../core/mirror-requests.js';
import { ALL_REMOVED } from '../../core/removal.js';
import { withRowSettings } from '../../core/row-settings.js';
import type { ConnectionSettings, ResourceSettings } from '../../core/settings.js';
import { removalWarnings, type Warning } from '../../core/warnings.js';
import type { Organization } from '../../lake/documents/document-schemas.js';
import type { FoundPointer } from '../../lake/documents/pointer.js';
import type { BaseSnapshot, RollbackTarget, RunAudit, RunFile } from '../../lake/documents/run-file.js';
import { changeDates } from '../../lake/published/run-folders.js';
import { ColumnSet } from '../../lake/rows/data-columns.js';
import type { DeletedRule } from '../../lake/rows/deletion-mark.js';
import { keyFingerprint } from '../../lake/rows/profile.js';
import type { ObjectStore } from '../../lake/store/index.js';
import type { AttemptProgress } from '../activity-context.js';
import { canDetectDeletes, isAskedById } from '../delete-rules.js';
import type { OpenConnection } from '../deps.js';
import { finalFailure } from '../failures.js';
import { isFullReadDue } from '../full-read.js';
import { withMaskingFingerprint } from '../masking-secret.js';
import { checkIsEmpty, checkIsNewId, passFence, readBaseSnapshot } from '../pass-fence.js';
import { findPublishedAttempt } from '../publish/find-published.js';
import type { WriteTrial } from './conditional-writes.js';
import { checkKey, checkOrganization } from './organization.js';
import { findResumable } from './resume.js';
import { readIntactHead, readTarget } from './rollback.js';
import { changeOf, earlierListOf, shapesOf } from './settings-change.js';

/** What a prepared run begins with, or the run that an earlier attempt of the request has published. */
type Preparation =
  | { readonly kind: 'prepared'; readonly run: RunFile }
  | { readonly kind: 'published'; readonly run: PublishedRun & { readonly runId: RunId } };

/**
 * Reads the configuration and the pointer, checks that this mirror may write, and determines the settings that the run uses
 * from start to end. It begins the trial of the store, and writes nothing else. A mirror without state continues from the
 * snapshot in the lake.
 */
export async function prepareRun(
  connection: OpenConnection,
  input: RunInput,
  {
    now,
    worker,
    origin,
    progress,
    trial,
  }: {
    readonly now: () => number;
    readonly worker: () => number;
    readonly origin: string;
    readonly progress: AttemptProgress;
    readonly trial: WriteTrial;
  },
): Promise<Preparation> {
  const { settings, store } = connection;
  const known = settings.resources.find(({ name }) => name === input.resource);
  if (known === undefined) {
    throw finalFailure(
      'Configuration',
      `connection "${input.connection}" has no resource "${input.resource}" in ${origin}. Add it to the worker's file, and reload the worker or restart it; or stop exporting it.`,
    );
  }
  const own = { resource: known, tables: settings.tables };
  const used = input.dryRun?.settings === undefined ? own : withRowSettings(own, input.dryRun.settings);
  const resource = await withMaskingFingerprint(settings, used.resource);
  const claim = { ...input, baseUrl: settings.baseUrl };
  // Each answer of a distant store takes long. The lake of a mirror without state is empty most of the time.
  const dates = input.publishedRunId === null ? changeDates(store, input.resource) : undefined;
  dates?.catch(() => {});
  const { found, outcome, movedFrom, renamedFrom, leftBehind } = await passFence(store, claim);
  if (found !== null && found.pointer.runId !== input.publishedRunId && input.dryRun === undefined) {
    const published = await findPublishedAttempt(store, { ...input, resource }, found.pointer);
    if (published !== null) return { kind: 'published', run: published };
  }
  const newest = found === null ? await checkIsEmpty(store, input, dates) : null;
  if (found !== null) checkIsNewId(found, input);
  // Only now, because it writes to the lake.
  trial.begin();
  const { before, warnings: fromHead } = await readHead(store, found, input, progress);
  const audit = auditOf(input, before, resource, settings);
  const rollback =
    input.rollbackTo === null
      ? null
      : await readTarget(store, input, input.rollbackTo, found?.pointer ?? null);
  const warnings: Warning[] = [
    ...(input.notContinued ? [{ kind: 'not-continued', ...input.notContinued } as const] : []),
    ...[...fromHead, ...removalWarnings(input.refused ?? ALL_REMOVED)],
  ];
  const { isNew, ...organization } =
    rollback === null ? await checkKey(connection, resource, before, input) : keptKeys(before);
  if (before !== null) {
    checkRowKey(resource, before);
    if (rollback !== null) checkRowKey(resource, rollback);
    checkDelimiter(resource, before);
    // `--adopt` overrides the organization check, but not for a lake of another address or name, which may be another's.
    const isOther = movedFrom !== null || renamedFrom !== null;
    const asksService = rollback === null && !isNew && (!input.adopt || isOther);
    if (asksService) warnings.push(...(await checkOrganization(connection, { movedFrom, renamedFrom })));
    warnings.push(...adoptedWarnings(settings, movedFrom, renamedFrom));
  }
  const checkpoint = checkpointOf(input, before, outcome);
  const change = before === null ? null : changeOf(resource, before);
  const isAdopted = organization.basis === 'adopted';
  const earlierList = before === null ? null : earlierListOf(resource, before, movedFrom, isAdopted);
  const isNewList =
    before !== null && (before.list.path !== listName(resource) || movedFrom !== null || isAdopted);
  // After a rollback, the list decides what is current; until then, what the target says stays.
  const isAfterRollback = before !== null && before.rolledBack !== null && input.since === null;
  const isDue =
    before !== null &&
    // A request with `since` is for one period, so it does not start a full read.
    input.since === null &&
    isFullReadDue(before.fullRead, input.startedAt, settings.sync.reconcileEveryMs);
  const mustReturn = isAfterRollback && (isDue || (before.fullRead?.shifted ?? 0) <= 1);
  // Records that were read before this setting may say that they are deleted.
  const isNewMark = before !== null && isOtherMark(before.list.deleted ?? null, resource.deleted);
  // Rows of an earlier list are not deleted because a new list does not have them.
  const mayConclude = earlierList === null || input.allowDeletes;
  const mayReconcile =
    before !== null &&
    before.rolledBack === null &&
    rollback === null &&
    (input.reconcile || isDue || isNewMark) &&
    mayConclude &&
    canDetectDeletes(resource);
  // An audit takes absence for a delete only if the service confirms it by id.
  const mayAsk = audit?.sample !== undefined || canDetectDeletes(resource);
  const reconcile = audit === null ? mayReconcile : mayAsk && isAskedById(resource);
  if (input.reconcile && isAfterRollback)
    warnings.push({ kind: 'no-deletes-after-rollback', resource: resource.name });
  // A service at a new address may be a restored backup, whose `updatedAt` values do not show what changed.
  const mustReadAll =
    checkpoint === null || before === null || isNewList || isNewMark || change?.mustRead === true;
  const reads = mustReadAll || reconcile || isDue || mustReturn ? 'full' : input.mode;
  const ofRun: PublishedMode = rollback === null ? reads : 'rollback';
  // A sample reads the changes from the list, and its rows by id.
  const mode = audit === null ? ofRun : audit.sample === undefined ? 'full' : 'increment';
  // Otherwise, rows differ for other reasons.
  const comparesIncrements =
    audit !== null ||
    (mode === 'full' &&
      !mustReadAll &&
      !isAfterRollback &&
      earlierList === null &&
      before.fullRead?.shifted === 0);
  const request = {
    writer: input.writer,
    connection: input.connection,
    baseUrl: settings.baseUrl,
    resource,
    mode,
    updatedSince: mode === 'increment' ? (input.since ?? checkpoint) : null,
    checkpoint,
    before,
    rollback,
  };
  const resumable =
    input.resumable === null || rollback !== null || audit !== null
      ? null
      : await findResumable(connection, { ...request, organization }, input.resumable, input.startedAt);
  if (resumable?.warning !== undefined) warnings.push(resumable.warning);
  const pages = resumable?.pages ?? null;
  const readSince = pages?.readSince ?? input.startedAt;
  const clocks = pages?.clocks ?? { temporal: now(), worker: worker(), store: store.serverTime() };
  const { runId, startedAt, nominalStart, acceptChecks } = input;
  const { sync, http, retention, retries } = settings;
  const pageSize = sizeToTry(input.pageSize, sync.pageSize) ?? sync.pageSize;
  const acceptedPageSize = input.pageSize?.learned ?? before?.fullRead?.pageSize ?? pageSize;
  const isOnlyDue =
    mode === 'full' &&
    audit === null &&
    input.mode === 'increment' &&
    isDue &&
    !(mustReadAll || input.reconcile || mustReturn) &&
    // Without a due date, a list that shifted is read again, too.
    !isFullReadDue(before.fullRead, input.startedAt, null);
  const left = new Set([leftBehind, newest].filter((runId) => runId !== null));
  const run: RunFile = {
    ...{ ...request, runId, startedAt, nominalStart, ...(acceptChecks && { acceptChecks }) },
    ...{ sync, http, retention, tables: used.tables, giveUpAfterMs: retries.giveUpAfterMs },
    allowDeletes: input.allowDeletes,
    pageSize,
    ...(acceptedPageSize < pageSize && { acceptedPageSize }),
    ...(isOnlyDue && { isOnlyDue }),
    onPublished: input.dryRun === undefined ? hookOf(settings) : null,
    ...(input.dryRun && { dryRun: { cells: input.dryRun.cells ?? null } }),
    ...(audit && { audit }),
    ...{ readSince, clocks, ...formerAddresses(found, movedFrom) },
    warnings,
    reconcile,
    ...(comparesIncrements && { comparesIncrements }),
    shapes: shapesOf(resource, before, rollback, readSince),
    settingsChange: change,
    earlierList,
    columns: new ColumnSet(resource.key, before?.columns ?? []).toColumns(),
    resumed: pages?.resumed ?? null,
    organization: { ...organization, keys: pages?.keys ?? organization.keys },
    leftBehind: [...left, ...(before?.leftBehind ?? [])],
  };
  return { kind: 'prepared', run };
}

/** How much later than planned a full read may begin: the time between two runs of a nightly Schedule, and a little more. */
const LATE_MS = 26 * HOUR_MS;

/**
 * What an audit compares; `null`: the run is none.
 *
 * @throws a final failure if nothing is published
 */
function auditOf(
  { dryRun, startedAt }: RunInput,
  before: BaseSnapshot | null,
  resource: ResourceSettings,
  { sync: { reconcileEveryMs: every } }: ConnectionSettings,
): RunAudit | null {
  const request = dryRun?.audit;
  if (request === undefined) return null;
  const { name, windowMs } = resource;
  if (before === null) {
    const remedy = `Publish it first: worktrack export --resource ${name}`;
    throw finalFailure('Lake', `${name}: nothing is published, so there is nothing to audit. ${remedy}`);
  }
  const last = before.fullRead === null ? 0 : Date.parse(before.fullRead.startedAt);
  const isDue = every === null || startedAt - last > every + LATE_MS;
  const { sample, maxRequests } = request;
  const most = maxRequests === undefined ? undefined : mostPerReading(name, maxRequests);
  const share = sample && most ? Math.min(sample, most / Math.max(1, before.rows)) : sample;
  // A sample also has rows outside of the window, whose records the service may have forgotten.
  const isKnown = canDetectDeletes(resource) && (sample === undefined || windowMs === null);
  const absent = !isKnown ? 'notComparable' : isDue ? 'extra' : 'notYetLookedFor';
  return { ...(share !== undefined && { sample: share }), ...(most !== undefined && { most }), absent };
}

/** Requests that are no page of a list and no row of a sample: of the organization, of tests of the list and of the endpoint by id. */
const OTHER_REQUESTS = 60;
/** Each of `1 + MAX_REREADS` times, an audit reads the list, the changes, and records by id. */
const READINGS = 3 * (1 + MAX_REREADS);

function mostPerReading(name: string, maxRequests: number): number {
  const most = Math.floor((maxRequests - OTHER_REQUESTS) / READINGS);
  if (most >= 1) return most;
  throw finalFailure(
    'Configuration',
    `${name}: the limit leaves ${maxRequests} requests for this resource, and an audit needs at least ` +
      `${OTHER_REQUESTS + READINGS}. Raise --max-requests, or audit fewer resources with --resource.`,
  );
}

/** What starts after each published run: the user's workflow, or the one that announces the run to targets of `notify`. */
export function hookOf({ onPublished, notify }: ConnectionSettings): PublishedHook | null {
  return onPublished ?? (notify.some(({ published }) => published !== null) ? 'announce' : null);
}

/**
 * Where the workflows of `onPublished` begin. A new mirror, or a newly configured workflow, begins after the run that the
 * current run is based on.
 */
export function hookedToOf(
  { dryRun, hookedTo }: Pick<RunInput, 'dryRun' | 'hookedTo'>,
  { onPublished, before }: Pick<RunFile, 'onPublished' | 'before'>,
): MirrorState['hookedTo'] {
  if (dryRun !== undefined) return hookedTo;
  return onPublished === null ? null : (hookedTo ?? before?.runId ?? 'beginning');
}

function isOtherMark(before: DeletedRule, today: DeletedRule): boolean {
  return today !== null && JSON.stringify(before) !== JSON.stringify(today);
}

/** The addresses that the service had before. A batch that has written there continues here. */
function formerAddresses(
  found: FoundPointer | null,
  movedFrom: string | null,
): Pick<RunFile, 'formerBaseUrls'> {
  const before = found?.pointer.formerBaseUrls ?? [];
  const all = new Set([...before, ...(movedFrom === null ? [] : [movedFrom])]);
  return all.size === 0 ? {} : { formerBaseUrls: [...all] };
}

/** The snapshot that the run is based on; `null`: nothing is published. */
async function readHead(
  store: ObjectStore,
  found: FoundPointer | null,
  { rollbackTo }: RunInput,
  progress: AttemptProgress,
): Promise<{ readonly before: BaseSnapshot | null; readonly warnings: readonly Warning[] }> {
  if (found === null) return { before: null, warnings: [] };
  if (rollbackTo === null) return { before: await readBaseSnapshot(store, found), warnings: [] };
  return readIntactHead(store, found, progress);
}

/** What a run says that has adopted a lake of another address or name. */
function adoptedWarnings(
  { baseUrl, name }: ConnectionSettings,
  movedFrom: string | null,
  renamedFrom: string | null,
): Warning[] {
  return [
    ...(movedFrom === null ? [] : [{ kind: 'moved', from: movedFrom, to: baseUrl } as const]),
    ...(renamedFrom === null ? [] : [{ kind: 'renamed', from: renamedFrom, to: name } as const]),
  ];
}

/** Rows are identified by their key. With a different key, the snapshot would hold the same record twice. */
function checkRowKey(resource: ResourceSettings, before: RollbackTarget): void {
  if (keyFingerprint(resource) === keyFingerprint(before.profile)) return;
  throw finalFailure(
    'Configuration',
    `${resource.name}: the key (${resource.key.join(', ')}), its masking or \`masking.secret\` differs from ` +
      `the snapshot of run ${before.runId} (key ${before.profile.key.join(', ')}). Restore the setting, or give the ` +
      'connection a new lake URL to start with an empty lake.',
  );
}

/** Query engines read the change logs of all runs together, with one delimiter. The compression can differ: files show it. */
function checkDelimiter({ name, csv }: ResourceSettings, { runId, profile }: BaseSnapshot): void {
  const { delimiter } = profile.csv;
  if (csv.delimiter === delimiter) return;
  throw finalFailure(
    'Configuration',
    `${name}: \`csv.delimiter\` is ${JSON.stringify(csv.delimiter)}, but the change logs up to run ${runId} have ` +
      `${JSON.stringify(delimiter)}. Restore the setting, or give the connection a new lake URL to start with an empty lake.`,
  );
}

/** An adopted snapshot brings its own checkpoint; the mirror's checkpoint belongs to another snapshot. */
function checkpointOf(input: RunInput, before: BaseSnapshot | null, fence: string): UtcSeconds | null {
  if (fence === 'empty') return null;
  if (fence === 'adopted') return before?.checkpoint ?? null;
  return input.checkpoint?.updatedSince ?? before?.checkpoint ?? null;
}

/** The organization of a run that does not ask the service. */
function keptKeys(before: BaseSnapshot | null): Organization & { readonly isNew: boolean } {
  return { keys: before?.organization?.keys ?? [], basis: 'same-key', isNew: false };
}
