import type {
  AbsentRecords,
  ConfirmDeletesInput,
  ConfirmedDeletes,
  FindAbsentInput,
  MergedParts,
  MergePartsInput,
  MergePlanned,
  PlanMergeInput,
  ReadInput,
  ReadResult,
} from '../../src/core/contract/index.js';
import { allDone } from '../../src/core/in-parallel.js';
import type { Steps } from '../../src/core/phases.js';
import { damagedObject } from '../../src/lake/damaged-error.js';
import { indexKey } from '../../src/lake/documents/block-index.js';
import { sha256Of } from '../../src/lake/documents/checksums.js';
import type { PublishedPart } from '../../src/lake/documents/manifest.js';
import type { RunFile } from '../../src/lake/documents/run-file.js';
import type { MergePlan } from '../../src/lake/merge/merge-plan.js';
import { readIndexBody } from '../../src/lake/part/read-index.js';
import type { SortKey } from '../../src/lake/rows/row.js';
import type { HeldStore } from '../../src/lake/store/index.js';
import { mergeParts } from '../merge/merge-parts.js';
import { planMerge } from '../merge/plan-merge.js';
import { readPages } from '../read/read-pages.js';
import { confirmDeletes } from '../settle/confirm-deletes.js';
import { findAbsentRecords } from '../settle/find-absent.js';
import { withHeartbeat } from '../shared/activity-context.js';
import type { MemoryStaging } from '../shared/memory-staging.js';
import { type RunAt, Spill } from '../shared/staging.js';

/** Parts that a merge in memory reads, in bytes as stored. */
const MAX_MERGED_BYTES = 4 * 1024 * 1024;
/** Parts that it copies within the store. */
const MAX_COPIED_BYTES = 64 * 1024 * 1024;
/** Records that are asked for by id while the run is in memory. */
const MAX_ASKED = 20;

/** The steps of a run in memory. Each throws `Spill` if the run is to continue in the lake. */
export class MemorySteps implements Steps {
  readonly #at: RunAt;
  readonly #staging: MemoryStaging;
  readonly #run: RunFile;
  #holdsBase = false;
  #hasWritten = false;

  constructor(at: RunAt & { readonly staging: MemoryStaging }, run: RunFile) {
    this.#at = at;
    this.#staging = at.staging;
    this.#run = run;
  }

  /** Whether the merge has begun to write parts. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  async read(input: ReadInput): Promise<ReadResult> {
    // It sends its own heartbeats, with details.
    const result = await readPages(this.#at, input);
    if (this.#staging.isSpilled) throw new Spill('the rows were saved while a page was awaited');
    if (!result.done) throw new Spill('the list is longer, or the service lets it wait');
    return result;
  }

  async settle(input: FindAbsentInput): Promise<AbsentRecords> {
    await this.#begin();
    return withHeartbeat(() => findAbsentRecords(this.#at, input));
  }

  async settleById(input: ConfirmDeletesInput): Promise<ConfirmedDeletes> {
    await this.#begin();
    const among = await this.#staging.read<SortKey[]>(input.among);
    if (among.length > MAX_ASKED) throw new Spill('many records have to be asked for by id');
    return withHeartbeat(() => confirmDeletes(this.#at, input));
  }

  async mergePlan(input: PlanMergeInput): Promise<MergePlanned> {
    await this.#begin();
    return withHeartbeat(async () => {
      const planned = await planMerge(this.#at, input);
      this.#check(await this.#staging.read<MergePlan>(planned.plan));
      return planned;
    });
  }

  merge(input: MergePartsInput): Promise<MergedParts> {
    return withHeartbeat(async () => {
      this.#hasWritten = true;
      await this.#staging.startWriting();
      return mergeParts(this.#at, input);
    });
  }

  /** Reads a small base snapshot once for all steps. */
  async #begin(): Promise<void> {
    if (this.#staging.isSpilled || this.#staging.isFull(0))
      throw new Spill('its rows are too old or too many');
    const parts = this.#run.before?.parts ?? [];
    if (this.#holdsBase || parts.length !== 1) return;
    this.#holdsBase = true;
    await withHeartbeat(() => holdBasePart(this.#staging.store, parts[0]!));
  }

  #check({ batches, tasks, chunks }: MergePlan): void {
    if (batches.length > 1) throw new Spill('the merge has several batches');
    let merged = 0;
    let copied = 0;
    for (const task of tasks) {
      if (task.kind === 'carry') copied += task.part.bytes;
      else {
        merged += task.before?.bytes ?? 0;
        // The parts of a rollback's target.
        for (const at of task.chunks) if (chunks[at]!.runId === undefined) merged += chunks[at]!.bytes;
      }
    }
    if (merged > MAX_MERGED_BYTES || copied > MAX_COPIED_BYTES) throw new Spill('the snapshot is large');
  }
}

/** A larger part is copied within the store, in bytes as stored. */
const MAX_BYTES = 256 * 1024;

/**
 * Reads the part of a small base snapshot and its block index once. Copies and merges of the part then need no further reads.
 *
 * @throws DamagedError if the part does not match its manifest
 */
async function holdBasePart(store: HeldStore, part: PublishedPart): Promise<void> {
  if (part.bytes > MAX_BYTES || part.rows === 0) return;
  const [body, index] = await allDone([store.read(part.key), readIndexBody(store, part)]);
  if (sha256Of(body) !== part.sha256)
    throw damagedObject(part.key, 'its SHA-256 does not match its manifest');
  store.hold(part.key, body);
  if (index.state === 'whole') store.hold(indexKey(part.key), index.body);
}
