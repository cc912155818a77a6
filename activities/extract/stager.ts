import type { ObjectKey } from '../../src/core/brands.js';
import type { Cells } from '../../src/core/cells.js';
import type { ExtractInput } from '../../src/core/contract.js';
import { RowBuffer } from '../../src/lake/chunk/row-buffer.js';
import { writeChunk } from '../../src/lake/chunk/write.js';
import { quarantineKey } from '../../src/lake/layout.js';
import { newerRows } from '../../src/lake/newer.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { writeQuarantine } from '../../src/lake/quarantine.js';
import type { RunFile } from '../../src/lake/run-file.js';
import type { Stage } from '../../src/lake/stage.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { stagedKey, writeDocument } from '../documents.js';
import { finalFailure } from '../failures.js';
import type { Page, PageReader } from './page-reader.js';
import type { FetchedPage } from './pages.js';
import { stageKey } from './position.js';

/** Rows are staged when the bodies that they came in amount to this, in bytes: it bounds the memory of an extraction. */
const CHUNK_BODY_BYTES = 4 * 1024 * 1024;
/** Or after this long: a killed worker costs no more than that of reading (DESIGN 2). */
const CHUNK_MS = 5000;

export interface StagerOptions {
  readonly store: ObjectStore;
  readonly run: RunFile;
  readonly input: ExtractInput;
  readonly attempt: number;
  readonly reader: PageReader;
  readonly onStaged: (key: ObjectKey, stage: Stage) => void;
}

/**
 * Gathers pages and stages them in the background, one chunk at a time, each followed by a stage document that
 * says how far the chunks reach. What no stage document names was never staged.
 */
export class Stager {
  readonly #options: StagerOptions;
  #stage: Stage;
  #key: ObjectKey | null;
  #buffer = new RowBuffer();
  /** The one that was staged last, for its memory. */
  #spare: RowBuffer | null = null;
  #quarantine: Cells[] = [];
  #bodyBytes = 0;
  #since = Date.now();
  #sequence = 0;
  /** The position behind the last page that was added. */
  #ahead: Stage;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: StagerOptions, stage: Stage, key: ObjectKey | null) {
    this.#options = options;
    this.#stage = stage;
    this.#ahead = stage;
    this.#key = key;
  }

  /** Pages and rows read so far, staged or not. */
  get ahead(): Stage {
    return this.#ahead;
  }

  get chunks(): number {
    return this.#stage.chunks.length;
  }

  /** Takes a page. Resolves when the next one may come. */
  async add({ received, next, done }: FetchedPage, newCursorHash: string | null): Promise<void> {
    this.#take(received.value);
    const chainChanged = next.chain !== this.#ahead.chain;
    this.#ahead = {
      ...this.#ahead,
      cursor: next.cursor,
      updatedSince: next.updatedSince,
      done,
      chain: next.chain,
      restarts: next.restarts,
      pageSize: next.pageSize,
      seen: [...(chainChanged ? [] : this.#ahead.seen), ...(newCursorHash === null ? [] : [newCursorHash])],
      pages: this.#ahead.pages + 1,
      fetched: this.#ahead.fetched + received.value.records,
      quarantined: this.#ahead.quarantined + received.value.keyless.length,
      replaced: this.#ahead.replaced + received.value.replaced,
      // Only a first response tells when a reading began: a later one would be too late.
      serviceStart: this.#ahead.pages === 0 ? received.serviceDate : this.#ahead.serviceStart,
      readStart: this.#ahead.readPages === 0 ? received.serviceDate : this.#ahead.readStart,
      readPages: this.#ahead.readPages + 1,
    };
    this.#bodyBytes += received.bytes;
    if (done || this.#bodyBytes >= CHUNK_BODY_BYTES || Date.now() - this.#since >= CHUNK_MS)
      await this.#flush();
  }

  /** Stages what is left; resolves to the stage document that covers every page that was added. */
  async finish(): Promise<{ key: ObjectKey; stage: Stage }> {
    await this.#writing;
    if (this.#ahead !== this.#stage || this.#key === null) await this.#flush();
    await this.#writing;
    return { key: this.#key!, stage: this.#stage };
  }

  #take(page: Page): void {
    const { run, reader } = this.#options;
    const { name, key, badRecords } = run.resource;
    if (page.firstKeyless !== null && badRecords === 'stop') {
      throw finalFailure(
        'BrokenPromise',
        `${name}: record ${page.firstKeyless} of page ${this.#ahead.pages} (from 0) has no "${key.join('", "')}", the key; ` +
          'nothing was published. Name the right `key` for the resource, or set `badRecords: quarantine` to set such ' +
          'records aside.',
        { resource: name },
      );
    }
    this.#quarantine.push(...page.keyless);
    this.#buffer.addAll(page.rows);
    reader.release(page);
  }

  async #flush(): Promise<void> {
    // One chunk at a time: the next one gathers meanwhile, and a slow store slows reading down.
    await this.#writing;
    const buffer = this.#buffer;
    const ahead = this.#ahead;
    const sequence = this.#sequence++;
    const quarantine = this.#quarantine;
    this.#quarantine = [];
    this.#buffer = this.#spare ?? new RowBuffer();
    this.#spare = null;
    this.#bodyBytes = 0;
    this.#since = Date.now();
    this.#writing = this.#write(buffer, quarantine, ahead, sequence);
    // Awaited at the next flush; until then a failure must not count as unhandled.
    this.#writing.catch(() => {});
  }

  async #write(
    buffer: RowBuffer,
    quarantine: readonly Cells[],
    ahead: Stage,
    sequence: number,
  ): Promise<void> {
    const { store, run, input, attempt, reader } = this.#options;
    const known = reader.columns.toColumns();
    let { chunks, duplicates } = this.#stage;
    if (quarantine.length > 0) {
      const name = `${input.call}-${attempt}-${sequence}`;
      await writeQuarantine(
        store,
        quarantineKey(run.resource.name, run.runId, name),
        quarantine,
        known,
        run.resource.csv,
      );
    }
    if (buffer.rows > 0) {
      const name = `chunk-${input.call}-${attempt}-${sequence}${framingOf(run.resource.csv).extension}`;
      const { updatedAtField } = run.resource;
      const newer = updatedAtField === null ? -1 : reader.columns.names.indexOf(updatedAtField);
      const written = await writeChunk(store, stagedKey(input, name), buffer, known, {
        profile: run.resource,
        isNewer: newer === -1 ? null : newerRows(newer, run.resource.csv.delimiter),
      });
      chunks = [...chunks, written.chunk];
      duplicates += written.duplicates;
    }
    buffer.clear();
    this.#spare = buffer;
    const stage: Stage = { ...ahead, chunks, duplicates, columns: known };
    const key = stageKey(input, attempt, sequence);
    await writeDocument(store, key, stage);
    if (this.#ahead === ahead) this.#ahead = stage;
    else this.#ahead = { ...this.#ahead, chunks, duplicates };
    this.#stage = stage;
    this.#key = key;
    this.#options.onStaged(key, stage);
  }
}
