import { apiRoot } from '../../api/index.js';
import { fromByteString } from '../../core/brands.js';
import type { DiffCell } from '../../core/contract/index.js';
import { shownBatchId } from '../../core/contract/write-back.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { ObjectStore } from '../../lake/store/index.js';
import type { CheckedInput } from '../../write-back/check-write-back.js';
import {
  PublishedRows,
  type PublishedVerdict,
  RowComparer,
  type WhyUnknown,
} from '../../write-back/compare-published.js';
import { type InputColumn, publishedSnapshotOf } from '../../write-back/input-columns.js';
import { BatchPlanner, type PlannedRow } from '../../write-back/planner.js';
import { toRequest } from '../../write-back/write-request.js';
import { CellPrinter } from '../runs/cell-printer.js';
import { readLimit } from '../runs/diff-options.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { counted, output, printJson, printJsonLine } from '../shared/output.js';
import { readIncrement } from './read-increment.js';

interface DryRunOptions extends GlobalOptions {
  readonly diff?: boolean;
  readonly limit?: string;
  readonly readBack?: boolean;
  /** Why a row is not sent because of earlier batches or runs, by its number from 1. */
  readonly unsent: (row: number) => 'skipped' | 'unknown' | 'settled' | null;
}

/** Requests of a dry run that are printed. */
const SHOWN = 5;

/** Rows of a file by what would become of them. */
class DryRunTally {
  readonly requests: PlannedRow[] = [];
  readonly setAside: Record<string, number> = {};
  readonly verdicts: Record<PublishedVerdict, number> = { new: 0, changed: 0, unchanged: 0, unknown: 0 };
  readonly why: Partial<Record<WhyUnknown, number>> = {};
  readonly cells: DiffCell[] = [];
  sent = 0;

  send(row: PlannedRow): void {
    this.sent++;
    if (this.requests.length < SHOWN) this.requests.push(row);
  }

  leave(outcome: string): void {
    this.setAside[outcome] = (this.setAside[outcome] ?? 0) + 1;
  }
}

/** Shows what a file would do, without sending anything (docs/how-to/write-back.md#see-the-changes-first). */
export async function dryRun(
  store: ObjectStore,
  connection: ConnectionSettings,
  input: CheckedInput,
  options: DryRunOptions,
): Promise<ExitCode> {
  const { resource, skipUnchanged } = input;
  const isMirrored = connection.resources.some(({ name }) => name === resource);
  const isCompared = options.diff === true || skipUnchanged;
  if (isCompared && isMirrored && options.readBack !== false) {
    const failed = await readIncrement(connection, resource, options);
    if (failed !== null) return failed;
  }
  const published = isCompared ? await publishedSnapshotOf(store, resource) : null;
  const compared = { resource, published, now: Date.now() };
  const rows = isCompared ? new PublishedRows(store, connection, compared) : null;
  const tally = await tallyOf(connection, input, rows, options);
  if (options.diff === true) printDiff(connection, input, tally, options);
  if (options.json === true) {
    const { sent: toSend, setAside, verdicts, why } = tally;
    const requests = tally.requests.map((row) => describe(connection, input, row));
    const diff = options.diff === true ? { diff: { ...verdicts, why } } : {};
    const result = { batchId: input.batchId, rows: input.rows, toSend, setAside, requests, ...diff };
    (options.diff === true ? printJsonLine : printJson)(result);
  } else {
    printCounts(input, tally);
    if (options.diff === true) printVerdicts(tally);
    else printRequests(connection, input, tally);
  }
  return EXIT.done;
}

/** @param published `null`: rows are not compared */
async function tallyOf(
  connection: ConnectionSettings,
  input: CheckedInput,
  published: PublishedRows | null,
  { unsent, limit }: DryRunOptions,
): Promise<DryRunTally> {
  const { resource, batchId, keyColumn, lastWins, sending, skipUnchanged } = input;
  const identity = { connection: connection.name, resource, batchId, keyColumn };
  const planner = new BatchPlanner({ ...identity, form: sending.form, lastWins });
  for await (const rows of input.eachRow()) for (const row of rows) planner.survey(row);
  const tally = new DryRunTally();
  const most = readLimit(limit);
  const { signal } = new AbortController();
  const comparer =
    published &&
    new RowComparer<PlannedRow>(published, signal, (row, found) => {
      const { verdict, why, changes } = published.compare(row, found);
      tally.verdicts[verdict]++;
      if (why !== null) tally.why[why] = (tally.why[why] ?? 0) + 1;
      const key = row.pair ?? [keyColumn === null ? `row ${row.row}` : row.key];
      // One more shows that there are more.
      for (const { field: column, before, after } of changes)
        if (tally.cells.length <= most) tally.cells.push({ key, column, before, after });
      if (verdict === 'unchanged' && skipUnchanged) tally.leave('skipped');
      else tally.send(row);
      return undefined;
    });
  for await (const rows of input.eachRow()) {
    for (const row of rows) {
      const planned = planner.plan(row);
      const outcome = planned.verdict?.outcome ?? unsent(planned.row);
      if (outcome !== null) tally.leave(outcome);
      else if (comparer === null) tally.send(planned);
      else await comparer.add(planned);
    }
  }
  await comparer?.finish();
  return tally;
}

function printDiff(
  { name }: ConnectionSettings,
  { resource }: CheckedInput,
  { cells }: DryRunTally,
  { limit, json }: DryRunOptions,
): void {
  new CellPrinter(readLimit(limit), json === true, 'would change').show(name, resource, cells);
}

function printCounts({ batchId, rows }: CheckedInput, { sent, setAside }: DryRunTally): void {
  const rest = Object.entries(setAside).map(([outcome, number]) => `, ${number} ${outcome}`);
  output.out(
    `Batch ${shownBatchId(batchId)}: ${counted(rows, 'row')}, ${sent} to send${rest.join('')}. Nothing was sent.`,
  );
}

const REASONS: Readonly<Record<WhyUnknown, string>> = {
  'not-mirrored': 'the resource is not mirrored',
  key: 'the snapshot has another key, or masks it',
  deleted: 'deleted in the service',
  'before-window': 'before the window of the list',
  'not-comparable': 'only fields that the lake masks, excludes or flattens are left',
};

function printVerdicts({ verdicts, why }: DryRunTally): void {
  for (const [verdict, rows] of Object.entries(verdicts))
    if (rows > 0 && verdict !== 'unknown') output.out(`  ${verdict}: ${counted(rows, 'row')}`);
  for (const [reason, rows] of Object.entries(why))
    output.out(`  unknown: ${counted(rows, 'row')} (${REASONS[reason as WhyUnknown]})`);
}

function printRequests(connection: ConnectionSettings, input: CheckedInput, tally: DryRunTally): void {
  const { requests, sent } = tally;
  for (const column of input.columns)
    if (column.role !== 'unnamed') output.out(`  ${columnLine(column, input.reading.dates?.columns ?? [])}`);
  for (const one of requests) {
    const { row, key, method, url, idempotencyKey, body } = describe(connection, input, one);
    const header = `${input.sending.header}: ${idempotencyKey}`;
    for (const line of ['', `Row ${row}, key ${key}`, `${method} ${url}`, header, body]) output.code(line);
  }
  if (sent <= requests.length) return;
  output.out('');
  output.out(`... and ${counted(sent - requests.length, 'more request')}`);
}

function describe({ baseUrl }: ConnectionSettings, { sending }: CheckedInput, row: PlannedRow) {
  const { method, path, body } = toRequest(row, sending);
  const root = apiRoot(baseUrl);
  const segments = path.map((segment) => (typeof segment === 'string' ? segment : segment.value));
  const url = [root, ...segments.map((segment) => encodeURIComponent(segment.toWellFormed()))].join('/');
  return { row: row.row, key: row.key, method, url, idempotencyKey: row.idempotencyKey, body };
}

const FROM: Readonly<Record<InputColumn['from'], string>> = {
  header: 'from the header',
  batch: 'from the first run of this batch',
  published: 'from the published snapshot',
  unit: 'because it has a unit',
  pair: 'always',
  nothing: 'type not known; set it with a suffix in the header',
};

function columnLine({ name, type, from, role }: InputColumn, dates: readonly string[]): string {
  const text = fromByteString(name);
  if (role !== 'field') return `${text}: not sent`;
  if (from !== 'header' && dates.includes(text)) return `${text}: date (--date-format)`;
  return `${text}: ${type} (${FROM[from]})`;
}
