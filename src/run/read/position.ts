import { createHash } from 'node:crypto';
import type { Cursor, ObjectKey } from '../../core/brands.js';
import { NOTHING_READ } from '../../core/list-evidence.js';
import type { RunFile } from '../../lake/documents/run-file.js';
import type { ChainProgress, Stage, StagedChunk } from '../../lake/documents/stage-file.js';
import type { SortKey } from '../../lake/rows/row.js';
import { type Journal, nextOf } from '../run-journal.js';
import { STAGE } from '../staged-documents.js';
import { readStages, type Staging } from '../staging.js';
import { changesUpTo, firstStage, type StoredStage } from './read-stage.js';
import { runStart, startClocks, updatedSinceFor } from './watermark.js';

/** Where a call of the phase `read` continues. */
export interface Position {
  readonly stage: Stage;
  /** `null` if the call begins to read. */
  readonly key: ObjectKey | null;
  /** Hashes of the cursors in the current chain of pages, over all calls. */
  readonly seen: Set<string>;
  /** The chunks of earlier calls. */
  readonly earlier: readonly StagedChunk[];
}

/** First number of a stage after a merge of chunks. Reading has only smaller ones, so `lastStaged` finds the later stage. */
export const LONGER_SEQUENCE = 900_000;

/** Sixty bits of a cursor's SHA-256: enough to tell a million cursors apart, short enough to keep them all. */
export function cursorHash(cursor: Cursor): string {
  return createHash('sha256').update(cursor).digest('base64url').slice(0, 10);
}

/** The same hash of a record's key. */
export function recordKeyHash(key: SortKey): string {
  return createHash('sha256').update(key, 'latin1').digest('base64url').slice(0, 10);
}

/**
 * Finds the last position that any attempt of this call has staged, or the activity that began the run in memory; otherwise the
 * end of the previous call. It reads the lake, not the heartbeat, because the last heartbeats of a killed worker are lost.
 */
export async function findPosition(staging: Staging): Promise<Position> {
  const journal = await staging.journal();
  const { stage: after, reading } = journal;
  const before = await readStages(staging, after);
  const end = after === null ? null : { key: after, stage: before.at(-1)! };
  const staged = (await lastStaged(staging)) ?? (isEndOf(reading, end) ? end : null);
  const stage = staged?.stage ?? firstPosition(journal, end);
  const chain = before.filter((earlier) => earlier.chain === stage.chain);
  const seen = new Set([...chain.flatMap((earlier) => earlier.seen), ...stage.seen]);
  return { stage, key: staged?.key ?? null, seen, earlier: before.flatMap(({ chunks }) => chunks) };
}

/** Whether an earlier call has reached the end of the reading, and left only merges. */
function isEndOf(reading: number, end: StoredStage | null): boolean {
  return end?.stage.done === true && end.stage.read === reading;
}

async function lastStaged(staging: Staging): Promise<StoredStage | null> {
  // Names sort by attempt, and each attempt continues the one before, so the last name is the newest stage.
  const last = await staging.last('stage', 'phase');
  return last === null ? null : { key: last, stage: await staging.read(STAGE, last) };
}

function firstPosition(journal: Journal, before: StoredStage | null): Stage {
  const { run, reading, sequence } = journal;
  if (before === null) return firstStage(run);
  const stage = { ...before.stage, previous: before.key, chunks: [], seen: [], done: false };
  if (stage.read !== reading) return nextRead(journal, stage);
  return sequence > 0 || run.resumed === null ? stage : takenOver(run, stage);
}

/** A stage of a failed run that this run continues. */
function takenOver({ organization }: RunFile, stage: Stage): Stage {
  const keys = organization === undefined ? {} : { keys: organization.keys };
  return { ...stage, ...keys, progress: resumed(stage.progress) };
}

/** The time between two runs is no time of reading. The pages without a new key still count. */
function resumed(progress: ChainProgress | null): ChainProgress | null {
  return progress === null ? null : { ...progress, repetition: { ...progress.repetition, since: null } };
}

/** Starts a new reading: of the whole list, or of the changes since the last reading began. */
function nextRead(journal: Journal, before: Stage): Stage {
  const { run, reading } = journal;
  const isCatchUp = nextOf(journal, 'read').kind === 'catch-up';
  const since = updatedSinceFor(runStart(startClocks(run, before.readStart), 'earliest'), run.sync);
  // The first reading of changes shows what increments show. For an audit, each does, however long the readings take.
  const isFirst = run.audit !== undefined || reading === 1;
  const all = run.comparesIncrements === true && isFirst ? run.checkpoint : null;
  const isLonger = isCatchUp && all !== null && all < since;
  const { notChecked: _, orSince: __, latest: ___, round: ____, isById: _____, ...rest } = before;
  const { readPages: pages, pageSize } = rest;
  return {
    ...rest,
    read: reading,
    kind: isCatchUp ? 'catch-up' : 'list',
    updatedSince: isLonger ? all : isCatchUp ? since : run.updatedSince,
    ...(isLonger ? { orSince: since } : {}),
    cursor: null,
    readPages: 0,
    readStart: null,
    readBegan: null,
    upTo: isCatchUp
      ? { workflow: before.readBegan ?? run.readSince, service: before.readStart }
      : changesUpTo(run),
    restarts: 0,
    shrinks: 0,
    progress: null,
    fullRead: before.kind === 'list' && run.mode === 'full' ? { pages, pageSize } : before.fullRead,
    shifted: false,
    marks: [],
    isChecked: false,
    evidence: NOTHING_READ,
    chain: before.chain + 1,
  };
}
