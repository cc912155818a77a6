import type { EpochMs, RunId } from '../../core/brands.js';
import { isRunId, parseRunDate } from '../../core/run-id.js';
import { parseStored } from '../../core/stored-json.js';
import type { PublishedPart } from '../../lake/documents/manifest.js';
import type { Unfit } from '../errors.js';
import {
  type Action,
  type AddFile,
  APP_ID,
  type MetaData,
  PART_TAG,
  type Protocol,
  type RemoveFile,
} from './actions.js';

/** The published state that a version of a table shows: a run, and the rollback or purge that wrote the pointer last. */
export interface ShownState {
  readonly runId: RunId;
  readonly amendedBy: RunId | null;
  /** SHA-256 of the snapshot's manifest, which a purge replaces; absent if it is not known. */
  readonly manifest?: string;
}

/** What a commit of ours records: the state, and the values that are NULL because they do not fit. */
export interface Shown extends ShownState {
  /** The version that the commit wrote. */
  readonly version: number;
  readonly committedAt: EpochMs;
  readonly unfit: readonly Unfit[];
}

/** One version of a table: the result of all commits up to it (PROTOCOL.md, "Action Reconciliation"). */
export class TableState {
  /** -1 before the first commit. */
  readonly version: number = -1;
  readonly protocol: Protocol | null = null;
  readonly metaData: MetaData | null = null;
  readonly files: ReadonlyMap<string, AddFile> = new Map();
  /** Removed files, until their retention ends. */
  readonly removed: ReadonlyMap<string, RemoveFile> = new Map();
  readonly txns: ReadonlyMap<string, number> = new Map();
  /** From our last commit; `null` if the log no longer has one. */
  readonly shown: Shown | null = null;

  constructor(from: Partial<TableState> = {}) {
    Object.assign(this, from);
  }

  /** The state after a commit, or after a checkpoint, whose actions begin from nothing. */
  after(version: number, actions: readonly Action[]): TableState {
    let { protocol, metaData, shown } = this;
    const files = new Map(this.files);
    const removed = new Map(this.removed);
    const txns = new Map(this.txns);
    for (const action of actions) {
      protocol = action.protocol ?? protocol;
      metaData = action.metaData ?? metaData;
      if (action.commitInfo !== undefined) shown = shownBy(action, version) ?? shown;
      if (action.txn !== undefined) txns.set(action.txn.appId, action.txn.version);
      if (action.add !== undefined) {
        files.set(action.add.path, action.add);
        removed.delete(action.add.path);
      }
      if (action.remove !== undefined) {
        files.delete(action.remove.path);
        removed.set(action.remove.path, action.remove);
      }
    }
    return new TableState({ version, protocol, metaData, files, removed, txns, shown });
  }

  /** Whether the version consists of exactly these parts of a snapshot. */
  holdsParts(parts: readonly Pick<PublishedPart, 'rows' | 'sha256'>[]): boolean {
    const held = new Set([...this.files.values()].map(({ tags }) => tags?.[PART_TAG]));
    const wanted = parts.filter(({ rows }) => rows > 0);
    return held.size === wanted.length && wanted.every(({ sha256 }) => held.has(sha256));
  }

  /** Whether the newest version shows this state of the pointer. */
  shows(state: ShownState): boolean {
    const { runId, amendedBy, manifest = this.shown?.manifest } = state;
    return (
      this.txns.get(APP_ID) === txnVersion(state) &&
      this.shown?.runId === runId &&
      this.shown.amendedBy === amendedBy &&
      this.shown.manifest === manifest
    );
  }
}

/** A number that is unique to a state of the pointer: no two runs, rollbacks or purges of a mirror start in the same second. */
export function txnVersion({ runId, amendedBy }: ShownState): number {
  return parseRunDate(amendedBy ?? runId);
}

/** The parameters of our commits; `shownBy` reads them again. */
export function shownParameters(
  { runId, amendedBy, manifest }: ShownState,
  unfit: readonly Unfit[] = [],
): Record<string, string> {
  return {
    runId,
    ...(amendedBy === null ? {} : { amendedBy }),
    ...(manifest === undefined ? {} : { manifest }),
    ...(unfit.length === 0 ? {} : { unfit: JSON.stringify(unfit) }),
  };
}

/** What a commit of ours shows; `null` for an action of another kind or program. */
export function shownBy({ commitInfo }: Action, version: number): Shown | null {
  const { runId, amendedBy, manifest, unfit } = commitInfo?.operationParameters ?? {};
  if (typeof runId !== 'string' || !isRunId(runId)) return null;
  return {
    runId,
    amendedBy: typeof amendedBy === 'string' && isRunId(amendedBy) ? amendedBy : null,
    ...(typeof manifest === 'string' ? { manifest } : {}),
    version,
    committedAt: commitInfo?.timestamp ?? 0,
    unfit: typeof unfit === 'string' ? (parseStored(unfit) as Unfit[]) : [],
  };
}
