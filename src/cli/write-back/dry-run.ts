import { apiRoot } from '../../api/index.js';
import { fromByteString } from '../../core/brands.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { CheckedInput } from '../../temporal/stage-write-back.js';
import { BatchPlanner, type InputColumn, type PlannedRow, toRequest } from '../../write-back/index.js';
import { EXIT, type ExitCode } from '../exit-code.js';
import { output, printJson } from '../output.js';
import { counted } from '../text.js';

/** Rows that are shown in full. */
const SHOWN = 5;

/** Prints what would be sent, and sends nothing. */
export async function dryRun(
  connection: ConnectionSettings,
  input: CheckedInput,
  { json }: { readonly json?: boolean },
): Promise<ExitCode> {
  const { resource, batchId, keyColumn } = input;
  const planner = new BatchPlanner({ connection: connection.name, resource, batchId, keyColumn });
  for await (const rows of input.eachRow()) for (const row of rows) planner.survey(row);
  const shown: PlannedRow[] = [];
  const aside: Record<string, number> = {};
  let sent = 0;
  for await (const rows of input.eachRow()) {
    for (const row of rows) {
      const planned = planner.plan(row);
      if (planned.verdict === null) {
        sent++;
        if (shown.length < SHOWN) shown.push(planned);
      } else {
        aside[planned.verdict.outcome] = (aside[planned.verdict.outcome] ?? 0) + 1;
      }
    }
  }
  const requests = shown.map((row) => describe(connection, input, row));
  if (json === true) {
    printJson({ batchId, rows: input.rows, toSend: sent, setAside: aside, requests });
    return EXIT.done;
  }
  const rest = Object.entries(aside).map(([outcome, rows]) => `, ${rows} ${outcome}`);
  output.out(
    `Batch ${batchId}: ${counted(input.rows, 'row')}, ${sent} to send${rest.join('')}. Nothing was sent.`,
  );
  for (const column of input.columns) output.out(`  ${columnLine(column)}`);
  for (const { row, key, method, url, idempotencyKey, body } of requests) {
    output.out(`\nRow ${row}, key ${key}\n${method} ${url}\nIdempotency-Key: ${idempotencyKey}\n${body}`);
  }
  if (sent > shown.length) output.out(`\n... and ${counted(sent - shown.length, 'more request')}`);
  return EXIT.done;
}

function describe(
  { baseUrl, http, writeBack }: ConnectionSettings,
  { resource }: CheckedInput,
  row: PlannedRow,
) {
  const { method, path, body } = toRequest(resource, row, writeBack);
  const root = apiRoot(baseUrl, http.allowPlainHttp ? 'allowed' : 'loopback-only');
  const url = [root, ...path.map((segment) => encodeURIComponent(segment.toWellFormed()))].join('/');
  return { row: row.row, key: row.key, method, url, idempotencyKey: row.idempotencyKey, body };
}

const FROM: Readonly<Record<InputColumn['from'], string>> = {
  header: 'from the header',
  batch: 'as the batch began',
  published: 'from the published snapshot',
  pair: 'always',
  nothing: 'nothing is known of it; a suffix in the header gives another type',
};

function columnLine({ name, type, from }: InputColumn): string {
  return `${fromByteString(name)}: ${type} (${FROM[from]})`;
}
