import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { decodeDocument, STAGE } from '../../../src/run/staged-documents.js';
import { drawn, IS_LONG } from '../../support/seeds.js';
import { temporaryLake } from '../lake/data-plane.js';
import { type Answer, type Asked, type ReadOptions, readList } from './reading.js';

const lake = temporaryLake();
const PAGE = 10;
const PAGES = 3;
const name = (at: number): string => `record-${String(at).padStart(6, '0')}`;
const ids = (page: number): string[] => Array.from({ length: PAGE }, (_, at) => name(page * PAGE + at));
/** The number of the page that a request with a cursor asks for. */
const pageOf = ({ cursor }: Asked): number => (cursor === null ? 0 : Number(/^\d+/.exec(cursor)![0]));
/** Three good pages, then what `more` returns for the pages after them. */
const thenEndless =
  (more: (page: number) => readonly string[]) =>
  (asked: Asked): Answer => {
    const page = pageOf(asked);
    return { ids: page < PAGES ? ids(page) : more(page), next: `${page + 1}-${asked.count}` };
  };
const list =
  (pages: number, more: (page: number) => readonly string[] = ids) =>
  (asked: Asked) => {
    const page = pageOf(asked);
    return { ids: more(page), next: page + 1 < pages ? `${page + 1}-${asked.count}` : null };
  };

const ENDLESS = [
  {
    service: 'returns empty pages with fresh cursors',
    answer: thenEndless(() => []),
    says: 'the last 500 pages in a row had no record, and each names another nextCursor',
  },
  {
    // As an attempt does that was lost after it had read the page.
    service: 'returns its last page twice, and then empty pages',
    answer: thenEndless((page) => (page === PAGES ? ids(PAGES - 1) : [])),
    says: 'the last 499 pages in a row had no record, and each names another nextCursor',
  },
  {
    service: 'returns only empty pages',
    answer: (asked: Asked): Answer => ({ ids: [], next: `${pageOf(asked) + 1}` }),
    says: 'the last 500 pages in a row had no record',
  },
  {
    service: 'repeats its last page with fresh cursors',
    answer: thenEndless(() => ids(PAGES - 1)),
    says: 'the service repeats the same page',
  },
  {
    service: 'ignores the cursor',
    answer: (asked: Asked): Answer => ({ ids: ids(0), next: `${pageOf(asked) + 1}` }),
    says: 'the service seems to ignore `cursor`',
  },
  {
    service: 'returns two pages in turn',
    answer: thenEndless((page) => ids(page % 2)),
    says: 'the service repeats records',
  },
  {
    service: 'begins again at the start of the list',
    answer: (asked: Asked): Answer => ({ ids: ids(pageOf(asked) % 200), next: `${pageOf(asked) + 1}` }),
    says: 'the service repeats records',
    good: 200,
  },
  {
    service: 'shrinks its pages to one known record',
    answer: thenEndless((page) => [name((page * 7) % (PAGE * PAGES))]),
    says: 'the service repeats records',
  },
  {
    service: 'ignores the cursor, while a record is created now and then',
    answer: (asked: Asked): Answer => ({
      ids: [...ids(0), ...(asked.count % 40 === 0 ? [name(1e5 + asked.count)] : [])],
      // Without a bound, the test would not end.
      next: asked.count > 2000 ? null : `${pageOf(asked) + 1}`,
    }),
    says: 'the service repeats records',
  },
  {
    service: 'mixes empty pages and known records',
    answer: thenEndless((page) => (page % 3 === 0 ? ids(1) : [])),
    says: 'of them had no record)',
  },
] as const;

/** One of each message: empty pages, a repeated page, and records that come again. `npm run test:long` has all. */
const OVER_CALLS = ENDLESS.filter(({ service }) =>
  ['returns only empty pages', 'ignores the cursor', 'begins again at the start of the list'].includes(
    service,
  ),
);

const read = (options: Omit<ReadOptions, 'store'>) => readList({ store: lake.store, ...options });

describe('A list that never ends', () => {
  it.each(drawn(ENDLESS, 4, ({ service }) => service.includes('twice')))(
    'ends with an error if the service $service',
    async ({ answer, says, ...more }) => {
      const good = 'good' in more ? more.good : PAGES;
      // The longer a reading takes, the more often it stages rows that are repeated later.
      vi.useFakeTimers({ toFake: ['Date'] });
      onTestFinished(() => void vi.useRealTimers());
      const { requests, error, stagedBytes } = await read({ answer });
      expect(error).toContain('tasks: the list does not end (updatedSince absent, ');
      expect(error).toContain(says);
      expect(requests.length).toBeGreaterThanOrEqual(500);
      // Pages may have been requested in advance.
      expect(requests.length).toBeLessThanOrEqual(good + 502);
      // The rows, and one further copy of those that are repeated.
      expect(stagedBytes).toBeLessThan(60_000 + 90 * good * PAGE);
    },
  );

  it.each(IS_LONG ? ENDLESS : OVER_CALLS)(
    'has the same bound over many calls, each of them on another worker, if the service $service',
    async ({ answer, says, ...more }) => {
      const good = 'good' in more ? more.good : PAGES;
      const { requests, calls, error } = await read({ answer, pagesPerCall: 60 });
      expect(error).toContain(says);
      expect(calls).toBeGreaterThan(7);
      expect(requests.length).toBeLessThanOrEqual(good + 510);
    },
  );

  it('stages no more rows while it repeats them', async () => {
    const sizes: number[] = [];
    const { error } = await read({
      answer: thenEndless((page) => ids(page % PAGES)),
      pagesPerCall: 400,
      onCall: (bytes) => sizes.push(bytes),
    });
    expect(error).toContain('the service repeats records');
    const short: number[] = [];
    await read({
      answer: list(12, (page) => ids(page % PAGES)),
      pagesPerCall: 10,
      onCall: (bytes) => {
        short.push(bytes);
      },
    });
    // 400 pages stage the same rows as ten, and the hashes of their cursors.
    expect(sizes[0]! - short[0]!).toBeLessThan(400 * 14);
  });

  it('ends after `giveUpAfter` without a new key, even if the pages come slowly', async () => {
    const { requests, error } = await read({
      answer: thenEndless(() => []),
      msPerRequest: 60_000,
      pagesPerCall: 7,
    });
    expect(error).toContain('the list does not end');
    expect(requests.length).toBeGreaterThan(60);
    expect(requests.length).toBeLessThan(75);
  });

  it('ends after `giveUpAfter` even if each page takes a call of its own', async () => {
    const slow = { answer: thenEndless(() => []), msPerRequest: 40_000, run: { giveUpAfterMs: 60_000 } };
    for (const options of [slow, { ...slow, msPerRequest: 4000, pagesPerCall: 1 }]) {
      let pages = 0;
      const { error } = await read({
        ...options,
        answer: (asked) => {
          // Without a bound, the test would not end.
          if (++pages > 100) return { ids: [], next: null };
          return options.answer(asked);
        },
      });
      expect(error).toContain('the list does not end');
      expect(pages).toBeLessThan(40);
    }
  });

  it('counts the pages of the failed run whose pages a run takes over, but not the time between', async () => {
    const first = await read({
      answer: thenEndless(() => []),
      attempts: 1,
      pagesPerCall: 300,
      onCall: () => {},
    });
    expect(first.error).toContain('does not end');
    let stop = 0;
    const failed = await read({
      answer: (asked) => {
        if (pageOf(asked) >= 303) stop++;
        return pageOf(asked) >= 303 ? { status: 503 } : thenEndless(() => [])(asked);
      },
    });
    expect(stop).toBe(5);
    expect(failed.error).toContain('503');
    let stage: string | null = null;
    for await (const { key } of lake.store.list('_staging/tasks/')) if (key.includes('/stage-')) stage = key;
    const read303 = { done: false, pages: 303, rows: 30 };
    const resumed = { runId: '20261121T020000Z-ffffffff', stage, ...read303 } as never;
    const then = Date.now() + 86_400_000;
    const { requests, error } = await read({
      answer: thenEndless(() => []),
      run: { resumed, startedAt: then, giveUpAfterMs: 3_600_000 },
    });
    expect(error).toContain('the last 500 pages in a row');
    expect(requests.length).toBeLessThanOrEqual(202);
  });

  it('has twice the pages of the last full read in an increment, because a service may filter its pages', async () => {
    const fullRead = { startedAt: '2016-11-20T02:00:00.000Z', shifted: 0, pages: 400, pageSize: 1000 };
    const before = { fullRead, list: { path: 'tasks' }, startedAt: Date.now() };
    const run = {
      mode: 'increment',
      before,
      updatedSince: '2016-11-20T02:00:00Z',
      checkpoint: null,
    } as never;
    const sparse = list(799, (page) => (page === 798 ? ids(0) : []));
    expect((await read({ answer: sparse, run })).result).toMatchObject({ done: true, rows: PAGE });
    const { error, requests } = await read({ answer: thenEndless(() => []), run });
    expect(error).toContain('the last 800 pages in a row');
    expect(requests.length).toBeLessThanOrEqual(PAGES + 802);
  });
});

describe('A list that ends', () => {
  const LISTS = [
    {
      what: 'has 499 empty pages in a row, twice',
      pages: 1000,
      rows: 20,
      of: (page: number) => (page % 500 === 499 ? ids(page) : []),
    },
    {
      what: 'has pages that overlap by all but one record',
      pages: 600,
      rows: 6000,
      of: (page: number) => Array.from({ length: PAGE }, (_, at) => name(page + at)),
    },
    { what: 'has one record on each page', pages: 1500, rows: 1500, of: (page: number) => [name(page * 17)] },
    {
      what: 'repeats its first 400 pages',
      pages: 900,
      rows: 9000,
      of: (page: number) => ids(page < 400 ? page : page < 800 ? page - 400 : page),
    },
  ];
  it.each(drawn(LISTS, 2))('is read to its end if it $what', async ({ pages, rows, of }) => {
    const { result, error, requests } = await read({ answer: list(pages, of), pagesPerCall: 350 });
    expect(error).toBeNull();
    expect(result).toMatchObject({ done: true, pages, rows });
    // A few pages are requested again at the end, to see whether the list shifted.
    expect(requests.length).toBeLessThanOrEqual(pages + 8);
  });

  it('has what its last version of each record is, although repeated rows are dropped', async () => {
    const versions = ['a', 'b', 'a', 'c', 'c', 'a'];
    const { result, stage } = await read({
      answer: (asked) => {
        const page = pageOf(asked);
        const next = page + 1 < versions.length ? `${page + 1}-${asked.count}` : null;
        return { ids: ids(0), next, more: { version: versions[page] } };
      },
    });
    expect(result).toMatchObject({ done: true, rows: 6 * PAGE, shifted: true });
    const { chunks, duplicates } = decodeDocument(STAGE, await lake.store.read(stage!), stage!);
    // Rows with one key and different records are kept in a chunk of their own: the key may not be unique.
    const [twins, last] = chunks;
    expect(chunks).toHaveLength(2);
    expect(last!.rows).toBeLessThanOrEqual(2 * PAGE);
    expect(twins!.rows + last!.rows + duplicates).toBe(6 * PAGE);
  });
});
