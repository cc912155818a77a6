import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorMessage } from '../../core/errors.js';
import { reach } from '../../core/reachability.js';
import { peopleCsv } from '../../lake/rows/people-csv.js';
import { StoreError } from '../../lake/store/index.js';
import { type QueryResult, queryLake } from '../../sql/query/query-lake.js';
import { EXIT, type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import { type GlobalOptions, reachTimeoutMs, runIdOption } from '../shared/command-options.js';
import { readConnection } from '../shared/each-connection.js';
import { readDay } from '../shared/open-lake.js';
import { counted, jsonWithRows, output, printable, terminalWidth, writeAll } from '../shared/output.js';
import { resultTable } from '../shared/result-table.js';

interface QueryCommandOptions extends GlobalOptions {
  readonly dt?: string;
  readonly run?: string;
  readonly csv?: boolean;
  readonly output?: string;
}

/** Most characters of a statement on stdin. */
const MAX_STATEMENT = 1024 * 1024;

/** `worktrack query`: answers a SELECT over the published snapshots. */
export async function runQuery(
  statement: string | undefined,
  options: QueryCommandOptions,
): Promise<ExitCode> {
  const format = formatOf(options);
  const dt = readDay(options.dt);
  const run = options.run === undefined ? undefined : runIdOption('--run', options.run);
  if (dt !== undefined && run !== undefined) throw new UsageError('--dt and --run cannot be combined');
  const connection = readConnection(options);
  const sql = statement ?? (await readStatement());
  const isOutage = (error: unknown): boolean => error instanceof StoreError && error.retryable;
  const limits = { timeoutMs: reachTimeoutMs(process.env), onOutage: output.note };
  const result = await queryLake(connection, sql, {
    ...{ dt, run },
    retry: (attempt) => reach(`The lake ${connection.lake.url}`, attempt, isOutage, errorMessage, limits),
    onFetch: ({ parts, bytes, folder }) =>
      output.note(`Fetching ${counted(parts, 'file')} (${megabytes(bytes)} MB) into ${folder}`),
  });
  try {
    if (options.output === undefined) await print(result, format);
    else await writeFileOf(result, format, options.output);
  } finally {
    await result.close();
  }
  return EXIT.done;
}

const FORMATS = ['csv', 'json', 'parquet'] as const;
type Format = (typeof FORMATS)[number] | 'table';

function formatOf({ json, csv, output: file }: QueryCommandOptions): Format {
  if (json === true && csv === true) throw new UsageError('--json and --csv cannot be combined');
  const flag = json === true ? 'json' : csv === true ? 'csv' : undefined;
  if (file === undefined) return flag ?? 'table';
  const found = FORMATS.find((format) => extname(file).toLowerCase() === `.${format}`);
  if (found === undefined)
    throw new UsageError(
      `--output must end in ${FORMATS.map((one) => `.${one}`).join(', ')}; found ${JSON.stringify(file)}`,
    );
  if (flag !== undefined && flag !== found)
    throw new UsageError(`--${flag} does not fit --output ${JSON.stringify(file)}. Leave one of them out.`);
  return found;
}

async function readStatement(): Promise<string> {
  if (process.stdin.isTTY)
    throw new UsageError(
      'give a statement, such as `worktrack query "SELECT count(*) FROM tasks"`, or pipe one in',
    );
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_STATEMENT)
      throw new UsageError(`the statement on stdin is longer than ${MAX_STATEMENT} characters`);
  }
  return text;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** Rows of a table for people. */
const MAX_TABLE_ROWS = 1000;

async function print(result: QueryResult, format: Format): Promise<void> {
  if (format !== 'table') return writeAll(chunksOf(result, format));
  const rows: (string | null)[][] = [];
  let hasMore = false;
  for await (const row of result.texts()) {
    hasMore = rows.length === MAX_TABLE_ROWS;
    if (hasMore) break;
    rows.push(row);
  }
  const { lines, hidden } = resultTable(result.columns, rows, terminalWidth());
  for (const line of lines) output.styled(printable(line));
  if (hidden > 0) output.note(`${counted(hidden, 'column')} did not fit. --json prints all.`);
  if (hasMore)
    output.note(`These are the first ${counted(MAX_TABLE_ROWS, 'row')}. --csv and --json print all.`);
}

/** The rows as CSV or JSON, as `worktrack cat` prints them. */
function chunksOf(
  { columns, runs, texts }: QueryResult,
  format: 'csv' | 'json' | 'parquet',
): AsyncGenerator<string> {
  const names = columns.map(({ name }) => name);
  if (format === 'csv') return csvOf(names, texts());
  return jsonWithRows({ runs, columns: names }, texts(), (cells) =>
    JSON.stringify(Object.fromEntries(names.map((name, at) => [name, cells[at] ?? null]))),
  );
}

/** Rows of one write. */
const BATCH_ROWS = 500;

async function* csvOf(
  names: readonly string[],
  rows: AsyncIterable<(string | null)[]>,
): AsyncGenerator<string> {
  let batch: (readonly (string | null)[])[] = [names];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < BATCH_ROWS) continue;
    yield peopleCsv(batch);
    batch = [];
  }
  yield peopleCsv(batch);
}

/** Writes a temporary file next to it, and renames it, so that a file is never half of a result. */
async function writeFileOf(result: QueryResult, format: Format, file: string): Promise<void> {
  const temporary = join(dirname(file), `.${randomUUID()}.tmp`);
  try {
    if (format === 'parquet') await result.writeParquet(temporary);
    else
      await pipeline(
        Readable.from(chunksOf(result, format === 'json' ? 'json' : 'csv')),
        createWriteStream(temporary),
      );
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
