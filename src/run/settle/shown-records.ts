import { z } from 'zod';
import { type FetchRequest, type ListBody, ServiceError } from '../../api/index.js';
import { readListPage } from '../../api/json/page.js';
import { recordIn } from '../../api/json/record-in.js';
import { type ByteString, type Cells, fromByteString, toByteString } from '../../core/brands.js';
import { RowBuffer } from '../../lake/chunk/row-buffer.js';
import { sortRows } from '../../lake/chunk/sort-rows.js';
import { writeChunk } from '../../lake/chunk/write-chunk.js';
import type { WritingRun } from '../../lake/documents/run-file.js';
import type { Stage } from '../../lake/documents/stage-file.js';
import { framingOf } from '../../lake/part/framing.js';
import { ColumnSet } from '../../lake/rows/data-columns.js';
import { versionRules } from '../../lake/rows/newer.js';
import { isWanted } from '../../lake/rows/profile.js';
import { isTombstone } from '../../lake/rows/row.js';
import type { OpenConnection } from '../deps.js';
import { PageReader } from '../read/page-reader.js';
import { CHUNK, type FieldsOf } from '../staged-documents.js';
import type { Staging } from '../staging.js';
import type { RecordAnswer } from './ask-by-id.js';

/** Rows are staged when their text reaches this size in bytes. */
const CHUNK_BYTES = 4 * 1024 * 1024;
/** Listed records that are compared until one is equal: each may have changed since it was listed. */
const MAX_COMPARED = 3;

/** What is staged of records that only GET by id has shown. */
export interface StagedShown extends Pick<Stage, 'chunks' | 'fetched' | 'duplicates' | 'thin' | 'columns'> {
  /** Records that exist and whose values were not taken. */
  readonly untaken: number;
  /** Whether a listed record that was compared is not the same by id. Absent: none was compared, or it is. */
  readonly differs?: true;
}

/** Whether GET by id shows a listed record as the list does; `not-compared`: there is no record that both show. */
type Agreement = 'same' | 'differs' | 'not-compared';

export const STAGED_SHOWN = z.looseObject({
  ...{ chunks: z.array(CHUNK), fetched: z.int(), duplicates: z.int(), untaken: z.int() },
  ...{ thin: z.looseObject({ records: z.int() }), columns: z.array(z.looseObject({ name: z.string() })) },
} satisfies FieldsOf<StagedShown>);

interface ShownOptions {
  readonly client: OpenConnection['client'];
  readonly staging: Staging;
  /** With the masking secret. */
  readonly run: WritingRun;
  /** The end of the reading. */
  readonly last: Stage;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/**
 * Stages the records that GET by id shows and the list does not, as their rows' versions
 * (docs/explanation/guarantees.md#deletes). They count only if a listed record has the same fields and values by id as in the
 * list: some services show less or more by id.
 */
export class ShownRecords {
  readonly #options: ShownOptions;
  readonly #reader: PageReader;
  readonly #buffer = new RowBuffer();
  #staged: StagedShown;
  #agreement: Promise<Agreement> | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #sequence = 0;

  constructor(options: ShownOptions, before: StagedShown | null) {
    this.#options = options;
    const { columns, thin } = options.last;
    this.#staged = before ?? { chunks: [], fetched: 0, duplicates: 0, thin, columns, untaken: 0 };
    this.#reader = new PageReader(options.run, this.#staged.columns, options.now, 'by-id');
  }

  /** Takes a record. Returns what it says: `gone`, it is deleted; `unclear`, it may be, but no setting names its mark. */
  async add(record: ByteString): Promise<RecordAnswer> {
    this.#agreement ??= this.#compare();
    const agreement = await this.#agreement;
    const shown = this.#turn.then(() => this.#take(record, agreement));
    // A page can add columns, so one is read at a time.
    this.#turn = shown.catch(() => {});
    return shown;
  }

  async #take(record: ByteString, agreement: Agreement): Promise<RecordAnswer> {
    const page = await this.#reader.read(pageOf(record));
    const { rows, thin } = page;
    try {
      if (thin.length > 0) {
        const { fetched } = this.#staged;
        const { records, rule } = this.#staged.thin;
        const all = { records: records + 1, rule: rule ?? thin[0]!.rule };
        this.#staged = { ...this.#staged, fetched: fetched + 1, thin: all };
        return 'unclear';
      }
      const state = rows.rows === 1 && isTombstone(rows.row(0)) ? 'gone' : 'found';
      if (agreement === 'same') this.#buffer.addAll(rows);
      else if (state === 'found') {
        const untaken = this.#staged.untaken + 1;
        this.#staged = { ...this.#staged, untaken, ...(agreement === 'differs' && { differs: true }) };
      }
      if (this.#buffer.size >= CHUNK_BYTES) await this.#flush();
      return state;
    } finally {
      this.#reader.release(page);
    }
  }

  /** Stages the remaining rows. */
  async finish(): Promise<StagedShown> {
    await this.#turn;
    await this.#flush();
    return this.#staged;
  }

  async #flush(): Promise<void> {
    const { staging, run, last } = this.#options;
    const { resource, runId } = run;
    const buffer = this.#buffer;
    if (buffer.rows === 0) return;
    const framing = framingOf(resource.csv);
    const columns = this.#reader.columns.toColumns();
    const name = staging.own('shown', this.#sequence++, framing.extension);
    const key = staging.key(name);
    const { chunk, duplicates } = await writeChunk(staging.store, key, sortRows(buffer), columns, {
      profile: resource,
      ...versionRules(resource, this.#reader.columns.names),
    });
    const { chunks, fetched } = this.#staged;
    this.#staged = {
      ...this.#staged,
      chunks: [...chunks, { ...chunk, chain: last.chain + 1, runId }],
      fetched: fetched + buffer.rows,
      duplicates: this.#staged.duplicates + duplicates,
      columns,
    };
    buffer.clear();
  }

  /** Compares the first records of the list, until one is the same by id. */
  async #compare(): Promise<Agreement> {
    const { client, run, last, signal } = this.#options;
    const { name, path, params, key } = run.resource;
    let agreement: Agreement = 'not-compared';
    try {
      const request = {
        resource: name,
        path,
        params,
        limit: last.pageSize,
        cursor: null,
        updatedSince: null,
      };
      const { value: listed } = await client.listPage({ ...request, signal }, (body) =>
        recordsOf(body, run, MAX_COMPARED),
      );
      for (const { id, fields } of listed) {
        const one: FetchRequest = { resource: name, path, id, signal };
        const found = await client.fetchById(one, (body) => recordIn(body, key[0]!, id));
        const record = found?.value ?? null;
        if (record === null) continue;
        if (recordsOf(pageOf(record), run, 1)[0]?.fields === fields) return 'same';
        agreement = 'differs';
      }
      return agreement;
    } catch (error) {
      if (error instanceof ServiceError) return agreement;
      throw error;
    }
  }
}

function pageOf(record: ByteString): ByteString {
  return `{"data":[${record}],"page":{}}` as ByteString;
}

/** The first records of a page: their ids, and all mirrored fields that they have, with their values, as one text. */
function recordsOf(body: ListBody, { resource }: WritingRun, most: number): { id: string; fields: string }[] {
  const { key, csv } = resource;
  const columns = new ColumnSet(key, [], isWanted(resource));
  const flatten = csv.nested === 'flatten' ? toByteString(csv.separator) : null;
  const { rows } = readListPage(body, { columns, flatten, nullData: 'empty' });
  return rows.slice(0, most).flatMap((cells) => {
    const id = cells[0];
    return id ? [{ id: fromByteString(id), fields: fieldsOf(cells, columns.names) }] : [];
  });
}

function fieldsOf(cells: Cells, names: readonly string[]): string {
  return JSON.stringify(
    Object.keys(cells)
      .map((at) => [names[Number(at)], cells[Number(at)]])
      .sort(),
  );
}
