import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { WriteBackInput } from '../core/contract/write-back.js';
import type { ConnectionSettings } from '../core/settings.js';
import { InputError } from './input-error.js';
import { stageWriteBack, type WriteBackSource } from './stage.js';

export interface WriteBackRows extends Pick<WriteBackSource, 'resource' | 'keyColumn' | 'batchId'> {
  /** One object for each row, with the fields of the request. Undefined fields are left out; dates are written in ISO 8601. */
  readonly rows: AsyncIterable<object> | Iterable<object>;
}

/**
 * Checks rows from an iterable and puts them into the lake. The result is the argument of `writeBackWorkflow` and of
 * `startWriteBack`. The rows are read once, with a few of them in memory; until they are in the lake, they are in a
 * temporary file that only this user can read.
 *
 * The same rows in the same order are the same batch, so that a repeated call writes nothing twice. If your rows can
 * come in another order, give `batchId` and `keyColumn`.
 *
 * @throws InputError for an invalid row, with its number in `line`; StoreError; the error of the iterable. In each case
 *   nothing was sent.
 * @example
 * async function* entries() {
 *   yield { description: 'Design review', startedAt: '2026-11-20T09:00:00Z', durationSeconds: 3600 };
 * }
 * const input = await stageWriteBackRows(connection, { resource: 'time-entries', rows: entries() });
 * const { workflowId } = await startWriteBack(temporal, input);
 * const { counts } = requireWritten(await followWriteBack(temporal, workflowId));
 */
export async function stageWriteBackRows(
  connection: ConnectionSettings,
  { rows, ...request }: WriteBackRows,
): Promise<WriteBackInput> {
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-rows-'));
  try {
    const file = join(folder, 'rows.ndjson');
    await pipeline(Readable.from(linesOf(rows)), createWriteStream(file, { mode: 0o600 }));
    return await stageWriteBack(connection, { ...request, file, format: 'ndjson' });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function* linesOf(rows: WriteBackRows['rows']): AsyncGenerator<string> {
  let line = 0;
  for await (const row of rows) yield `${textOf(row, ++line)}\n`;
  if (line === 0) throw new InputError('there are no rows', null, 'Write back at least one row.');
}

/** The row as JSON. JSON has no text for some numbers, and must not replace them by `null`. */
function textOf(row: object, line: number): string {
  const text = JSON.stringify(row, (name, value: unknown) => {
    if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))) {
      const what = typeof value === 'bigint' ? 'a bigint' : 'not a finite number';
      throw new InputError(`the field ${JSON.stringify(name)} is ${what}`, { line }, 'Write it as text.');
    }
    return value;
  });
  if (text?.startsWith('{')) return text;
  throw new InputError('the row is not an object', { line });
}
