import { randomBytes } from 'node:crypto';
import type { ObjectKey } from '../core/brands.js';
import type { PhaseRef } from '../core/contract/index.js';
import { RUN_FILE, type RunFile } from '../lake/documents/run-file.js';
import { writeIfUnchanged } from '../lake/published/swap.js';
import { encodeWithin } from '../lake/size-limits.js';
import { collected, type ObjectStore } from '../lake/store/index.js';
import { finalFailure } from './failures.js';
import {
  type Decided,
  JOURNAL,
  type Journal,
  newJournal,
  nextJournal,
  ownName,
  phaseName,
  type StagedRun,
  stagedKey,
} from './run-journal.js';
import { type DocumentKind, decodeDocument, encodeDocument } from './staged-documents.js';
import type { Staging } from './staging.js';

interface JournalVersion {
  readonly journal: Journal;
  readonly etag: string;
}

/** A run's staging folder in the lake. Any worker can continue from it. */
export class LakeStaging implements Staging {
  readonly isPrivate = false;
  readonly #ref: StagedRun;
  readonly #step: number;
  readonly #attempt: number;
  readonly #token = randomBytes(4).toString('hex');
  #found: JournalVersion | null = null;

  /**
   * @param ref the phase; without `step`, the first
   * @param attempt of the activity, from 1
   */
  constructor(
    readonly store: ObjectStore,
    ref: StagedRun & Partial<Pick<PhaseRef, 'step'>>,
    attempt: number,
  ) {
    this.#ref = ref;
    this.#step = ref.step ?? 0;
    this.#attempt = attempt;
  }

  async journal(): Promise<Journal> {
    this.#found ??= await readVersion(this.store, this.#ref);
    if (this.#found === null) throw this.#missing();
    const { journal } = this.#found;
    if (journal.sequence < this.#step) throw this.#replaced();
    return journal;
  }

  async decide(decided: Decided): Promise<Journal> {
    const before = await this.journal();
    const key = this.key(RUN_FILE);
    const next = nextJournal(before, decided);
    const body = encoded(JOURNAL, key, next);
    if ((await writeIfUnchanged(this.store, key, body, this.#found!)) === 'written') return next;
    this.#found = null;
    const found = await this.journal();
    // Another attempt has ended the phase.
    if (found.sequence > before.sequence) return found;
    throw this.#replaced();
  }

  key(name: string): ObjectKey {
    return stagedKey(this.#ref, name);
  }

  own(what: string, number: number, end = '.json'): string {
    return ownName({ step: this.#step, attempt: this.#attempt, token: this.#token }, what, number, end);
  }

  async write<T>(kind: DocumentKind<T>, name: string, document: T): Promise<ObjectKey> {
    const key = this.key(name);
    await writeStaged(this.store, kind, key, document);
    return key;
  }

  async writeFirst<T>(kind: DocumentKind<T>, name: string, document: T): Promise<T> {
    const key = this.key(name);
    const outcome = await writeIfUnchanged(this.store, key, encoded(kind, key, document), 'absent');
    return outcome === 'written' ? document : this.read(kind, key);
  }

  async read<T>(kind: DocumentKind<T>, key: ObjectKey): Promise<T> {
    return decodeDocument(kind, await this.store.read(key), key);
  }

  async last(what: string, of: 'phase' | 'run'): Promise<ObjectKey | null> {
    const prefix = of === 'run' ? `${what}-` : phaseName(what, this.#step);
    // The store lists keys in their order.
    return (await collected(this.store.list(this.key(prefix)))).at(-1)?.key ?? null;
  }

  isFull(): boolean {
    return false;
  }

  async save(): Promise<'saved'> {
    return 'saved';
  }

  isTooLong(): boolean {
    return false;
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

/** Writes a document to the lake. */
export async function writeStaged<T>(
  store: ObjectStore,
  kind: DocumentKind<T>,
  key: ObjectKey,
  document: T,
): Promise<void> {
  await store.write(key, encoded(kind, key, document));
}

function encoded<T>(kind: DocumentKind<T>, key: ObjectKey, document: T): Buffer {
  return encodeWithin(key, () => encodeDocument(kind, document));
}

/**
 * Fixes a run in the lake: its journal begins once, and if several attempts begin it, the first one counts. It can be repeated.
 *
 * @returns whether this attempt was the first
 */
export async function fixRun(store: ObjectStore, run: RunFile): Promise<boolean> {
  const { resource, runId } = run;
  const key = stagedKey({ resource: resource.name, runId }, RUN_FILE);
  const body = encoded(JOURNAL, key, newJournal(run));
  return (await writeIfUnchanged(store, key, body, 'absent')) === 'written';
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
