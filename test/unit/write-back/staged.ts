import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSettings } from '../../../src/config/index.js';
import type { RunId } from '../../../src/core/brands.js';
import type { WritableResource } from '../../../src/core/contract/write-back.js';
import { InputError } from '../../../src/core/input-error.js';
import type { CsvSettings } from '../../../src/core/settings.js';
import { Format, noFacts } from '../../../src/core/value-facts.js';
import type { Column } from '../../../src/lake/rows/data-columns.js';
import { openStore } from '../../../src/lake/store/index.js';
import {
  type CheckedInput,
  checkWriteBack,
  type WriteBackSource,
} from '../../../src/write-back/check-write-back.js';
import type { InputProblems } from '../../../src/write-back/input-problems.js';
import { BatchPlanner, type PlannedRow } from '../../../src/write-back/planner.js';
import { typeBits } from '../../support/column-types.js';
import { publishRun } from '../lake/published.js';

/** A lake in a folder, and the check of files against it as the command does it. */
export class StagedFiles {
  readonly #folder = mkdtempSync(join(tmpdir(), 'worktrack-staged-'));
  readonly connection;
  readonly store;
  #files = 0;

  /** @param more further keys of the connection, as flow YAML */
  constructor(more = '') {
    const lake = `file://${join(this.#folder, 'lake')}`;
    this.connection = parseSettings(
      `connections: { acme: { baseUrl: "http://127.0.0.1:1", apiKey: { env: K }, lake: { url: "${lake}" }, ${more} } }`,
      'test',
    ).connections[0]!;
    this.store = openStore(this.connection.lake);
  }

  /** Publishes rows of a resource. The first column is the key. */
  publish(
    resource: WritableResource,
    columns: readonly Column[],
    rows: readonly (readonly (string | null)[])[],
    csv: Partial<CsvSettings> = {},
  ): Promise<unknown> {
    const runId = '20261121T020000Z-0123abcd' as RunId;
    return publishRun(this.store, { resource, runId, date: '2026-11-21', columns, parts: [rows], csv });
  }

  /** @param problems collects errors; `null`: the first one is thrown */
  check(
    name: string,
    bytes: string | Buffer,
    options: Partial<WriteBackSource> = {},
    problems: InputProblems | null = null,
  ): Promise<CheckedInput> {
    const file = join(this.#folder, `${this.#files++}-${name}`);
    writeFileSync(file, bytes);
    return checkWriteBack(
      this.connection,
      this.store,
      { resource: 'time-entries', file, ...options },
      problems,
    );
  }

  /** The bodies of the requests for a file. */
  async bodies(
    name: string,
    bytes: string | Buffer,
    options: Partial<WriteBackSource> = {},
  ): Promise<unknown[]> {
    return (await this.planned(name, bytes, options)).map(({ body }) => JSON.parse(body));
  }

  async planned(
    name: string,
    bytes: string | Buffer,
    options: Partial<WriteBackSource> = {},
  ): Promise<PlannedRow[]> {
    const input = await this.check(name, bytes, options);
    const planner = new BatchPlanner({ ...input, connection: 'acme' });
    for await (const rows of input.eachRow()) for (const row of rows) planner.survey(row);
    const planned: PlannedRow[] = [];
    for await (const rows of input.eachRow()) for (const row of rows) planned.push(planner.plan(row));
    return planned;
  }

  /** The message of an error, with the value and the remedy. */
  async error(name: string, bytes: string | Buffer, options: Partial<WriteBackSource> = {}): Promise<string> {
    try {
      await this.check(name, bytes, options);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      const value = error.value === null ? '' : ` <${error.value}>`;
      return `${error.message}${value}. ${error.remedy ?? ''}`;
    }
    return 'no error';
  }

  remove(): void {
    this.store.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A published column of one type. */
export function column(
  name: string,
  type: 'text' | 'time' | 'date' | 'integer' | 'number' | 'boolean',
): Column {
  const isText = type === 'text' || type === 'time' || type === 'date';
  const formats = { text: Format.text, time: Format.millis, date: Format.date } as const;
  const values = { ...noFacts(), formats: isText ? formats[type] : 0 };
  return { name, types: typeBits([isText ? 'string' : type]), values };
}

/** Columns of published time entries, and so many rows. */
export const ENTRY_COLUMNS: readonly Column[] = [
  column('id', 'text'),
  column('description', 'text'),
  column('durationSeconds', 'integer'),
  column('rate', 'number'),
  column('startedAt', 'time'),
  column('day', 'date'),
  column('billable', 'boolean'),
];

export function entryRows(count: number): (string | null)[][] {
  return Array.from({ length: count }, (_, n) => [
    `E${String(n).padStart(4, '0')}`,
    `no. ${n}`,
    String(600 + n),
    '12.50',
    `2026-11-${String(1 + (n % 28)).padStart(2, '0')}T08:00:00Z`,
    `2026-11-${String(1 + (n % 28)).padStart(2, '0')}`,
    'true',
  ]);
}
