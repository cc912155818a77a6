import { describe, expect, it } from 'vitest';
import { temporaryLake } from '../lake/data-plane.js';
import { type Answer, type Asked, readList } from './reading.js';

const lake = temporaryLake();
const WORDS: Answer = { status: 403, message: 'Rate limit exceeded' };

/** A list of pages of one record. */
function page({ cursor }: Asked, pages: number): Answer {
  const at = Number(cursor ?? 0);
  return { ids: [`r${at}`], next: at + 1 < pages ? String(at + 1) : null };
}

const read = (answer: (asked: Asked) => Answer, pagesPerCall = Number.POSITIVE_INFINITY) =>
  readList({ store: lake.store, answer, pagesPerCall, attempts: 60, msPerRequest: 60_000 });

describe('A refusal with words about a limit', () => {
  it('a refusal with words about a limit that lasts ends after 15 minutes, over all attempts, with what the status means', async () => {
    const { error, requests } = await read(() => WORDS);
    expect(error).toMatch(/answered 403 and says: Rate limit exceeded\..*lack a grant/);
    expect(error).toMatch(/has spoken of a limit for 15 minutes of this run, so its status counts\.$/);
    expect(requests.length).toBeGreaterThanOrEqual(15);
    expect(requests.length).toBeLessThanOrEqual(25);
  });

  it('a refusal with words about a limit that passes in time does no harm', async () => {
    const { error, result } = await read((asked) => (asked.count <= 12 ? WORDS : page(asked, 3)));
    expect(error).toBeNull();
    expect(result).toMatchObject({ done: true, rows: 3 });
  });

  it('has one budget for all pages and calls of the run', async () => {
    const seen = new Map<string, number>();
    const { error, requests } = await read((asked) => {
      const times = (seen.get(asked.cursor ?? '') ?? 0) + 1;
      seen.set(asked.cursor ?? '', times);
      return times <= 6 ? WORDS : page(asked, 30);
    }, 1);
    expect(error).toContain('has spoken of a limit for 15 minutes');
    expect(requests.length).toBeLessThanOrEqual(80);
  });

  it('a refusal with words about a limit with other evidence is not counted', async () => {
    const { error } = await read((asked) => (asked.count <= 40 ? { status: 429 } : page(asked, 2)));
    expect(error).toBeNull();
  });
});
