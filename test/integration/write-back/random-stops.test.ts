import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WriteBackResult } from '../../../src/core/contract/write-back.js';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { followWriteBack } from '../../../src/temporal/follow/follow-write-back.js';
import { type CommandProcess, startWorkerProcess } from '../../support/processes.js';
import { type Random, seededRandom } from '../../support/random.js';
import { RowService, type Write } from '../../support/row-service.js';
import { seeds } from '../../support/seeds.js';
import { type Stack, until } from '../../support/stack.js';
import {
  fileIn,
  type Receipt,
  readReceipts,
  stage,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
} from '../../support/write-back.js';

/** Each round has a seed of its own. */
const SEEDS = seeds(2);

type Stop = 'refused' | 'expired' | 'cancelled' | 'killed';
const STOPS = ['refused', 'expired', 'cancelled'] as const;
const UNKNOWN_KEY = '{"message":"The key has expired."}';
const NO_PLAN = '{"message":"The plan has no API access."}';
const CLOSED = '{"message":"The project is closed."}';

/** A batch, and what happens to it. */
interface Round {
  readonly rows: number;
  /** Numbers of rows that the service never allows. */
  readonly closed: readonly number[];
  readonly stops: readonly { readonly kind: Stop; readonly after: number }[];
}

function draw(random: Random): Round {
  const rows = 10 + random.below(70);
  const closed = Array.from({ length: random.below(3) }, () => 1 + random.below(rows));
  const stops = Array.from({ length: 1 + random.below(3) }, () => ({
    // A new worker takes a few seconds.
    kind: random.share() < 0.12 ? ('killed' as const) : random.pick(STOPS),
    after: random.below(rows),
  }));
  return { rows, closed: [...new Set(closed)], stops };
}

describe('batches that are stopped at random rows and repeated immediately', () => {
  let random: Random;
  let stack: Stack;
  let service: RowService;
  let worker: CommandProcess;
  let from = 0;

  beforeAll(async () => {
    service = await RowService.start();
    stack = await startWriteBackStack({ baseUrl: service.url });
    worker = await startWorkerProcess(stack);
  });
  afterAll(async () => {
    await worker.signal('SIGTERM');
    await stopWriteBackStack(stack);
    await service.stop();
  });

  const rowOf = ({ body }: Pick<Write, 'body'>): number =>
    Number(/\d+/.exec(String(body.description))![0]) - from + 1;

  /** Runs the batch until it ends or is stopped. */
  async function run(
    file: string,
    stop: Round['stops'][number] | null,
    { closed }: Round,
  ): Promise<WriteBackResult | null> {
    const most = service.records.length + (stop?.after ?? Number.POSITIVE_INFINITY);
    const isDue = (): boolean => stop !== null && service.records.length >= most;
    const isInvalid = (): boolean => isDue() && (stop!.kind === 'expired' || stop!.kind === 'refused');
    service.isReadable = () => !isInvalid();
    const mayLose = service.retentionMs > 0;
    service.respond = async (write) => {
      if (stop !== null) await new Promise((resolve) => setTimeout(resolve, random.below(8)));
      if (isInvalid()) {
        return stop!.kind === 'expired' ? { status: 401, body: UNKNOWN_KEY } : { status: 402, body: NO_PLAN };
      }
      if (closed.includes(rowOf(write))) return { status: 403, body: CLOSED };
      return mayLose && random.share() < 0.03 ? 'drop' : null;
    };
    const input = { ...(await stage(stack, { resource: 'time-entries', file })), readBack: false };
    const { workflowId } = await startWriteBack(stack.temporal, input, { taskQueue: stack.taskQueue });
    const ended = followWriteBack(stack.temporal, workflowId, { everyMs: 50 });
    if (stop?.kind !== 'cancelled' && stop?.kind !== 'killed') return ended;
    let isOver = false;
    ended.finally(() => (isOver = true)).catch(() => {});
    await until(() => isDue() || isOver, 'the row is reached');
    const handle = stack.temporal.client.workflow.getHandle(workflowId);
    if (stop.kind === 'cancelled') {
      await handle.cancel().catch(() => {});
      return ended;
    }
    await worker.signal('SIGKILL');
    await handle.terminate('killed').catch(() => {});
    await ended.catch(() => {});
    worker = await startWorkerProcess(stack);
    return null;
  }

  /** Each receipt of an accepted row stays, with the same id. */
  function expectKept(before: readonly Receipt[], after: readonly Receipt[]): void {
    const ids = new Map(after.map(({ row, outcome, id }) => [row, `${outcome} ${id}`]));
    for (const { row, outcome, id } of before)
      if (outcome === 'created') expect(ids.get(row), `row ${row}`).toBe(`created ${id}`);
  }

  async function check(round: Round): Promise<void> {
    const { rows, closed, stops } = round;
    service.records.length = 0;
    const isOrderly = stops.every(({ kind }) => kind === 'refused' || kind === 'expired');
    // Without a kill, a row that was written must not be sent again: the service forgets its key immediately.
    service.retentionMs = isOrderly ? -1 : Number.POSITIVE_INFINITY;
    const file = await fileIn(stack, timeEntriesCsv(rows, from));
    const { batchId } = await stage(stack, { resource: 'time-entries', file });
    let receipts: Receipt[] = [];
    const look = async (): Promise<void> => {
      const found = await readReceipts(stack, batchId).catch(() => receipts);
      expectKept(receipts, found);
      receipts = found;
      for (const { row, outcome, message } of found) {
        if (closed.includes(Number(row))) continue;
        expect(outcome, `row ${row}: ${message}`).not.toBe('rejected');
      }
    };
    for (const stop of stops) {
      await run(file, stop, round);
      await look();
    }
    if (isOrderly) service.retentionMs = -1;
    let last: WriteBackResult | null = null;
    // Rows in doubt are sent again by the next command.
    for (let more = 0; more < 3 && last?.counts.created !== rows - closed.length; more++) {
      last = await run(file, null, round);
      await look();
    }
    const open = rows - closed.length;
    const written = service.records.map(rowOf).sort((a, b) => a - b);
    const expected = Array.from({ length: rows }, (_, n) => n + 1).filter((row) => !closed.includes(row));
    expect(written).toEqual(expected);
    expect(last!.counts.created).toBe(open);
    const idOf = new Map(service.records.map((record) => [String(rowOf(record)), record.id]));
    const created = receipts.filter(({ outcome }) => outcome === 'created');
    expect(created.map(({ row, id }) => [row, id])).toEqual(created.map(({ row }) => [row, idOf.get(row)]));
    expect(created.length).toBe(open);
    // What is left is closed: rejected, in doubt after a kill, or refused without another row to compare it with.
    for (const { row, outcome } of receipts.filter((one) => one.outcome !== 'created')) {
      expect(closed, `row ${row}`).toContain(Number(row));
      expect(['rejected', 'unknown']).toContain(outcome);
    }
  }

  it('make one record of each row, and keep every receipt', async () => {
    const done = { rounds: 0, refused: 0, expired: 0, cancelled: 0, killed: 0 };
    for (const seed of SEEDS) {
      random = seededRandom(seed);
      const round = draw(random);
      try {
        await check(round);
      } catch (error) {
        throw new Error(`seed ${seed}: ${JSON.stringify(round)}`, { cause: error });
      }
      done.rounds++;
      for (const { kind } of round.stops) done[kind]++;
      from += 1000;
    }
    console.log(JSON.stringify(done));
  });
});
