import type { ObjectKey, RunId } from '../core/brands.js';
import { quarantineKey } from '../lake/documents/lake-layout.js';
import { RUN_FILE, type RunFile } from '../lake/documents/run-file.js';
import { type HeldStore, holdObjects, type ObjectStore } from '../lake/store/index.js';
import { MERGED } from './merge-result.js';
import { fixRun, type InMemory, Staging } from './staging.js';

/** What one run holds at most, in bytes. */
const MAX_BYTES = 8 * 1024 * 1024;
/** What all runs of this process hold at most, in bytes, whatever the number of its workers. */
const MAX_PROCESS_BYTES = 64 * 1024 * 1024;
/** A killed worker loses the rows in memory, so they are no older than this, ms. */
const MAX_AGE_MS = 5000;
/** A run that waits longer is not in memory meanwhile, ms. */
const MAX_WAIT_MS = 5000;

/** What all runs of this process hold, in bytes. */
let processBytes = 0;

/**
 * A run that is in memory: its store keeps what it stages. The run has the own id of its attempt. Nothing is in the lake before
 * `save` or `startWriting`.
 */
export class RunInMemory implements InMemory {
  readonly store: HeldStore;
  readonly staging: Staging;
  readonly #lake: ObjectStore;
  readonly #run: RunFile;
  /** The run id in the lake, if the run is spilled. */
  readonly #request: RunId;
  #bytes = 0;
  #spilling: Promise<'saved' | 'dropped'> | null = null;
  #isInLake = false;
  /** When the first page arrived, by the monotonic clock; `null`: none has. */
  #since: number | null = null;

  private constructor(lake: ObjectStore, run: RunFile, request: RunId) {
    this.#lake = lake;
    this.#run = run;
    this.#request = request;
    this.store = holdObjects(lake, {
      isHeld: (key) =>
        this.#isOwn(key) || (!this.#isInLake && (this.#isStaged(key) || this.#isQuarantined(key))),
      onHeld: (bytes) => this.#take(bytes),
    });
    this.staging = new Staging(this.store, { resource: run.resource.name, runId: request }, 0, this);
  }

  /**
   * @param run with the run id of this attempt
   * @param request the run id that the run has in the lake
   */
  static async begin(lake: ObjectStore, run: RunFile, request: RunId): Promise<RunInMemory> {
    const memory = new RunInMemory(lake, run, request);
    await fixRun(memory.store, run, request);
    return memory;
  }

  stagedKeys(prefix: string): ObjectKey[] {
    return this.store.heldKeys(prefix);
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
    return !this.stagedKeys(this.staging.key('')).some((key) => key.endsWith('.json') && !this.#isOwn(key));
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

  /** Documents are staged after the objects that they name, and the newest document last. */
  async #spill(): Promise<'saved' | 'dropped'> {
    if (!(await fixRun(this.#lake, { ...this.#run, runId: this.#request }))) return 'dropped';
    await this.store.writeHeld(
      (key) => !this.#isOwn(key),
      () => {
        this.#isInLake = true;
      },
    );
    return 'saved';
  }

  /** Called before the merge writes parts, and after it: what is kept whatever becomes of the run is written. */
  startWriting(): Promise<void> {
    return this.store.writeHeld((key) => this.#isQuarantined(key));
  }

  /** Gives the memory back. The run must not be used afterwards. */
  close(): void {
    processBytes -= this.#bytes;
    this.#bytes = 0;
    this.store.close();
  }

  #isStaged(key: ObjectKey): boolean {
    return key.startsWith(this.staging.key(''));
  }

  /** Whether it never gets to the lake: the journal begins once more there, and the parts of merges have the run id of this attempt. */
  #isOwn(key: ObjectKey): boolean {
    return key === this.staging.key(RUN_FILE) || key.startsWith(this.staging.key(`${MERGED}-`));
  }

  #isQuarantined(key: ObjectKey): boolean {
    const folder = quarantineKey(this.#run.resource.name, this.#run.runId, '').slice(0, -'.csv'.length);
    return key.startsWith(folder);
  }

  #take(bytes: number): void {
    this.#bytes += bytes;
    processBytes += bytes;
  }
}
