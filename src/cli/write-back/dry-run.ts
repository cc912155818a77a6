import { apiRoot } from '../../api/index.js';
import { fromByteString } from '../../core/brands.js';
import { shownBatchId } from '../../core/contract/write-back.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { CheckedInput } from '../../write-back/check-write-back.js';
import type { InputColumn } from '../../write-back/input-columns.js';
import { BatchPlanner, type PlannedRow } from '../../write-back/planner.js';
import { toRequest } from '../../write-back/write-request.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import { counted, output, printJson } from '../shared/output.js';

const SHOWN = 5;

/**
 * Prints the requests without sending them.
 *
 * @param unsent why a row is not sent because of earlier batches, by its number from 1
 */
export async function dryRun(
  connection: ConnectionSettings,
  input: CheckedInput,
  { json }: { readonly json?: boolean },
  unsent: (row: number) => 'skipped' | 'unknown' | null,
): Promise<ExitCode> {
  const { resource, batchId, keyColumn } = input;
  const planner = new BatchPlanner({ connection: connection.name, resource, batchId, keyColumn });
  for await (const rows of input.eachRow()) for (const row of rows) planner.survey(row);
  const shown: PlannedRow[] = [];
  const setAside: Record<string, number> = {};
  let sent = 0;
  for await (const rows of input.eachRow()) {
    for (const row of rows) {
      const planned = planner.plan(row);
      const outcome = planned.verdict?.outcome ?? unsent(planned.row);
      if (outcome === null) {
        sent++;
        if (shown.length < SHOWN) shown.push(planned);
      } else {
        setAside[outcome] = (setAside[outcome] ?? 0) + 1;
      }
    }
  }
  const requests = shown.map((row) => describe(connection, input, row));
  if (json === true) {
    printJson({ batchId, rows: input.rows, toSend: sent, setAside, requests });
    return EXIT.done;
  }
  const rest = Object.entries(setAside).map(([outcome, rows]) => `, ${rows} ${outcome}`);
  output.out(
    `Batch ${shownBatchId(batchId)}: ${counted(input.rows, 'row')}, ${sent} to send${rest.join('')}. Nothing was sent.`,
  );
  for (const column of input.columns)
    if (column.role !== 'unnamed') output.out(`  ${columnLine(column, input.reading.dates?.columns ?? [])}`);
  for (const { row, key, method, url, idempotencyKey, body } of requests) {
    output.out(`\nRow ${row}, key ${key}\n${method} ${url}\nIdempotency-Key: ${idempotencyKey}\n${body}`);
  }
  if (sent > shown.length) output.out(`\n... and ${counted(sent - shown.length, 'more request')}`);
  return EXIT.done;
}

function describe({ baseUrl, writeBack }: ConnectionSettings, { resource }: CheckedInput, row: PlannedRow) {
  const { method, path, body } = toRequest(resource, row, writeBack);
  const root = apiRoot(baseUrl);
  const segments = path.map((segment) => (typeof segment === 'string' ? segment : segment.value));
  const url = [root, ...segments.map((segment) => encodeURIComponent(segment.toWellFormed()))].join('/');
  return { row: row.row, key: row.key, method, url, idempotencyKey: row.idempotencyKey, body };
}

const FROM: Readonly<Record<InputColumn['from'], string>> = {
  header: 'from the header',
  batch: 'from the first run of this batch',
  published: 'from the published snapshot',
  pair: 'always',
  nothing: 'type not known; set it with a suffix in the header',
};

function columnLine({ name, type, from, role }: InputColumn, dates: readonly string[]): string {
  const text = fromByteString(name);
  if (role !== 'field') return `${text}: not sent`;
  if (from !== 'header' && dates.includes(text)) return `${text}: date (--date-format)`;
  return `${text}: ${type} (${FROM[from]})`;
}
