import { selectResources } from '../../config/index.js';
import type { ByteString } from '../../core/brands.js';
import type { PublishedSnapshot } from '../../lake/published/read-published.js';
import { readRows, rowTexts } from '../../lake/published/read-rows.js';
import { readRow } from '../../lake/rows/csv.js';
import { headerRow, META_COLUMNS } from '../../lake/rows/data-columns.js';
import { peopleCsv } from '../../lake/rows/people-csv.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { EXIT, type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import { type GlobalOptions, runIdOption } from '../shared/command-options.js';
import { readConnection } from '../shared/each-connection.js';
import { publishedSnapshot, readDay, withLake } from '../shared/open-lake.js';
import { escapedBreaks, jsonWithRows, withoutNameBreaks, writeAll } from '../shared/output.js';

interface CatOptions extends GlobalOptions {
  readonly limit: string;
  readonly dt?: string;
  readonly run?: string;
  readonly csvExcel?: boolean;
  readonly delimiter?: string;
}

/** `worktrack cat`: the first rows of a published snapshot, as CSV or as JSON. */
export async function runCat(resource: string, options: CatOptions): Promise<ExitCode> {
  const limit = readLimit(options.limit);
  const dt = readDay(options.dt);
  const run = options.run === undefined ? undefined : runIdOption('--run', options.run);
  if (dt !== undefined && run !== undefined) throw new UsageError('--dt and --run cannot be combined');
  const form = csvForm(options);
  const connection = readConnection(options);
  selectResources(connection, [resource]);
  await withLake(connection, async (lake) => {
    const snapshot = await publishedSnapshot(lake, resource, dt, run);
    await writeAll(
      options.json === true ? asJson(lake.store, snapshot, limit) : asCsv(lake.store, snapshot, limit, form),
    );
  });
  return EXIT.done;
}

/** How `cat` writes CSV. */
interface CsvForm {
  /** `null`: that of the parts. */
  readonly delimiter: string | null;
  readonly hasMark: boolean;
}

function csvForm({ json, csvExcel = false, ...options }: CatOptions): CsvForm {
  const delimiter = options.delimiter ?? null;
  if (json === true && (csvExcel || delimiter !== null))
    throw new UsageError('--json cannot be combined with --csv-excel or --delimiter, which are about CSV');
  if (delimiter !== null && !/^[\t -!#-/:-@[-`{-~]$/.test(delimiter))
    throw new UsageError(
      `--delimiter must be one character of ASCII that is no letter, digit or quotation mark; found ${JSON.stringify(delimiter)}`,
    );
  return { delimiter, hasMark: csvExcel };
}

function readLimit(text: string): number {
  if (!/^\d{1,15}$/.test(text))
    throw new UsageError(`--limit must be a whole number (0 for all rows); found ${JSON.stringify(text)}`);
  return Number(text) || Number.POSITIVE_INFINITY;
}

/** Without it, Excel takes a file for text in the character set of the machine. */
const BYTE_ORDER_MARK = '\ufeff';

/** Rows of one write. */
const BATCH_ROWS = 500;

/** The rows with one header. Cells are as stored, with the escapes of the configuration. */
async function* asCsv(
  store: ObjectStore,
  { manifest }: PublishedSnapshot,
  limit: number,
  form: CsvForm,
): AsyncGenerator<Buffer> {
  const { columns, csv } = manifest;
  const delimiter = form.delimiter ?? csv.delimiter;
  const toCsv = (rows: Parameters<typeof peopleCsv<ByteString>>[0]): Buffer =>
    Buffer.from(peopleCsv<ByteString>(rows, delimiter), 'latin1');
  const isTerminal = process.stdout.isTTY;
  const shown = isTerminal ? withoutBreaks : (cells: (ByteString | null)[]) => cells;
  if (form.hasMark) yield Buffer.from(BYTE_ORDER_MARK);
  const named = isTerminal ? withoutNameBreaks(columns) : columns;
  yield Buffer.from(headerRow(named, { ...csv, delimiter }), 'latin1');
  let rows: (ByteString | null)[][] = [];
  for await (const row of first(rowTexts(store, manifest), limit)) {
    rows.push(shown(readRow(row, csv.delimiter)));
    if (rows.length < BATCH_ROWS) continue;
    yield toCsv(rows);
    rows = [];
  }
  yield toCsv(rows);
}

/** Cells for a terminal. A line break in one would look like another row. */
function withoutBreaks(cells: (ByteString | null)[]): (ByteString | null)[] {
  return cells.map((cell) => (cell === null ? null : (escapedBreaks(cell) as ByteString)));
}

function asJson(
  store: ObjectStore,
  { resource, runId, manifest }: PublishedSnapshot,
  limit: number,
): AsyncGenerator<string> {
  const columns = [...META_COLUMNS, ...manifest.columns.map(({ name }) => name)];
  return jsonWithRows({ resource, runId, columns }, first(readRows(store, manifest), limit), (cells) =>
    // `fromEntries` also sets a column named `__proto__`.
    JSON.stringify(Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? null]))),
  );
}

async function* first<T>(all: AsyncIterable<T>, limit: number): AsyncGenerator<T> {
  let count = 0;
  for await (const one of all) {
    yield one;
    if (++count >= limit) return;
  }
}
