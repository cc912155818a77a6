import type { EpochMs, ObjectKey } from '../core/brands.js';
import type { PhaseRef } from '../core/contract/index.js';
import { allDone, inParallel } from '../core/in-parallel.js';
import type { Stage } from '../lake/documents/stage-file.js';
import type { ObjectStore } from '../lake/store/index.js';
import type { AttemptProgress } from './activity-context.js';
import type { ActivityDeps, OpenConnection } from './deps.js';
import { BATCH, type BatchResult, mergedName } from './merge-result.js';
import type { Decided, Journal, MergePlan } from './run-journal.js';
import { type DocumentKind, STAGE } from './staged-documents.js';

/** Thrown when the run leaves the memory. It is no error: nothing has failed. */
export class Spill {
  constructor(readonly reason: string) {}
}

/**
 * What a run has decided, its journal, and what it has staged: documents, and objects with rows. Both are in memory
 * (`MemoryStaging`) or in the run's staging folder in the lake (`LakeStaging`). The phases of a run are the same with both
 * (docs/explanation/how-it-works.md#in-memory-or-in-the-lake).
 */
export interface Staging {
  /** The lake, apart from staged objects: these are where the staging keeps them. */
  readonly store: ObjectStore;
  /** Whether the run id is this attempt's own, so that no other attempt has objects in the run's folders. */
  readonly isPrivate: boolean;
  /** The version that this phase continues from. @throws a final failure when it is gone, or is of no later phase; as `read` */
  journal(): Promise<Journal>;
  /**
   * Ends a phase: what it has decided gets into the journal.
   *
   * @returns the next version: this one, or that of another attempt that has ended the phase before
   * @throws a final failure when the journal is another one
   */
  decide(decided: Decided): Promise<Journal>;
  /** The key of a staged object or document with this name. */
  key(name: string): ObjectKey;
  /** A name that only this attempt of this phase stages, as `ownName` makes it. */
  own(what: string, number: number, end?: string): string;
  /** Stages a document. Returns its key. */
  write<T>(kind: DocumentKind<T>, name: string, document: T): Promise<ObjectKey>;
  /** Stages a document under a name that all attempts of a phase have. @returns the one that counts, which is the first */
  writeFirst<T>(kind: DocumentKind<T>, name: string, document: T): Promise<T>;
  /** @throws UnreadDocumentError if it is in the lake, and this build cannot read it */
  read<T>(kind: DocumentKind<T>, key: ObjectKey): Promise<T>;
  /** The key of the last document of this kind that attempts of this phase, or of any, have staged; `null`: there is none. */
  last(what: string, of: 'phase' | 'run'): Promise<ObjectKey | null>;
  /** Whether reading must end, because the staging takes no more. @param buffered bytes of rows that are not staged yet */
  isFull(buffered: number): boolean;
  /**
   * Moves what is staged to the lake, if it is not there, so that no more reading is lost with the worker. Reading may continue.
   *
   * @returns `dropped`: another attempt has done it before, so what this one reads is of no use
   */
  save(): Promise<'saved' | 'dropped'>;
  /** Whether a wait until this time is too long for it. */
  isTooLong(until: EpochMs): boolean;
}

/** What a phase of a run works with. */
export interface RunAt {
  readonly deps: ActivityDeps;
  readonly connection: OpenConnection;
  readonly staging: Staging;
  /**
   * Temporal's clock. It counts from the start of the attempt, so that it never goes back between
   * the phases of one activity.
   */
  readonly clock: () => EpochMs;
  readonly progress: AttemptProgress;
}

/** Reads a stage and the stages of all earlier calls, oldest first. @param last `null`: there is none */
export async function readStages(staging: Pick<Staging, 'read'>, last: ObjectKey | null): Promise<Stage[]> {
  const stages: Stage[] = [];
  for (let key = last; key !== null; ) {
    const stage: Stage = await staging.read(STAGE, key);
    stages.unshift(stage);
    key = stage.previous;
  }
  return stages;
}

const READS_AT_ONCE = 16;

/** What a run has read and merged, when its last merge has ended. */
export interface Merged {
  readonly journal: Journal;
  readonly stages: readonly Stage[];
  readonly plan: MergePlan;
  readonly results: readonly BatchResult[];
}

/** Reads it. @param step the phase that follows the merge */
export async function readMerged(staging: Staging, { step }: Pick<PhaseRef, 'step'>): Promise<Merged> {
  const journal = await staging.journal();
  const { stage, plan, results } = journal;
  const read = (batch: number): Promise<BatchResult> =>
    staging.read(BATCH, staging.key(mergedName(step, batch)));
  const [stages, merged] = await allDone([
    readStages(staging, stage),
    results ?? inParallel([...plan!.batches.keys()], READS_AT_ONCE, read),
  ]);
  return { journal, stages, plan: plan!, results: merged };
}
