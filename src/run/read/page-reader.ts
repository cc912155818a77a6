import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ListBody } from '../../api/index.js';
import { type ListEnvelope, scanListPage } from '../../api/json/page.js';
import { SameColumnError } from '../../api/json/record.js';
import type { EpochMs } from '../../core/brands.js';
import { type ByteString, type Cells, toByteString, type UtcSeconds } from '../../core/brands.js';
import { ConfigurationError } from '../../core/errors.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import { RowBuffer, RowWriter, type Thin } from '../../lake/chunk/row-buffer.js';
import type { WritingRun } from '../../lake/documents/run-file.js';
import { type Column, ColumnSet, TooManyColumnsError } from '../../lake/rows/data-columns.js';
import { recordJudge } from '../../lake/rows/deletion-mark.js';
import { isWanted } from '../../lake/rows/profile.js';
import { rowPrefix } from '../../lake/rows/row.js';
import { syncedAtOfRun } from '../../lake/rows/synced-at.js';

/** Records that are read before they are written. A small batch is freed while it is in V8's young generation. */
const RECORDS_AT_ONCE = 64;
/** Cells per batch, so that wide records do not block the event loop for long. */
const CELLS_AT_ONCE = 64_000;
/** Longest time that reading a page blocks the event loop before heartbeats and other responses are handled. */
const MAX_TURN_MS = 50;

/** A page whose records have become rows. */
export interface Page extends Omit<ListEnvelope, 'rows'> {
  /** Number of records, including those without a key. */
  readonly records: number;
  readonly rows: RowBuffer;
  readonly keyless: readonly Cells[];
  /** Position of the first record without a key. */
  readonly firstKeyless: number | null;
  /** Records about a deletion alone, which no setting recognizes. */
  readonly thin: readonly Thin[];
  /** Records that say that they are deleted, with `deletes: keep`. */
  readonly ignored: number;
}

/** Converts the JSON bodies of a list's pages into rows. */
export class PageReader {
  readonly columns: ColumnSet;
  readonly #resource: string;
  readonly #flatten: ByteString | null;
  readonly #writer: RowWriter;
  readonly #spares: RowBuffer[] = [];

  /**
   * @param known the data columns so far
   * @param now for times of deletion
   * @param from `by-id`: records that their list does not show
   */
  constructor(
    run: WritingRun,
    known: readonly Column[],
    now: () => EpochMs = () => run.startedAt,
    from: 'list' | 'by-id' = 'list',
  ) {
    const { resource, runId } = run;
    const { csv } = resource;
    this.#resource = resource.name;
    this.columns = new ColumnSet(resource.key, known, isWanted(resource));
    this.#flatten = csv.nested === 'flatten' ? toByteString(csv.separator) : null;
    const prefix = (deletedAt: UtcSeconds | null): string =>
      rowPrefix(runId, syncedAtOfRun(run), deletedAt, csv.delimiter);
    this.#writer = new RowWriter(resource, prefix(null), {
      stateOf: recordJudge(resource.deleted, resource.key.length, now, from),
      prefix: resource.deletes === 'keep' ? null : prefix(toUtcSeconds(run.startedAt)),
    });
  }

  /**
   * Reads one page. Wait for the result before reading the next page, because a page can add columns.
   *
   * @param nullData what `"data": null` means on this page, as in `PageOptions`
   * @throws as `scanListPage`; ConfigurationError for more columns than a resource may have
   */
  async read(body: ListBody, nullData: 'empty' | 'wrong' = 'wrong'): Promise<Page> {
    const rows = this.#spares.pop() ?? new RowBuffer();
    const keyless: Cells[] = [];
    const thin: Thin[] = [];
    let records = 0;
    let ignored = 0;
    let firstKeyless: number | null = null;
    const forget = (): void => {
      rows.clear();
      keyless.length = 0;
      thin.length = 0;
      records = 0;
      ignored = 0;
      firstKeyless = null;
    };
    forget();
    const scan = scanListPage(body, {
      columns: this.columns,
      flatten: this.#flatten,
      nullData,
      atOnce: () => Math.min(RECORDS_AT_ONCE, CELLS_AT_ONCE / this.columns.size),
      forget,
      take: (some) => {
        const written = this.#writer.write(some, this.columns.names, rows);
        for (const { at, cells } of written.keyless) {
          firstKeyless ??= records + at;
          keyless.push(cells);
        }
        thin.push(...written.thin);
        ignored += written.ignored;
        records += some.length;
      },
    });
    return { ...(await this.#run(scan)), records, rows, keyless, firstKeyless, thin, ignored };
  }

  async #run<T>(scan: Generator<void, T>): Promise<T> {
    try {
      for (let turnEnds = performance.now() + MAX_TURN_MS; ; ) {
        const { done, value } = scan.next();
        if (done) return value;
        if (performance.now() < turnEnds) continue;
        await nextTurn();
        turnEnds = performance.now() + MAX_TURN_MS;
      }
    } catch (error) {
      if (error instanceof SameColumnError)
        throw new ConfigurationError(`${this.#resource}: ${error.message}. Nothing was published.`, error);
      throw error instanceof TooManyColumnsError ? this.#tooManyColumns(error) : error;
    }
  }

  #tooManyColumns(cause: TooManyColumnsError): ConfigurationError {
    const least = this.#flatten === null ? '' : 'Set `csv: { nested: json }` for the resource, or name';
    return new ConfigurationError(`${this.#resource}: ${cause.message}. Nothing was published.`, {
      remedy: `${least || 'Name'} the fields to mirror in \`columns.include\`, or those to leave out in \`columns.exclude\`.`,
      cause,
    });
  }

  /** Reuses the buffer of a page that is no longer needed. */
  release({ rows }: Page): void {
    this.#spares.push(rows);
  }
}
