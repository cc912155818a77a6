import {
  type ListBody,
  NotFoundError,
  RefusedError,
  RejectedError,
  type ServiceClient,
  ServiceError,
} from '../../api/index.js';
import { readListPage } from '../../api/json/page.js';
import { withResponse } from '../../api/json/read-evidence.js';
import { recordIn } from '../../api/json/record-in.js';
import type { EpochMs } from '../../core/brands.js';
import {
  type ByteString,
  type Cursor,
  fromByteString,
  toByteString,
  type UtcSeconds,
} from '../../core/brands.js';
import { errorMessage } from '../../core/errors.js';
import type { PageEvidence } from '../../core/list-evidence.js';
import type { ResourceSettings } from '../../core/settings.js';
import { type Column, ColumnSet } from '../../lake/rows/data-columns.js';
import { SeenRecords } from './seen-records.js';

/** A page of a list; values are text, by field. */
export interface ProbedPage {
  readonly kind: 'page';
  readonly rows: readonly ReadonlyMap<string, string>[];
  /** The key of each row, as one text. */
  readonly keys: readonly string[];
  readonly limit: number | null;
  readonly nextCursor: Cursor | null;
  /** As in `ListEnvelope`. */
  readonly firstOther: number | null;
  readonly evidence: PageEvidence;
  /** The columns of its rows. */
  readonly columns: readonly Column[];
  /** The service's clock. */
  readonly serviceDate: EpochMs | null;
}

/** A request that returned no page. `rejected`: a 4xx that is no refusal, such as 400 for an unknown parameter. */
interface ProbedFailure {
  readonly kind: 'refused' | 'rejected' | 'not-found' | 'failed';
  readonly message: string;
}

type Probed = ProbedPage | ProbedFailure;

/** What GET by id answered. `other`: a success without the record. */
type ProbedRecord = 'found' | 'gone' | 'other' | 'refused' | 'failed';

interface Query {
  readonly limit: number;
  readonly cursor?: Cursor | null;
  readonly updatedSince?: UtcSeconds | null;
}

/** Sends read-only requests for one resource. No method throws for what the service answers. */
export class ResourceProbe {
  /** Requests sent, without retries. */
  requests = 0;
  /** The records of all pages. */
  readonly seen = new SeenRecords();

  constructor(
    private readonly client: ServiceClient,
    readonly resource: ResourceSettings,
  ) {}

  async page({ limit, cursor = null, updatedSince = null }: Query): Promise<Probed> {
    this.requests++;
    const { name, path, params } = this.resource;
    try {
      const request = { resource: name, path, params, limit, cursor, updatedSince };
      const { value, serviceDate } = await this.client.listPage(request, (body, response) => {
        const read = this.#read(body);
        return { ...read, evidence: withResponse(read.evidence, response) };
      });
      return { kind: 'page', ...value, serviceDate };
    } catch (error) {
      return failureOf(error);
    }
  }

  /** Reads a page, and notes its records. */
  #read(body: ListBody): Omit<ProbedPage, 'kind' | 'serviceDate'> {
    const { key, csv } = this.resource;
    const columns = new ColumnSet(key, []);
    const flatten = csv.nested === 'flatten' ? toByteString(csv.separator) : null;
    const { rows: cells, limit, nextCursor, firstOther, evidence } = readListPage(body, { columns, flatten });
    const names = columns.names;
    const rows = cells.map((row) => {
      const filled = names.flatMap((field, at) => (row[at] == null ? [] : [[field, row[at]] as const]));
      return new Map(filled.map(([field, cell]) => [field, fromByteString(cell)]));
    });
    const keys = rows.map((row) => JSON.stringify(key.map((field) => row.get(field) ?? null)));
    for (const [at, row] of rows.entries())
      if (key.every((field) => row.has(field))) this.seen.see(keys[at]!, row);
    return { rows, keys, limit, nextCursor, firstOther, evidence, columns: columns.toColumns() };
  }

  /** @param id of a record, which may not exist */
  async record(id: string): Promise<ProbedRecord> {
    this.requests++;
    const { name, path, key } = this.resource;
    try {
      const request = { resource: name, path, id };
      const found = await this.client.fetchById(request, (body) => recordIn(body, key[0]!, id));
      if (found === null) return 'gone';
      if (found.value === null) return 'other';
      this.#read(`{"data":[${found.value}],"page":{}}` as ByteString);
      return 'found';
    } catch (error) {
      if (error instanceof RefusedError) return 'refused';
      if (error instanceof ServiceError) return 'failed';
      throw error;
    }
  }
}

function failureOf(error: unknown): ProbedFailure {
  const message = errorMessage(error);
  if (error instanceof RefusedError) return { kind: 'refused', message };
  if (error instanceof NotFoundError) return { kind: 'not-found', message };
  if (error instanceof RejectedError) return { kind: 'rejected', message };
  if (error instanceof ServiceError) return { kind: 'failed', message };
  throw error;
}
