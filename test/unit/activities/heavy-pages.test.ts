import { describe, expect, it } from 'vitest';
import { decodeDocument, STAGE } from '../../../src/run/staged-documents.js';
import { drawn } from '../../support/seeds.js';
import { temporaryLake } from '../lake/data-plane.js';
import { type Answer, type Asked, numberedList, type ReadOptions, readList, startOf } from './reading.js';

const lake = temporaryLake();
const ROWS = 4000;
const read = (options: Omit<ReadOptions, 'store'>) => readList({ store: lake.store, ...options });
const page = numberedList(ROWS);

const limits = (requests: readonly Asked[]): number[] => requests.map(({ limit }) => limit);
/** Removes repetitions. */
const steps = (numbers: readonly number[]): number[] => numbers.filter((one, at) => one !== numbers[at - 1]);

const FAILURES: readonly (readonly [string, Answer])[] = [
  ['504', { status: 504 }],
  ['502', { status: 502 }],
  ['500', { status: 500 }],
  ['524 of a gateway', { status: 524 }],
  ['a closed connection', 'close'],
  ['a body that is cut', 'cut'],
  ['a body that is too large', 'flood'],
  ['a 413', { status: 413 }],
];

describe('Pages that are too heavy', () => {
  it.each(FAILURES)('are halved until they work, if the service answers with %s', async (_, failure) => {
    const { result, error, requests } = await read({
      answer: (asked) => (asked.limit > 300 ? failure : page(asked)),
    });
    expect(error).toBeNull();
    expect(result).toMatchObject({ done: true, rows: ROWS, pageSize: 250 });
    expect(steps(limits(requests)).slice(0, 3)).toEqual([1000, 500, 250]);
    expect(requests.length).toBeLessThanOrEqual(16 + 8);
  });

  it('are halved after the third failure, and not before', async () => {
    const { requests } = await read({
      answer: (asked) => (asked.limit > 500 ? { status: 504 } : page(asked)),
    });
    expect(limits(requests).slice(0, 4)).toEqual([1000, 1000, 1000, 500]);
    const twice = await read({ answer: (asked) => (asked.count <= 2 ? { status: 504 } : page(asked)) });
    expect(new Set(limits(twice.requests))).toEqual(new Set([1000]));
  });

  it.each(FAILURES)(
    'Pages that are too heavy in the middle of a list start it again with a smaller page, if they end with %s',
    async (_, failure) => {
      const isHeavy = (asked: Asked): boolean => startOf(asked) >= 2000 && asked.limit > 300;
      const {
        result,
        stage: last,
        error,
        requests,
      } = await read({
        answer: (asked) => (isHeavy(asked) ? failure : page(asked)),
      });
      expect(error).toBeNull();
      expect(result).toMatchObject({ done: true, pageSize: 250 });
      const stage = decodeDocument(STAGE, await lake.store.read(last!), last!);
      expect(stage).toMatchObject({ chain: 2, shrinks: 2 });
      expect(requests.length).toBeLessThan(60);
    },
  );

  it.each([
    ['503', { status: 503 }],
    ['429', { status: 429 }],
  ] as const)('are not halved after a %s', async (_, failure) => {
    const { requests, error } = await read({
      answer: (asked) => (asked.limit > 500 ? failure : page(asked)),
      attempts: 3,
    });
    expect(new Set(limits(requests))).toEqual(new Set([1000]));
    expect(error).not.toContain('sync.pageSize');
  });

  it.each(FAILURES.slice(0, 5))(
    'are not concluded from an outage with %s, and nothing that is staged is lost',
    async (_, failure) => {
      for (const down of [0, 2000]) {
        let until = 0;
        const { result, error, requests } = await read({
          // The outage ends at any point: within a page, or while smaller ones are tried.
          answer: (asked) => {
            if (startOf(asked) >= down && until === 0) until = asked.count + 40;
            return asked.count < until ? failure : page(asked);
          },
          attempts: 9,
        });
        expect(error).toBeNull();
        expect(result).toMatchObject({ done: true, rows: ROWS, pages: 4, pageSize: 1000 });
        expect(requests.length).toBeLessThanOrEqual(46);
      }
    },
  );

  it('are not concluded from an outage, whenever it ends', async () => {
    const lengths = Array.from({ length: 26 }, (_, at) => at + 1);
    for (const length of drawn(lengths, 9)) {
      const { result } = await read({
        answer: (asked) => (asked.count > 2 && asked.count <= 2 + length ? { status: 502 } : page(asked)),
        attempts: 9,
      });
      expect(result).toMatchObject({ done: true, rows: ROWS, pageSize: 1000 });
    }
  });

  it('give no advice about `sync.pageSize` if no smaller page works either', async () => {
    const { error } = await read({ answer: () => ({ status: 504 }) });
    expect(error).toContain('answered 504');
    expect(error).not.toContain('sync.pageSize');
  });

  it.each([
    ['after five new starts', 1000, 31, 4000],
    ['at one record per page', 2, 1, 30],
  ])('are requested once more after an outage of a second, %s', async (_, pageSize, works, rows) => {
    const list = numberedList(rows);
    let failures = 3;
    const { result, error } = await read({
      run: { pageSize },
      answer: (asked) => {
        if (startOf(asked) < rows / 2) return list(asked);
        if (asked.limit > works) return { status: 500 };
        return asked.limit === works && startOf(asked) > 0.75 * rows && failures-- > 0
          ? 'close'
          : list(asked);
      },
    });
    expect(error).toBeNull();
    expect(failures).toBeLessThan(0);
    expect(result).toMatchObject({ done: true, pageSize: works });
  });

  it('are given up after five new starts of a list with a page that fails at every size', async () => {
    const { error, requests } = await read({
      answer: (asked) => (startOf(asked) >= 1000 ? { status: 500 } : page(asked)),
    });
    expect(error).toContain('What is behind it cannot be reached');
    expect(Math.min(...limits(requests))).toBe(31);
    expect(requests.length).toBeLessThan(150);
  });
});

describe('A list that is read again from its beginning', () => {
  const increment = { mode: 'increment', updatedSince: '2026-11-20T02:00:00Z' } as never;

  it.each([
    { empty: 'no content', fails: { status: 504 } },
    { empty: 'no content', fails: { status: 404 } },
    { empty: 'null', fails: { status: 504 } },
    { empty: 'null', fails: { status: 404 } },
  ] as const)(
    'is not taken for complete if it answers with "$empty" although it had records (after $fails.status)',
    async ({ empty, fails }) => {
      // The service is out of order from its third page on, and its gateway answers for it.
      let isOut = false;
      const { result, error } = await read({
        run: increment,
        answer: (asked) => {
          isOut ||= startOf(asked) >= 2000;
          if (!isOut) return page(asked);
          return asked.cursor === null ? empty : fails;
        },
      });
      expect(result).toBeNull();
      expect(error).toContain('tasks');
    },
  );

  it('continue when the service answers again', async () => {
    let out = 0;
    const { result, error } = await read({
      attempts: 4,
      answer: (asked) => {
        if (startOf(asked) < 2000 && (out === 0 || out > 8)) return page(asked);
        return ++out > 8 ? page(asked) : asked.cursor === null ? 'no content' : { status: 504 };
      },
    });
    expect(error).toBeNull();
    expect(result).toMatchObject({ done: true });
    expect(result!.rows).toBeGreaterThanOrEqual(ROWS);
  });
});
