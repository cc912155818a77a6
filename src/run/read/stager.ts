import type { Cells, EpochMs, ObjectKey } from '../../core/brands.js';
import {
  doubtOf,
  type ListDoubt,
  NOTHING_READ,
  nextPart,
  type ReadingEvidence,
  supports,
  withPage,
} from '../../core/list-evidence.js';
import { RowBuffer } from '../../lake/chunk/row-buffer.js';
import { sortRows } from '../../lake/chunk/sort-rows.js';
import { isApart, writeChunk } from '../../lake/chunk/write-chunk.js';
import { quarantineKey } from '../../lake/documents/lake-layout.js';
import type { RunFile } from '../../lake/documents/run-file.js';
import type { Mark, Stage } from '../../lake/documents/stage-file.js';
import { framingOf, plainFraming } from '../../lake/part/framing.js';
import { versionRules } from '../../lake/rows/newer.js';
import { writeQuarantine } from '../../lake/rows/people-csv.js';
import type { SortKey } from '../../lake/rows/row.js';
import { finalFailure } from '../failures.js';
import { STAGE } from '../staged-documents.js';
import type { Staging } from '../staging.js';
import { ReadProgress, withMark } from './endless-list.js';
import type { FetchedPage } from './page-chain.js';
import type { Page, PageReader } from './page-reader.js';
import { recordKeyHash } from './position.js';
import { type StoredStage, totalTrust } from './read-stage.js';
import { RepeatedRows } from './repeated-rows.js';
import { serviceClockAtRequest } from './watermark.js';

/**
 * The memory that long runs of unordered rows may take in this process, whatever the number of its workers and extractions. An
 * extraction that gets none stages smaller chunks, which costs a merge more time but changes no result.
 */
export const runSpace = {
  /** Bytes. Enough for two runs of two extractions: one run fills while the other is staged. */
  left: 64 * 1024 * 1024,

  /** Takes space for one run. Returns false if not enough is left. */
  take(bytes: number): boolean {
    if (bytes > this.left) return false;
    this.left -= bytes;
    return true;
  },

  giveBack(bytes: number): void {
    this.left += bytes;
  },
};

/** Rows in order are staged when their response bodies reach this size in bytes. It bounds the memory of an extraction. */
const CHUNK_BODY_BYTES = 4 * 1024 * 1024;
/**
 * Rows out of order are staged in larger chunks, where this process has space for them: a merge then interleaves fewer.
 * This size is that of the rows; the buffer has room for a page more.
 */
const RUN_BYTES = 14 * 1024 * 1024;
const RUN_SPACE_BYTES = 16 * 1024 * 1024;
/** A row takes some fifty bytes in addition to its text, and as many while a chunk is sorted, so short rows end a chunk earlier. */
const RUN_ROWS = 200_000;
/** Rows are also staged after this time: a killed worker loses no more reading than this (docs/explanation/how-it-works.md#one-run). */
const CHUNK_MS = 5000;

/** The most chunks of one call. */
const MAX_CHUNKS = 240;

/** What requesting pages again shows about a list. `why`: without cursors, which can be keys of records. */
export type ShiftCheck =
  | { readonly kind: 'same' | 'shifted' }
  | { readonly kind: 'not-made'; readonly why: string };

interface StagerOptions {
  readonly staging: Staging;
  readonly run: RunFile;
  readonly reader: PageReader;
  /** Fingerprints of the API keys that pages may have been read with. */
  readonly keys: () => readonly string[];
  /** The workflows' clock. */
  readonly now: () => EpochMs;
  readonly onStaged: () => void;
}

/**
 * Collects pages and stages them in the background, one chunk at a time. After each chunk it writes a stage document with
 * the position that the chunks reach. A chunk that is in no stage document does not count.
 */
export class Stager {
  readonly #options: StagerOptions;
  /** Whether the list still returns new keys, up to the last added page. */
  progress: ReadProgress;
  readonly #repeated = new RepeatedRows();
  /** Rows that were dropped since the last chunk, because the reading has returned them before, unchanged. */
  #dropped = 0;
  #stage: Stage;
  /** The stage document that was written last; `null`: none. */
  key: ObjectKey | null;
  #buffer = new RowBuffer();
  /** The last staged buffer, kept for reuse. */
  #spare: RowBuffer | null = null;
  /** Buffers that have taken the space of a long run. */
  readonly #long = new Set<RowBuffer>();
  #isNear = true;
  #quarantine: Cells[] = [];
  #bodyBytes = 0;
  #since = Date.now();
  #sequence = 0;
  /** The position after the last added page. */
  #ahead: Stage;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: StagerOptions, stage: Stage, key: ObjectKey | null) {
    this.#options = options;
    this.progress = new ReadProgress(stage.progress);
    this.#stage = stage;
    this.#ahead = stage;
    this.key = key;
  }

  /** Pages and rows read so far, staged or not. */
  get ahead(): Stage {
    return this.#ahead;
  }

  /** Whether the call must end, because the stage document of a call must stay small, or the staging takes no more. */
  get isFull(): boolean {
    const { staging } = this.#options;
    return this.#stage.chunks.length >= MAX_CHUNKS || staging.isFull(this.#buffer.size);
  }

  /** Adds a page. Resolves when the next page may be added. */
  async add({ received, next, done }: FetchedPage, newCursorHash: string | null): Promise<void> {
    const chainChanged = next.chain !== this.#ahead.chain;
    // A repeated key within one chain shows that the list shifted, so a chunk never mixes chains.
    if (chainChanged && (this.#buffer.rows > 0 || this.#dropped > 0)) await this.#flush();
    const now = this.#options.now();
    const marks = this.#marks(received.value, chainChanged);
    // A new chain may return every key once more.
    if (chainChanged) this.progress = new ReadProgress(null);
    const kept = this.#take(received.value);
    const serviceClock = serviceClockAtRequest(received);
    const { records } = received.value;
    const evidence = withPage(
      chainChanged ? this.#evidenceBefore(next) : this.#ahead.evidence,
      received.value.evidence,
      records,
    );
    this.#ahead = {
      ...this.#ahead,
      ...next,
      done,
      shifted: !chainChanged && this.#ahead.shifted,
      marks,
      seen: [...(chainChanged ? [] : this.#ahead.seen), ...(newCursorHash === null ? [] : [newCursorHash])],
      pages: this.#ahead.pages + 1,
      fetched: this.#ahead.fetched + records,
      quarantined: this.#ahead.quarantined + received.value.keyless.length,
      thin: addThin(this.#ahead.thin, received.value.thin),
      ignored: this.#ahead.ignored + received.value.ignored,
      replaced: this.#ahead.replaced + received.value.replaced + received.replaced,
      repaired: this.#ahead.repaired + received.repaired,
      evidence,
      doubts: done ? [...this.#ahead.doubts, ...this.#doubts(evidence, next)] : this.#ahead.doubts,
      announced: this.#ahead.announced ?? received.announced,
      isBlank: this.#ahead.isBlank || (received.isBlank && this.#ahead.kind === 'list'),
      // Only the first response of a reading gives its start time: later responses would miss changes in between.
      serviceStart: this.#ahead.pages === 0 ? serviceClock : this.#ahead.serviceStart,
      began: this.#ahead.began ?? now,
      readStart: this.#ahead.readPages === 0 ? serviceClock : this.#ahead.readStart,
      readBegan: this.#ahead.readBegan ?? now,
      readPages: this.#ahead.readPages + 1,
    };
    if (kept > 0) this.#bodyBytes += received.bytes;
    if (done || this.#isChunk() || Date.now() - this.#since >= CHUNK_MS) await this.#flush();
  }

  /** The evidence that a chain of pages begins with. What other parts of the same list say stays. */
  #evidenceBefore({ round }: FetchedPage['next']): ReadingEvidence {
    return round === undefined ? NOTHING_READ : nextPart(this.#ahead.evidence);
  }

  /** Why a reading that has reached the end of its list may lack records. */
  #doubts(
    evidence: ReadingEvidence,
    { cursor, updatedSince, round, latest }: FetchedPage['next'],
  ): ListDoubt[] {
    const { run } = this.#options;
    const facts = { trust: totalTrust(run), listed: run.before?.fullRead?.listed };
    const of = updatedSince === null ? 'all' : 'changes';
    // The last part of a list is requested as changes are.
    const doubt = doubtOf(evidence, { ...facts, of: round === undefined ? of : 'changes' });
    const isProven = round !== undefined && typeof latest === 'number' && latest >= round.after;
    const { whole } = evidence;
    const total = whole !== undefined && supports({ ...facts, of }, whole) ? { total: whole } : {};
    const inParts: ListDoubt[] =
      round === undefined ? [] : [{ kind: 'in-parts', parts: round.number + 1, isProven, ...total }];
    const cut: ListDoubt[] = cursor === null ? [] : [{ kind: 'cut' }];
    return [...(doubt === null || cursor !== null ? [] : [doubt]), ...inParts, ...cut];
  }

  /** Stages the remaining rows. Resolves to the stage document that covers every added page. */
  async finish(): Promise<StoredStage> {
    await this.#settle();
    if (this.#ahead !== this.#stage || this.key === null) await this.#flush();
    await this.#settle();
    return { key: this.key!, stage: this.#stage };
  }

  /** Notes, after the current chunk is staged, what the check for a shifted list has found. */
  async markChecked(found: ShiftCheck): Promise<void> {
    await this.#settle();
    const { notChecked: _, ...ahead } = this.#ahead;
    this.#ahead =
      found.kind === 'not-made'
        ? { ...ahead, notChecked: found.why }
        : { ...ahead, isChecked: true, shifted: ahead.shifted || found.kind === 'shifted' };
  }

  /** Returns the position after the current chunk is staged. */
  async settled(): Promise<Stage> {
    await this.#settle();
    return this.#ahead;
  }

  /** Frees the buffers and gives back the space of long runs. No page may be added afterwards. */
  close(): void {
    runSpace.giveBack(this.#long.size * RUN_SPACE_BYTES);
    this.#long.clear();
    // Not a buffer that is being staged, which this does not have.
    this.#buffer.release();
    this.#spare?.release();
  }

  /** Whether the buffered rows are enough for a chunk. */
  #isChunk(): boolean {
    const buffer = this.#buffer;
    const { partBytes } = this.#options.run.resource.csv;
    // A staged object is no larger than a part has to be.
    if (!buffer.ascending && buffer.size >= partBytes) return true;
    if (this.#bodyBytes < CHUNK_BODY_BYTES) return false;
    if (buffer.ascending) return true;
    if (!this.#long.has(buffer) && !runSpace.take(RUN_SPACE_BYTES)) return true;
    this.#long.add(buffer);
    return buffer.size >= RUN_BYTES || buffer.rows >= RUN_ROWS;
  }

  #marks({ rows }: Page, chainChanged: boolean): readonly Mark[] {
    const { marks, cursor, readPages } = this.#ahead;
    if (chainChanged) return [];
    if (cursor === null || rows.rows === 0) return marks;
    return withMark(marks, { page: readPages, cursor, first: recordKeyHash(rows.key(0)) });
  }

  /** Buffers the rows of a page. Returns how many of its records were buffered. */
  #take(page: Page): number {
    const { run, reader } = this.#options;
    const { name, key, badRecords } = run.resource;
    if (page.firstKeyless !== null && badRecords === 'stop') {
      const isOther = page.firstOther === page.firstKeyless;
      const has = isOther ? 'is not an object' : `has no value for the key ("${key.join('", "')}")`;
      throw finalFailure(
        'BrokenPromise',
        `${name}: record ${page.firstKeyless} of page ${this.#ahead.pages} (counted from 0) ${has}. ` +
          'Nothing was published. ' +
          (isOther ? 'Set' : 'Correct `key` for the resource, or set') +
          ' `badRecords: quarantine` to write such ' +
          'records to _quarantine/.',
        { resource: name },
      );
    }
    const aside = [...page.keyless, ...page.thin.map(({ cells }) => cells)];
    this.#quarantine.push(...aside);
    const { rows } = page;
    const unwritten = aside.map((cells) => cells.join('\0') as SortKey);
    const dropped = this.progress.add([...rows.keys(), ...unwritten], this.#options.now())
      ? this.#repeated.addNew(this.#buffer, rows)
      : this.#repeated.addKnown(this.#buffer, rows);
    this.#dropped += dropped;
    reader.release(page);
    return page.records - dropped;
  }

  /**
   * Stages the rows that have been buffered for too long, although no page arrives.
   *
   * @param isUrgent whatever their age
   */
  async saveOld(isUrgent: boolean): Promise<void> {
    await this.#settle();
    const isUnsaved = this.#ahead !== this.#stage;
    if (isUnsaved && (isUrgent || Date.now() - this.#since >= CHUNK_MS)) await this.#flush();
    if (isUrgent) await this.#settle();
  }

  /** Resolves when no chunk is being written. */
  async #settle(): Promise<void> {
    for (let writing: Promise<void> | null = null; writing !== this.#writing; ) {
      writing = this.#writing;
      await writing;
    }
  }

  async #flush(): Promise<void> {
    // One chunk at a time: the next one fills in the meantime, so a slow store slows down reading. The loop is here, because
    // two callers that wait for the same chunk must not both continue.
    for (let writing: Promise<void> | null = null; writing !== this.#writing; ) {
      writing = this.#writing;
      await writing;
    }
    const buffer = this.#buffer;
    this.#ahead = { ...this.#ahead, progress: this.progress.toStage(), keys: this.#options.keys() };
    const made = { buffer, quarantine: this.#quarantine, dropped: this.#dropped };
    this.#quarantine = [];
    this.#dropped = 0;
    this.#buffer = this.#spare ?? new RowBuffer();
    this.#spare = null;
    this.#bodyBytes = 0;
    this.#since = Date.now();
    this.#writing = this.#write(made, this.#ahead, this.#sequence++);
    // Awaited at the next flush; until then a failure must not count as unhandled.
    this.#writing.catch(() => {});
  }

  async #write(
    { buffer, quarantine, dropped }: { buffer: RowBuffer; quarantine: readonly Cells[]; dropped: number },
    ahead: Stage,
    sequence: number,
  ): Promise<void> {
    const { staging, run, reader } = this.#options;
    const { store } = staging;
    const known = reader.columns.toColumns();
    let { chunks } = this.#stage;
    let duplicates = this.#stage.duplicates + dropped;
    let shifted = ahead.shifted || dropped > 0;
    if (quarantine.length > 0) {
      const name = staging.own('keyless', sequence, '');
      await writeQuarantine(
        store,
        quarantineKey(run.resource.name, run.runId, name),
        quarantine,
        known,
        run.resource.csv,
      );
    }
    if (buffer.rows > 0) {
      const sorted = sortRows(buffer);
      // A merge copies the blocks of such rows, so they are compressed here, once.
      const isCopied = chunks.length === 0 ? buffer.ascending : isApart(sorted, chunks);
      const framing = isCopied || !this.#isNear ? framingOf(run.resource.csv) : plainFraming;
      const name = staging.own('chunk', sequence, framing.extension);
      const begun = performance.now();
      const written = await writeChunk(store, staging.key(name), sorted, known, {
        profile: run.resource,
        ...versionRules(run.resource, reader.columns.names),
      });
      if (framing === plainFraming && isFar(written.chunk.bytes, performance.now() - begun))
        this.#isNear = false;
      const { chain } = ahead;
      const of = { chain, runId: run.runId };
      const twins = written.twins.map((twin) => ({ ...twin, ...of }));
      const repeated = written.duplicates - twins.reduce((sum, { rows }) => sum + rows, 0);
      // The older rows come first.
      chunks = [...chunks, ...twins, { ...written.chunk, ...of, repeated }];
      duplicates += repeated;
      shifted ||= written.duplicates > 0;
    }
    buffer.clear();
    this.#spare = buffer;
    const stage: Stage = { ...ahead, chunks, duplicates, shifted, columns: known };
    const key = await staging.write(STAGE, staging.own('stage', sequence), stage);
    if (this.#ahead === ahead) this.#ahead = stage;
    else {
      const isSameChain = this.#ahead.chain === ahead.chain;
      this.#ahead = {
        ...this.#ahead,
        chunks,
        duplicates,
        shifted: this.#ahead.shifted || (isSameChain && shifted),
      };
    }
    this.#stage = stage;
    this.key = key;
    this.#options.onStaged();
  }
}

function addThin({ records, rule }: Stage['thin'], more: Page['thin']): Stage['thin'] {
  return { records: records + more.length, rule: rule ?? more[0]?.rule ?? null };
}

/** The rate of a near store, in bytes per second. */
const NEAR_BYTES_PER_SECOND = 8 * 1024 * 1024;
/** A smaller chunk does not show the rate of a store: its upload ends before the store has answered once. */
const RATED_BYTES = 2 * 1024 * 1024;

/**
 * Whether a store took an uncompressed chunk so slowly that the next ones are to be compressed. Their merge compresses the
 * rows once more, so with a near store, compressing them before would only cost CPU time.
 */
export function isFar(bytes: number, ms: number): boolean {
  return bytes >= RATED_BYTES && (1000 * bytes) / ms < NEAR_BYTES_PER_SECOND;
}
