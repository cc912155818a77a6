import { randomBytes } from 'node:crypto';
import type { EpochMs, ObjectKey } from '../core/brands.js';
import type { PhaseRef } from '../core/contract/index.js';
import { allDone, inParallel } from '../core/in-parallel.js';
import { RUN_FILE, type RunFile } from '../lake/documents/run-file.js';
import type { Stage } from '../lake/documents/stage-file.js';
import { writeIfUnchanged } from '../lake/published/swap.js';
import { encodeWithin } from '../lake/size-limits.js';
import { collected, type ObjectStore } from '../lake/store/index.js';
import type { AttemptProgress } from './activity-context.js';
import type { ActivityDeps, OpenConnection } from './deps.js';
import { finalFailure } from './failures.js';
import { BATCH, type BatchResult, mergedName } from './merge-result.js';
import {
  type Decided,
  JOURNAL,
  type Journal,
  type MergePlan,
  newJournal,
  nextJournal,
  ownName,
  phaseName,
  type StagedRun,
  stagedKey,
} from './run-journal.js';
import { type DocumentKind, decodeDocument, encodeDocument, STAGE } from './staged-documents.js';

/** Thrown when the run leaves the memory. It is no error: nothing has failed. */
export class Spill {
  constructor(readonly reason: string) {}
}

/** What a run in memory decides for its staging. */
export interface InMemory {
  /** The keys of staged objects, in their order. */
  stagedKeys(prefix: string): ObjectKey[];
  isFull(buffered: number): boolean;
  save(): Promise<'saved' | 'dropped'>;
  isTooLong(until: EpochMs): boolean;
}

interface JournalVersion {
  readonly journal: Journal;
  readonly etag: string;
}

/**
 * What a run has decided, its journal, and what it has staged: documents, and objects with rows. A phase of a run has it in the
 * run's staging folder, which is in the lake or, as the store of a run in memory keeps it, in memory
 * (docs/explanation/how-it-works.md#in-memory-or-in-the-lake).
 */
export class Staging {
  readonly #ref: StagedRun;
  readonly #step: number;
  readonly #attempt: number;
  readonly #token = randomBytes(4).toString('hex');
  readonly #memory: InMemory | null;
  #found: JournalVersion | null = null;

  /**
   * @param store the lake, apart from what a run in memory stages
   * @param ref the phase; without `step`, the first, or all
   * @param attempt of the activity, from 1; of a run in memory 0, so that an attempt in the lake has names that sort after its own
   * @param memory `null`: the run is in the lake
   */
  constructor(
    readonly store: ObjectStore,
    ref: StagedRun & Partial<Pick<PhaseRef, 'step'>>,
    attempt: number,
    memory: InMemory | null = null,
  ) {
    this.#ref = ref;
    this.#step = ref.step ?? 0;
    this.#attempt = attempt;
    this.#memory = memory;
  }

  /** Whether the run id is this attempt's own, so that no other attempt has objects in the run's folders. */
  get isPrivate(): boolean {
    return this.#memory !== null;
  }

  /**
   * The version that this phase continues from.
   *
   * @throws a final failure when it is gone, or is of no later phase; UnreadDocumentError
   */
  async journal(): Promise<Journal> {
    this.#found ??= await readVersion(this.store, this.#ref);
    if (this.#found === null) throw this.#missing();
    const { journal } = this.#found;
    if (journal.sequence < this.#step) throw this.#replaced();
    return journal;
  }

  /**
   * Ends a phase: what it has decided gets into the journal.
   *
   * @returns the next version: this one, or that of another attempt that has ended the phase before
   * @throws a final failure when the journal is another one
   */
  async decide(decided: Decided): Promise<Journal> {
    const before = await this.journal();
    const key = this.key(RUN_FILE);
    const next = nextJournal(before, decided);
    const body = encoded(JOURNAL, key, next);
    const { etag } = this.#found!;
    this.#found = this.isPrivate ? { journal: next, etag } : null;
    if ((await writeIfUnchanged(this.store, key, body, { etag })) === 'written') return next;
    const found = await this.journal();
    // Another attempt has ended the phase.
    if (found.sequence > before.sequence) return found;
    throw this.#replaced();
  }

  /** The key of a staged object or document with this name. */
  key(name: string): ObjectKey {
    return stagedKey(this.#ref, name);
  }

  /** A name that only this attempt of this phase stages, as `ownName` makes it. */
  own(what: string, number: number, end = '.json'): string {
    return ownName({ step: this.#at, attempt: this.#attempt, token: this.#token }, what, number, end);
  }

  /** Stages a document. Returns its key. */
  async write<T>(kind: DocumentKind<T>, name: string, document: T): Promise<ObjectKey> {
    const key = this.key(name);
    await this.store.write(key, encoded(kind, key, document));
    return key;
  }

  /** Stages a document under a name that all attempts of a phase have. @returns the one that counts, which is the first */
  async writeFirst<T>(kind: DocumentKind<T>, name: string, document: T): Promise<T> {
    const key = this.key(name);
    const outcome = await writeIfUnchanged(this.store, key, encoded(kind, key, document), 'absent');
    return outcome === 'written' ? document : this.read(kind, key);
  }

  /** @throws UnreadDocumentError if this build cannot read it */
  async read<T>(kind: DocumentKind<T>, key: ObjectKey): Promise<T> {
    return decodeDocument(kind, await this.store.read(key), key);
  }

  /** The key of the last document of this kind that attempts of this phase, or of any, have staged; `null`: there is none. */
  async last(what: string, of: 'phase' | 'run'): Promise<ObjectKey | null> {
    const prefix = this.key(of === 'run' ? `${what}-` : phaseName(what, this.#at));
    if (this.#memory !== null) return this.#memory.stagedKeys(prefix).at(-1) ?? null;
    // The store lists keys in their order.
    return (await collected(this.store.list(prefix))).at(-1)?.key ?? null;
  }

  /** Whether reading must end, because the staging takes no more. @param buffered bytes of rows that are not staged yet */
  isFull(buffered: number): boolean {
    return this.#memory?.isFull(buffered) ?? false;
  }

  /**
   * Moves what is staged to the lake, if it is not there, so that no more reading is lost with the worker. Reading may continue.
   *
   * @returns `dropped`: another attempt has done it before, so what this one reads is of no use
   */
  async save(): Promise<'saved' | 'dropped'> {
    return this.#memory?.save() ?? 'saved';
  }

  /** Whether a wait until this time is too long for it. */
  isTooLong(until: EpochMs): boolean {
    return this.#memory?.isTooLong(until) ?? false;
  }

  /** The version that the phase begins with. A run in memory has one staging for all phases. */
  get #at(): number {
    return this.#found?.journal.sequence ?? this.#step;
  }

  #missing(): Error {
    const { resource, runId } = this.#ref;
    return finalFailure(
      'Lake',
      `${resource}: the staging folder of run ${runId} is missing from the lake. The next run starts from the beginning. ` +
        'Check whether a lifecycle rule of the bucket removes objects under `_staging/` too early, or whether another worker of ' +
        'the connection has another `lake.url`.',
    );
  }

  #replaced(): Error {
    const { resource, runId } = this.#ref;
    return finalFailure(
      'Lake',
      `${resource}: ${this.key(RUN_FILE)} is not what run ${runId} has written there, so the run stops. Nothing was published. ` +
        'Check whether something restores objects under `_staging/`, and export again.',
    );
  }
}

function encoded<T>(kind: DocumentKind<T>, key: ObjectKey, document: T): Buffer {
  return encodeWithin(key, () => encodeDocument(kind, document));
}

/**
 * Fixes a run: its journal begins once, and if several attempts begin it, the first one counts. It can be repeated.
 *
 * @param runId that of its staging folder
 * @returns whether this attempt was the first
 */
export async function fixRun(store: ObjectStore, run: RunFile, runId = run.runId): Promise<boolean> {
  const key = stagedKey({ resource: run.resource.name, runId }, RUN_FILE);
  return (await writeIfUnchanged(store, key, encoded(JOURNAL, key, newJournal(run)), 'absent')) === 'written';
}

/**
 * The journal of a run in the lake; `null`: it has none there.
 *
 * @throws UnreadDocumentError
 */
export async function readJournal(store: ObjectStore, ref: StagedRun): Promise<Journal | null> {
  return (await readVersion(store, ref))?.journal ?? null;
}

async function readVersion(store: ObjectStore, ref: StagedRun): Promise<JournalVersion | null> {
  const key = stagedKey(ref, RUN_FILE);
  const found = await store.readIfExists(key);
  return found && { journal: decodeDocument(JOURNAL, found.body, key), etag: found.etag };
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
