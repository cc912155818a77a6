import { describe, expect, it } from 'vitest';
import { toUtcSeconds } from '../../../src/core/utc-time.js';
import { temporaryLake } from '../lake/data-plane.js';
import { readList } from './reading.js';

const lake = temporaryLake();
const HOUR = 3_600_000;
/** An increment after a run that began an hour ago. */
const START = Date.now() - HOUR;
const checkpoint = toUtcSeconds(START - 300_000);
const before = { fullRead: null, list: { path: 'tasks' }, readUpTo: { workflow: START, service: START } };
const run = { mode: 'increment', checkpoint, updatedSince: checkpoint, before } as never;

async function asked(date: (count: number) => number | null, more: object = {}) {
  const { requests, result, error } = await readList({
    store: lake.store,
    run: { ...(run as object), ...more } as never,
    answer: ({ count }) => ({ ids: ['a'], next: null, date: date(count) }),
  });
  expect(error).toBeNull();
  expect(result).toMatchObject({ done: true, rows: 1 });
  return requests.map(({ updatedSince }) => updatedSince);
}

describe('The first page of an increment', () => {
  it('is requested once if no clock was set back', async () => {
    expect(await asked(() => Date.now())).toEqual([checkpoint]);
    expect(await asked(() => Date.now() + 5 * HOUR)).toEqual([checkpoint]);
  });

  it("is requested again from an earlier time if the service's clock was set back", async () => {
    const [first, second, ...none] = await asked(() => Date.now() - 3 * HOUR);
    expect(first).toBe(checkpoint);
    expect(Date.parse(second!)).toBeLessThanOrEqual(START - 3 * HOUR - 299_000);
    expect(Date.parse(second!)).toBeGreaterThan(START - 3 * HOUR - 330_000);
    expect(none).toEqual([]);
  });

  it("is requested without a time if Temporal's clock was set back, or if the service stops sending its own", async () => {
    expect(await asked(() => null)).toEqual([checkpoint, null]);
    const later = { workflow: Date.now() + HOUR, service: Date.now() + HOUR };
    expect(
      await asked(() => Date.now(), { before: { fullRead: null, list: { path: 'tasks' }, readUpTo: later } }),
    ).toEqual([checkpoint, null]);
  });

  it('is requested a few times, and then without a time, if the clock goes back with each response', async () => {
    const times = await asked((count) => Date.now() - count * HOUR);
    expect(times.at(-1)).toBeNull();
    expect(times).toHaveLength(5);
  });

  it('is requested as asked for a later period that a person chose, because it does not move the checkpoint', async () => {
    const chosen = toUtcSeconds(START + HOUR / 2);
    expect(await asked(() => Date.now() - 9 * HOUR, { updatedSince: chosen })).toEqual([chosen]);
  });

  it('is requested from an earlier time even if a person chose one that moves the checkpoint', async () => {
    const chosen = toUtcSeconds(START - 2 * HOUR);
    expect(await asked(() => Date.now(), { updatedSince: chosen })).toEqual([chosen]);
    const [first, second] = await asked(() => Date.now() - 9 * HOUR, { updatedSince: chosen });
    expect(first).toBe(chosen);
    expect(Date.parse(second!)).toBeLessThanOrEqual(START - 9 * HOUR - 299_000);
  });
});
