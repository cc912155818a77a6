import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectKey } from '../../src/core/brands.js';
import {
  WRITABLE_RESOURCES,
  type WriteBackInput,
  type WriteBackResult,
  writeBackLockId,
} from '../../src/core/contract/write-back.js';
import { RowScanner, readRow } from '../../src/lake/rows/csv.js';
import { startWriteBack } from '../../src/temporal/client/start.js';
import { followWriteBack } from '../../src/temporal/follow/follow-write-back.js';
import type { WriteBackSource } from '../../src/write-back/check-write-back.js';
import { stageWriteBack } from '../../src/write-back/stage-input.js';
import { type Stack, type StackOptions, startStack, until } from './stack.js';

/** A line of `results.csv`. */
export interface Receipt {
  readonly row: string;
  readonly key: string;
  readonly idempotency_key: string;
  readonly outcome: string;
  readonly http_status: string | null;
  readonly id: string | null;
  readonly message: string | null;
}

/** Puts a file into the stack's folder and returns its path. */
export async function fileIn(stack: Stack, text: string | Buffer, extension = 'csv'): Promise<string> {
  const path = join(stack.folder, `input-${randomBytes(4).toString('hex')}.${extension}`);
  await writeFile(path, text);
  return path;
}

export function stage(stack: Stack, source: WriteBackSource): Promise<WriteBackInput> {
  return stageWriteBack(stack.settings.connections[0]!, source);
}

/** Writes a file back and waits for the end; a failed batch gives its result too. */
export async function writeBack(
  stack: Stack,
  source: WriteBackSource,
  options: Pick<WriteBackInput, 'unknown' | 'written' | 'system' | 'readBack'> = { readBack: false },
): Promise<WriteBackResult> {
  const input = { ...(await stage(stack, source)), ...options };
  const { workflowId } = await startWriteBack(stack.temporal, input, { taskQueue: stack.taskQueue });
  return followWriteBack(stack.temporal, workflowId, { everyMs: 50 });
}

/** Starts a batch, and cancels it once `isDue` holds. */
export async function cancelWriteBack(
  stack: Stack,
  source: WriteBackSource,
  isDue: () => boolean,
  what: string,
): Promise<WriteBackResult> {
  const input = { ...(await stage(stack, source)), readBack: false };
  const { workflowId } = await startWriteBack(stack.temporal, input, { taskQueue: stack.taskQueue });
  await until(isDue, what);
  await stack.temporal.client.workflow.getHandle(workflowId).cancel();
  return followWriteBack(stack.temporal, workflowId, { everyMs: 50 });
}

export async function readReceipts(stack: Pick<Stack, 'store'>, batchId: string): Promise<Receipt[]> {
  const body = await stack.store.read(`_write-back/${batchId}/results.csv` as ObjectKey);
  const text = body.toString('utf8');
  const scanner = new RowScanner(text);
  const rows: (string | null)[][] = [];
  for (let at = 0; at < text.length; at = scanner.end(at))
    rows.push(readRow(text.slice(at, scanner.end(at)), ','));
  const [header, ...lines] = rows;
  return lines.map(
    (cells) => Object.fromEntries(header!.map((name, at) => [name, cells[at] ?? null])) as never,
  );
}

/** `POST time-entries` and the like that the service has seen. */
export function writesSeen(stack: Stack): number {
  const { byRoute } = stack.simulator.admin.stats();
  return Object.entries(byRoute).reduce((sum, [route, n]) => (route.startsWith('GET') ? sum : sum + n), 0);
}

export function recordsOf(stack: Stack, resource: string): Record<string, unknown>[] {
  return stack.simulator.admin.records(resource).map((text) => JSON.parse(text) as Record<string, unknown>);
}

/** A CSV of time entries that the service accepts. */
export function timeEntriesCsv(count: number, from = 0): string {
  const lines = Array.from(
    { length: count },
    (_, n) => `no. ${from + n},${600 + ((from + n) % 7) * 60},2026-11-20T08:00:00Z,${n % 2 === 0}`,
  );
  return ['description,durationSeconds:integer,startedAt,billable:boolean', ...lines]
    .map((line) => `${line}\n`)
    .join('');
}

/** A service with almost no records, so that later records come from the write-back. */
export function startWriteBackStack({ simulator, ...more }: StackOptions = {}): Promise<Stack> {
  const counts = { projects: 1, tasks: 0, 'time-entries': 0, 'calendar-entries': 0 };
  return startStack({
    // The times in the rows are fixed, and must not leave the window one day.
    simulator: { awkward: false, counts, windowDays: 36_500, ...simulator },
    resources: '[time-entries]',
    ...more,
  });
}

/** Ends what outlives a batch. */
export async function endLocks(stack: Stack): Promise<void> {
  for (const resource of WRITABLE_RESOURCES) {
    await stack.temporal.client.workflow
      .getHandle(writeBackLockId(stack.connection, resource))
      .terminate('end of the test')
      .catch(() => {});
  }
}

export async function stopWriteBackStack(stack: Stack): Promise<void> {
  await endLocks(stack);
  await stack.stop();
}
