import type { EpochMs, ObjectKey, RunId, UtcSeconds } from '../../core/brands.js';
import type { AuditRequest, PublishedMode, RunInput, RunPublished } from '../../core/contract/index.js';
import type { ConnectionSettings, ResourceSettings } from '../../core/settings.js';
import type { StoredWarning } from '../../core/warnings.js';
import type { Column } from '../rows/data-columns.js';
import type { Profile, ReadyProfile } from '../rows/profile.js';
import type { SettingsChange, Shape } from '../rows/shapes.js';
import type { Organization, RolledBack } from './document-schemas.js';
import { dateOf, runFolder, type Tree } from './lake-layout.js';
import type { ClockTimes, Manifest } from './manifest.js';
import type { Stage } from './stage-file.js';

/** What a run needs to know of a published snapshot. The fields that it shares with the manifest are as there. */
interface SnapshotFacts
  extends Pick<Manifest, 'runId' | 'fingerprint' | 'columns' | 'parts' | 'list' | 'shapes'> {
  readonly checkpoint: UtcSeconds;
  /** Up to when everything was read. */
  readonly readUpTo: ClockTimes;
  /** The profile of its rows. */
  readonly profile: Profile;
}

/** Fields of the manifest that the next run continues. */
type Continued =
  | 'fullRead'
  | 'rolledBack'
  | 'deletes'
  | 'organization'
  | 'changesLineBreaks'
  | 'previousRuns'
  | 'leftBehind'
  | 'uniques'
  | 'measured'
  | 'checkedTypes';

/** The base snapshot of a run. */
export interface BaseSnapshot extends SnapshotFacts, Pick<Manifest, Continued> {
  readonly etag: string;
  readonly manifest: ObjectKey;
  readonly startedAt: EpochMs;
  readonly publishedAt: EpochMs;
  readonly rows: number;
}

/** Clocks of several machines at one moment. */
export interface RunClocks {
  readonly temporal: EpochMs;
  readonly worker: EpochMs;
  /** `null`: a folder, or a store that sends no `Date`. */
  readonly store: EpochMs | null;
}

/** The target of a rollback: a published snapshot, read as a complete list. */
export type RollbackTarget = SnapshotFacts;

/**
 * The settings and state that a run uses from start to end, even if the configuration changes meanwhile
 * (docs/explanation/how-it-works.md#one-run). They are a part of the run's journal. They contain no secret.
 */
export interface RunFile
  extends Pick<
      RunInput,
      'connection' | 'runId' | 'writer' | 'startedAt' | 'nominalStart' | 'allowDeletes' | 'acceptChecks'
    >,
    Pick<ConnectionSettings, 'baseUrl' | 'sync' | 'http' | 'retention' | 'tables'>,
    Pick<RunPublished, 'onPublished'> {
  /** The run id of the request, if an attempt in memory has its own. Absent: `runId`. */
  readonly request?: RunId;
  readonly resource: ResourceSettings;
  readonly mode: PublishedMode;
  /** Value of the list parameter `updatedSince`; `null` for a full read. */
  readonly updatedSince: UtcSeconds | null;
  readonly checkpoint: UtcSeconds | null;
  /**
   * Start of reading on the workflow's clock. In a run that resumes the pages of a failed run, it is
   * earlier than `startedAt`.
   */
  readonly readSince: EpochMs;
  /** All clocks at one moment before the run's first request; absent in the file of an earlier build. */
  readonly clocks?: RunClocks;
  readonly before: BaseSnapshot | null;
  /** Earlier addresses of the service, which `export --adopt` has followed; absent: none. */
  readonly formerBaseUrls?: readonly string[];
  readonly warnings: readonly StoredWarning[];
  readonly giveUpAfterMs: number;
  /** Rows per page that it begins with. */
  readonly pageSize: number;
  /** A smaller size that the service has accepted before, if the run begins with a larger one. Absent: it does not, or none is known. */
  readonly acceptedPageSize?: number;
  /** Whether it reads everything only because that is due once per `sync.reconcileEvery`. Absent: no. */
  readonly isOnlyDue?: true;
  /** What shapes the run's rows, oldest first; the last one is the run's settings. */
  readonly shapes: readonly Shape[];
  /** `null`: the settings that shape rows are those of the base snapshot. */
  readonly settingsChange: NamedChange | null;
  /** The list before the current one, whose rows may be left in the base snapshot; `null`: none. */
  readonly earlierList: string | null;
  /** Whether the run detects deletes (docs/explanation/guarantees.md#deletes). */
  readonly reconcile: boolean;
  /** Whether a full read also reads the changes since the checkpoint, to see which rows increments miss; absent: not. */
  readonly comparesIncrements?: true;
  /** Data columns known at the start of the run: those of the base snapshot. */
  readonly columns: readonly Column[];
  /** The staged rows of a failed run, which this run continues after the last stage document; `null` for none. */
  readonly resumed: ResumedPages | null;
  /**
   * What the run began with. A key that is replaced during the run adds its fingerprint to the stages. Absent: an earlier build
   * began the run.
   */
  readonly organization?: Organization;
  /** As in the manifest that the run writes. */
  readonly leftBehind: readonly RunId[];
  /** The snapshot that a rollback publishes; `null`: the run reads the service. */
  readonly rollback: RollbackTarget | null;
  /** Of a dry run: the cells that its diff has at most; `null`: it has none. Absent: the run publishes. */
  readonly dryRun?: { readonly cells: number | null };
  /** What the run compares instead of publishing. Absent: it is no audit. */
  readonly audit?: RunAudit;
}

/** What a failed run has read. */
export interface ResumedPages extends Pick<Stage, 'done' | 'pages'> {
  readonly runId: RunId;
  /** Its last stage document. */
  readonly stage: ObjectKey;
  readonly rows: number;
}

/** An audit. */
export interface RunAudit extends Pick<AuditRequest, 'sample'> {
  /** Most pages, or rows by id, that one reading requests. Absent: all. */
  readonly most?: number;
  /** What rows are whose records are gone: differences only if deletes were to be detected by now. */
  readonly absent: 'extra' | 'notYetLookedFor' | 'notComparable';
}

/** A run that can write cells: with the secret that they are masked with. In memory only. */
export type WritingRun = RunFile & { readonly resource: ReadyProfile<ResourceSettings> };

/** A change of settings, and which of them changed, for people. */
export interface NamedChange extends SettingsChange {
  readonly changed: readonly string[];
}

/** The id of a run that is not published, for messages: `status` and `history` show that of the request. */
export function shownId({ request, runId }: Pick<RunFile, 'request' | 'runId'>): RunId {
  return request ?? runId;
}

/**
 * Whether the list of a full read that does not look for deletes should have records, as far as it is known, so that one without any
 * is noticed. Of a list with a window, only the dates of its records show which ones it should have.
 */
export function expectsRecords({ mode, reconcile, audit, earlierList, before, resource }: RunFile): boolean {
  const { windowMs, windowField } = resource;
  const isPlain = mode === 'full' && !reconcile && audit === undefined && earlierList === null;
  return isPlain && before !== null && before.rows > 0 && (windowMs === null || windowField !== null);
}

/** Whether the run counts the rows that a new list does not have, instead of detecting deletes. */
export function countsUnlisted({ mode, reconcile, earlierList }: RunFile): boolean {
  return mode === 'full' && !reconcile && earlierList !== null;
}

/** The rollback that this run follows as the full read that ends it; `null`: it does not. */
export function returningFrom({ mode, before }: Pick<RunFile, 'mode' | 'before'>): RolledBack | null {
  return mode === 'full' ? (before?.rolledBack ?? null) : null;
}

/** Whether the run counts the rows that it does not fetch and that keep cells of earlier settings. */
export function countsUnrestored(run: RunFile): boolean {
  return run.rollback === null && (run.settingsChange !== null || returningFrom(run) !== null);
}

/** Whether fetched rows may be tombstones: records that say that they are deleted. Those of a rollback's target are rows. */
export function mayHaveTombstones({ resource, rollback }: RunFile): boolean {
  return resource.deleted !== null && rollback === null;
}

/** Whether the merge must look at each row of the base snapshot, so that it copies no part or block as it is. */
export function mustSeeRows(run: RunFile): boolean {
  return run.audit !== undefined || countsUnlisted(run) || returningFrom(run) !== null;
}

/** The name of a run's journal in its staging folder. */
export const RUN_FILE = 'run.json';

/** The fields of a run's settings that say where its folders are. */
export interface RunPlace extends Pick<RunFile, 'nominalStart' | 'runId'> {
  readonly resource: Pick<RunFile['resource'], 'name'>;
}

/** The folder of a run in `snapshots/` or `changes/`, without a trailing slash. */
export function folderIn({ resource, nominalStart, runId }: RunPlace, tree: Tree): ObjectKey {
  return runFolder(resource.name, tree, dateOf(nominalStart), runId);
}

/**
 * Fingerprints of the keys that belong to the organization of a run, the newest last; `null`: not known.
 *
 * @param stage the last one
 */
export function keysOf(
  { organization }: Pick<RunFile, 'organization'>,
  { keys }: Pick<Stage, 'keys'>,
): readonly string[] | null {
  return keys ?? organization?.keys ?? null;
}
