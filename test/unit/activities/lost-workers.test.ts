import { describe, expect, it } from 'vitest';
import { MINUTE_MS } from '../../../src/core/duration.js';
import { temporaryLake } from '../lake/data-plane.js';
import { type Asked, numberedList, type ReadOptions, readList, startOf } from './reading.js';

const lake = temporaryLake();
const ROWS = 4000;
const read = (options: Omit<ReadOptions, 'store'>) =>
  readList({ store: lake.store, attempts: 40, ...options });
const page = numberedList(ROWS);

const steps = (requests: readonly Asked[]): number[] =>
  requests.map(({ limit }) => limit).filter((one, at, all) => one !== all[at - 1]);

describe('A page that no worker survives', () => {
  it('is read with half the size after three lost workers', async () => {
    const { result, error, requests } = await read({
      answer: (asked) => (asked.limit > 300 ? 'lost' : page(asked)),
    });
    expect(error).toBeNull();
    expect(result).toMatchObject({ done: true, rows: ROWS, pageSize: 250 });
    expect(steps(requests)).toEqual([1000, 500, 250]);
    expect(requests.filter(({ limit }) => limit === 1000)).toHaveLength(3);
  });

  it('is read with half the size in the middle of a list, which begins again', async () => {
    const { result, error, requests } = await read({
      pagesPerCall: 2,
      answer: (asked) => (startOf(asked) >= 2000 && asked.limit > 500 ? 'lost' : page(asked)),
    });
    expect(error).toBeNull();
    expect(result).toMatchObject({ done: true, rows: 2000 + ROWS, pageSize: 500 });
    const after = requests.findIndex(({ limit }) => limit === 500);
    expect(requests[after]!.cursor).toBeNull();
    expect(steps(requests)).toEqual([1000, 500]);
  });

  it('keeps its size after two lost workers, and after failures of the service', async () => {
    const { result, requests } = await read({
      answer: (asked) => {
        if (asked.count <= 2) return 'lost';
        return asked.count <= 4 ? { status: 503 } : page(asked);
      },
    });
    expect(result).toMatchObject({ done: true, rows: ROWS });
    expect(steps(requests)).toEqual([1000]);
  });

  it('ends the run after ten lost workers in half an hour, and says what to do', async () => {
    const { error, requests } = await read({
      msPerRequest: 4 * MINUTE_MS,
      answer: () => 'lost',
    });
    expect(requests).toHaveLength(10);
    expect(error).toMatch(
      /^tasks: 10 workers in turn were lost while they read what follows page 0 \(0 records\)/,
    );
    expect(error).toContain('last with pages of 125 records');
    expect(error).toContain('give them more');
  });
});
