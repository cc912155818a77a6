import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SystemPolicy } from '../../../src/core/contract/write-back.js';
import type { Settings } from '../../../src/core/settings.js';
import { stageWriteBack } from '../../../src/write-back/stage-input.js';
import { RowService } from '../../support/row-service.js';
import type { Stack } from '../../support/stack.js';
import {
  fileIn,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
  writeBack,
} from '../../support/write-back.js';

describe('a file that was written to another address', () => {
  let stack: Stack;
  let trial: RowService;
  let real: RowService;
  let atReal: Settings;
  beforeEach(async () => {
    [trial, real] = [await RowService.start(), await RowService.start()];
    stack = await startWriteBackStack({ baseUrl: trial.url });
    const [connection] = stack.settings.connections;
    atReal = { ...stack.settings, connections: [{ ...connection!, baseUrl: real.url }] };
  });
  afterEach(async () => {
    await stopWriteBackStack(stack);
    await Promise.all([trial.stop(), real.stop()]);
  });

  const source = (file: string, batchId: string) => ({ resource: 'time-entries', file, batchId });

  it('is new there with --other-system, counts as written with --same-system, and stops otherwise', async () => {
    const worker = await stack.startWorker();
    const file = await fileIn(stack, timeEntriesCsv(30));
    expect(await writeBack(stack, source(file, 'one'))).toMatchObject({ counts: { created: 30 } });
    await worker.stop();
    await stack.startWorker(atReal);
    const moved = { ...stack, settings: atReal };
    const both = new RegExp(`${trial.url}.*${real.url}`);
    // The same batch, and another batch with the same rows.
    await expect(stageWriteBack(atReal.connections[0]!, source(file, 'one'))).rejects.toThrow(both);
    expect(await writeBack(moved, source(file, 'two'))).toMatchObject({
      outcome: 'failed',
      error: { type: 'Configuration', message: expect.stringMatching(both) },
    });
    const as = (batchId: string, system: SystemPolicy) =>
      writeBack(moved, { ...source(file, batchId), system }, { readBack: false, written: 'skip' });
    expect(await as('one', 'same')).toMatchObject({ outcome: 'written', counts: { created: 30 } });
    expect(await as('two', 'same')).toMatchObject({ outcome: 'written', counts: { skipped: 30 } });
    expect(real.writes).toEqual([]);
    expect(await as('three', 'other')).toMatchObject({ outcome: 'written', counts: { created: 30 } });
    expect([trial.records.length, real.records.length]).toEqual([30, 30]);
    // The answer of the first batch is kept with it.
    expect(await writeBack(moved, source(file, 'one'))).toMatchObject({ counts: { created: 30 } });
    expect(real.records.length).toBe(30);
  });

  it('starts from the beginning with --other-system even in the same batch', async () => {
    const worker = await stack.startWorker();
    const file = await fileIn(stack, timeEntriesCsv(30));
    trial.respond = ({ number }) => (number > 20 ? { status: 422, body: '{"message":"No."}' } : null);
    expect(await writeBack(stack, source(file, 'one'))).toMatchObject({
      counts: { created: 20, rejected: 10 },
    });
    await worker.stop();
    await stack.startWorker(atReal);
    const other = { ...source(file, 'one'), system: 'other' } as const;
    const written = await writeBack({ ...stack, settings: atReal }, other);
    expect(written).toMatchObject({ outcome: 'written', counts: { created: 30, rejected: 0 } });
    expect(real.records.length).toBe(30);
    const keys = (service: RowService) => service.writes.map(({ idempotencyKey }) => idempotencyKey).sort();
    expect(keys(real)).toEqual(keys(trial));
  });
});
