import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../../support/random.js';
import { type Respond, RowService } from '../../support/row-service.js';
import { IS_LONG, SEED } from '../../support/seeds.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import type { Stack } from '../../support/stack.js';
import {
  fileIn,
  readReceipts,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
  writeBack,
} from '../../support/write-back.js';

shortenBackOffs();

const ROWS = IS_LONG ? 80 : 40;
/** Rows that the file has twice. */
const TWICE = ROWS / 4;
const HEADERS_TIMEOUT_MS = 1_000;

describe(`a service that writes a row and then fails (WORKTRACK_SEED=${SEED})`, () => {
  const random = seededRandom(SEED);
  let stack: Stack;
  let service: RowService;

  beforeAll(async () => {
    service = await RowService.start();
    stack = await startWriteBackStack({ baseUrl: service.url });
    const [connection] = stack.settings.connections;
    const http = { ...connection!.http, headersTimeoutMs: HEADERS_TIMEOUT_MS };
    const retries = { ...connection!.retries, giveUpAfterMs: 30_000 };
    await stack.startWorker({ ...stack.settings, connections: [{ ...connection!, http, retries }] });
  });
  afterAll(async () => {
    await stopWriteBackStack(stack);
    await service.stop();
  });

  /** Every second response is lost after the write, in each way that a service or a proxy has. */
  const failing: Respond = async () => {
    if (random.share() < 0.5) return null;
    const kind = random.below(6);
    if (kind === 0) return { status: 500, body: '{"message":"broken"}', writes: true };
    if (kind === 1) return { status: 503, writes: true };
    if (kind === 2) return { status: 504, body: '<html>Gateway Time-out</html>', writes: true };
    if (kind === 3)
      return { status: 201, headers: { 'content-length': '100' }, body: '{"id":', writes: true };
    if (kind === 4) await new Promise((resolve) => setTimeout(resolve, 1.5 * HEADERS_TIMEOUT_MS));
    return 'drop';
  };

  it('has one record of each row in the end, also of equal rows, and each receipt names its record', async () => {
    const csv = timeEntriesCsv(ROWS);
    const file = await fileIn(stack, `${csv}${timeEntriesCsv(TWICE).split('\n').slice(1).join('\n')}`);
    const batch = { resource: 'time-entries', file };
    const rows = ROWS + TWICE;
    service.respond = failing;
    let result = await writeBack(stack, batch);
    expect(service.records.length).toBeLessThanOrEqual(rows);
    for (const { outcome, id } of await readReceipts(stack, result.batchId)) {
      expect(['created', 'unknown']).toContain(outcome);
      if (outcome === 'created') expect(service.records.some((record) => record.id === id)).toBe(true);
    }
    service.respond = () => null;
    result = await writeBack(stack, batch);
    expect(result).toMatchObject({ outcome: 'written', counts: { created: rows, unknown: 0 } });
    const ids = (await readReceipts(stack, result.batchId)).map(({ id }) => id);
    expect(new Set(ids)).toEqual(new Set(service.records.map(({ id }) => id)));
    expect(ids).toHaveLength(rows);
    expect(service.records).toHaveLength(rows);

    // The same rows with other line ends are another batch, and none of them is written again.
    const again = await fileIn(stack, csv.replaceAll('\n', '\r\n'));
    const skipped = await writeBack(
      stack,
      { resource: 'time-entries', file: again },
      { written: 'skip', readBack: false },
    );
    expect(skipped).toMatchObject({ counts: { created: 0, skipped: ROWS }, unsent: 0 });
    expect(service.records).toHaveLength(rows);
  });

  it('warns of rows that the service has merged into one record, even if the batch is repeated', async () => {
    const twice = timeEntriesCsv(TWICE, 50_000);
    const file = await fileIn(stack, `${twice}${twice.split('\n').slice(1).join('\n')}`);
    const ids = new Map<string, string>();
    service.respond = ({ body }) => {
      const text = JSON.stringify(body);
      const id = ids.get(text) ?? `merged-${ids.size}`;
      ids.set(text, id);
      return { status: 200, body: JSON.stringify({ id, ...body }) };
    };
    for (let time = 1; time <= 2; time++) {
      const { counts, warnings } = await writeBack(stack, { resource: 'time-entries', file });
      expect(counts).toMatchObject({ created: 2 * TWICE });
      expect(warnings.join()).toContain(`the service gave ${TWICE} rows the id of another row of the batch`);
    }
  });
});
