import type { EpochMs, ObjectKey } from '../core/brands.js';
import type { RunFile } from '../lake/documents/run-file.js';
import type { Stage } from '../lake/documents/stage-file.js';
import type { ObjectStore } from '../lake/store/index.js';
import type { AttemptProgress } from './activity-context.js';
import type { ActivityDeps, OpenConnection } from './deps.js';
import { type DocumentKind, STAGE } from './staged-documents.js';

/** Thrown when the run leaves the memory. It is no error: nothing has failed. */
export class Spill {
  constructor(readonly reason: string) {}
}

/**
 * What a run has staged: documents, and objects with rows. It is in memory (`MemoryStaging`) or in the run's staging folder in
 * the lake (`LakeStaging`). The phases of a run are the same with both
 * (docs/explanation/how-it-works.md#in-memory-or-in-the-lake).
 */
export interface Staging {
  /** The lake, apart from staged objects: these are where the staging keeps them. */
  readonly store: ObjectStore;
  /** Part of the names of what this attempt stages. */
  readonly attempt: number;
  /** Whether the run id is this attempt's own, so that no other attempt has objects in the run's folders. */
  readonly isPrivate: boolean;
  /** The run's settings. @throws a final failure when they are gone; as `read` */
  run(): Promise<RunFile>;
  /** The key of a staged object or document with this name. */
  key(name: string): ObjectKey;
  /** Stages a document. Returns its key. */
  write<T>(kind: DocumentKind<T>, name: string, document: T): Promise<ObjectKey>;
  /** @throws UnreadDocumentError if it is in the lake, and this build cannot read it */
  read<T>(kind: DocumentKind<T>, key: ObjectKey): Promise<T>;
  /** As `read`. */
  readIfExists<T>(kind: DocumentKind<T>, name: string): Promise<T | null>;
  /** The key of the last document whose name begins so; `null`: there is none. */
  last(prefix: string): Promise<ObjectKey | null>;
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

/**
 * Reads the run's settings while other documents are being read, because each request takes a round trip.
 *
 * @throws as `Staging.run`, even when the other documents cannot be read because the folder is missing
 */
export async function readRunWith<T>(staging: Staging, rest: Promise<T>): Promise<[run: RunFile, rest: T]> {
  rest.catch(() => {});
  return [await staging.run(), await rest];
}

/** Reads a stage and the stages of all earlier calls, oldest first. */
export async function readStages(staging: Pick<Staging, 'read'>, last: ObjectKey): Promise<Stage[]> {
  const stages: Stage[] = [];
  for (let key: ObjectKey | null = last; key !== null; ) {
    const stage: Stage = await staging.read(STAGE, key);
    stages.unshift(stage);
    key = stage.previous;
  }
  return stages;
}
