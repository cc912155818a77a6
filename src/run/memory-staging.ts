import { randomBytes } from 'node:crypto';
import type { ObjectKey, RunId } from '../core/brands.js';
import { quarantineKey } from '../lake/documents/lake-layout.js';
import type { RunFile } from '../lake/documents/run-file.js';
import { type HeldStore, holdObjects, type ObjectStore } from '../lake/store/index.js';
import { fixRun, writeStaged } from './lake-staging.js';
import {
  type Decided,
  type Journal,
  newJournal,
  nextJournal,
  ownName,
  phaseName,
  stagedKey,
} from './run-journal.js';
import type { DocumentKind } from './staged-documents.js';
import type { Staging } from './staging.js';

/** What one run holds at most, in bytes. */
const MAX_BYTES = 8 * 1024 * 1024;
/** What all runs of this process hold at most, in bytes, whatever the number of its workers. */
const MAX_PROCESS_BYTES = 64 * 1024 * 1024;
/** A killed worker loses the rows in memory, so they are no older than this, ms. */
const MAX_AGE_MS = 5000;
/** A run that waits longer is not in memory meanwhile, ms. */
const MAX_WAIT_MS = 5000;

interface HeldDocument {
  readonly kind: DocumentKind<unknown>;
  readonly document: unknown;
}

/** What all runs of this process hold, in bytes. */
let processBytes = 0;

/**
 * The staging of a run that is in memory: documents are values, and objects are buffers. The run has the own id of its attempt.
 * Nothing is in the lake before `spill` or `startWriting`.
 */
export class MemoryStaging implements Staging {
  readonly store: HeldStore;
  readonly isPrivate = true;
  readonly #lake: ObjectStore;
  /** The run id in the lake, if the run is spilled. */
  readonly #request: RunId;
  readonly #token = randomBytes(4).toString('hex');
  #journal: Journal;
  readonly #documents = new Map<ObjectKey, HeldDocument>();
  /** Results of merges. They do not spill, because their parts have the run id of this attempt. */
  readonly #results = new Map<ObjectKey, unknown>();
  #bytes = 0;
  #spilling: Promise<'saved' | 'dropped'> | null = null;
  #isInLake = false;
  /** When the first page arrived, by the monotonic clock; `null`: none has. */
  #since: number | null = null;

  /**
   * @param run with the run id of this attempt
   * @param request the run id that the run has in the lake
   */
  constructor(lake: ObjectStore, run: RunFile, request: RunId) {
    this.#lake = lake;
    this.#journal = newJournal(run);
    this.#request = request;
    const staged = this.key('');
    this.store = holdObjects(lake, {
      isHeld: (key) => !this.#isInLake && (key.startsWith(staged) || this.#isQuarantined(key)),
      onHeld: (bytes) => this.#take(bytes),
    });
  }

  async journal(): Promise<Journal> {
    return this.#journal;
  }

  async decide(decided: Decided): Promise<Journal> {
    this.#journal = nextJournal(this.#journal, decided);
    return this.#journal;
  }

  key(name: string): ObjectKey {
    return stagedKey({ resource: this.#journal.run.resource.name, runId: this.#request }, name);
  }

  own(what: string, number: number, end = '.json'): string {
    // An attempt in the lake counts from 1, so its names sort after these.
    const at = { step: this.#journal.sequence, attempt: 0, token: this.#token };
    return ownName(at, what, number, end);
  }

  async write<T>(kind: DocumentKind<T>, name: string, document: T): Promise<ObjectKey> {
    const key = this.key(name);
    this.#documents.set(key, { kind: kind as DocumentKind<unknown>, document });
    if (!this.#isInLake) return key;
    // A record may have been set aside before the spill ended, and only this document counts it.
    await this.store.writeHeld(() => true);
    await writeStaged(this.#lake, kind, key, document);
    return key;
  }

  async writeFirst<T>(_kind: DocumentKind<T>, name: string, document: T): Promise<T> {
    this.#results.set(this.key(name), document);
    return document;
  }

  async read<T>(_kind: DocumentKind<T>, key: ObjectKey): Promise<T> {
    const found = this.#documents.get(key)?.document ?? this.#results.get(key);
    if (found === undefined) throw new Error(`${key} is not in memory`);
    return found as T;
  }

  async last(what: string, of: 'phase' | 'run'): Promise<ObjectKey | null> {
    const prefix = this.key(of === 'run' ? `${what}-` : phaseName(what, this.#journal.sequence));
    const found = [...this.#documents.keys()].filter((key) => key.startsWith(prefix));
    return found.sort().at(-1) ?? null;
  }

  isFull(buffered: number): boolean {
    this.#since ??= performance.now();
    if (performance.now() - this.#since >= MAX_AGE_MS) return true;
    return this.#bytes + buffered >= MAX_BYTES || processBytes + buffered >= MAX_PROCESS_BYTES;
  }

  isTooLong(until: number): boolean {
    return until - Date.now() > MAX_WAIT_MS;
  }

  /** Whether there is anything that a spill would save. */
  get isEmpty(): boolean {
    return this.#documents.size === 0;
  }

  /** Whether a spill has begun, so that the run continues in the lake. */
  get isSpilled(): boolean {
    return this.#spilling !== null;
  }

  /**
   * Moves the run to the lake, once and for all: what is staged later goes there, too. A journal with its settings fixes the run.
   * What was decided since is decided once more there, with what is staged. If another attempt has fixed the run before, what this
   * one holds is dropped. A spill that fails can be repeated.
   */
  save(): Promise<'saved' | 'dropped'> {
    this.#spilling ??= this.#spill().catch((error: unknown) => {
      this.#spilling = null;
      throw error;
    });
    return this.#spilling;
  }

  /** Documents come after the objects that they name, and the newest document comes last. */
  async #spill(): Promise<'saved' | 'dropped'> {
    if (!(await fixRun(this.#lake, { ...this.#journal.run, runId: this.#request }))) return 'dropped';
    // More may be staged meanwhile: then it is at the end of the map.
    for (const [key, { kind, document }] of this.#documents) {
      await this.store.writeHeld(() => true);
      await writeStaged(this.#lake, kind, key, document);
    }
    this.#isInLake = true;
    return 'saved';
  }

  /** Called before the merge writes parts, and after it: what is kept whatever becomes of the run is written. */
  startWriting(): Promise<void> {
    return this.store.writeHeld((key) => this.#isQuarantined(key));
  }

  /** Gives the memory back. The staging must not be used afterwards. */
  close(): void {
    processBytes -= this.#bytes;
    this.#bytes = 0;
    this.#documents.clear();
    this.#results.clear();
  }

  #isQuarantined(key: ObjectKey): boolean {
    const { resource, runId } = this.#journal.run;
    const folder = quarantineKey(resource.name, runId, '').slice(0, -'.csv'.length);
    return key.startsWith(folder);
  }

  #take(bytes: number): void {
    this.#bytes += bytes;
    processBytes += bytes;
  }
}
