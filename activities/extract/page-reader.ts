import { type ListEnvelope, scanListPage } from '../../src/api/json/page.js';
import { type ByteString, toByteString } from '../../src/core/brands.js';
import type { Cells } from '../../src/core/cells.js';
import { RowBuffer } from '../../src/lake/chunk/row-buffer.js';
import { RowWriter } from '../../src/lake/chunk/row-writer.js';
import { isWanted } from '../../src/lake/profile.js';
import { rowPrefix } from '../../src/lake/row.js';
import type { RunFile } from '../../src/lake/run-file.js';
import { type Column, ColumnSet } from '../../src/lake/schema.js';
import { toUtcSeconds } from '../../src/lake/watermark.js';

/** Records that are read before they are written: few enough that their values are forgotten while they are young. */
const RECORDS_AT_ONCE = 64;

/** A page whose records have become rows. */
export interface Page extends Omit<ListEnvelope, 'rows'> {
  /** Number of records, those without their key included. */
  readonly records: number;
  readonly rows: RowBuffer;
  /** Records without their key. */
  readonly keyless: readonly Cells[];
  /** Position of the first of them. */
  readonly firstKeyless: number | null;
}

/** Turns one list's pages into rows, from the text of their bodies. */
export class PageReader {
  readonly columns: ColumnSet;
  readonly #flatten: ByteString | null;
  readonly #writer: RowWriter;
  readonly #spares: RowBuffer[] = [];

  /** @param known the data columns so far */
  constructor({ resource, runId, startedAt }: RunFile, known: readonly Column[]) {
    const { csv } = resource;
    this.columns = new ColumnSet(resource.key, known, isWanted(resource));
    this.#flatten = csv.nested === 'flatten' ? toByteString(csv.separator) : null;
    this.#writer = new RowWriter(resource, rowPrefix(runId, toUtcSeconds(startedAt), null, csv.delimiter));
  }

  /** @throws as `scanListPage` */
  read(body: ByteString): Page {
    const rows = this.#spares.pop() ?? new RowBuffer();
    const keyless: Cells[] = [];
    let records = 0;
    let firstKeyless: number | null = null;
    const forget = (): void => {
      rows.clear();
      keyless.length = 0;
      records = 0;
      firstKeyless = null;
    };
    forget();
    const end = scanListPage(body, {
      columns: this.columns,
      flatten: this.#flatten,
      atOnce: RECORDS_AT_ONCE,
      forget,
      take: (some) => {
        for (const { at, cells } of this.#writer.write(some, this.columns.names, rows)) {
          firstKeyless ??= records + at;
          keyless.push(cells);
        }
        records += some.length;
      },
    });
    return { ...end, records, rows, keyless, firstKeyless };
  }

  /** Takes back a page that is not needed any more, for its memory. */
  release({ rows }: Page): void {
    this.#spares.push(rows);
  }
}
