import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AnswerService, pageOf } from '../../support/answer-service.js';
import { mirrorEntries } from '../../support/entries-mirror.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const RECORDS = Array.from({ length: 8 }, (_, at) => ({ id: `r${at}` }));
/** How a service answers a request by id: `silent` sends nothing. */
type ById = 'silent' | 'found' | 'gone' | 'broken';

/** A mirror that has published the records of a service. `run` makes one attempt of the next run. */
async function published() {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  let answer: (at: number) => ById = () => 'found';
  let byId = 0;
  let now = NOW;
  const service = await AnswerService.start(({ id }, response) => {
    response.setHeader('date', new Date(now).toUTCString());
    if (id === null) return pageOf(RECORDS);
    switch (answer(byId++)) {
      case 'silent':
        return null;
      case 'found':
        return JSON.stringify({ id });
      case 'gone':
        return { status: 404 };
      default:
        return { status: 503 };
    }
  });
  const connection = 'http: { headersTimeout: 3s }';
  const mirror = await mirrorEntries(service.url, 'fetchById: true', { connection, now: () => now });
  await mirror.run();
  return async (attempt: number, byIds: (at: number) => ById) => {
    now += 60_000;
    byId = 0;
    answer = byIds;
    service.requests.splice(0);
    const ended = await mirror
      .run({ attempt })
      .catch((error: Error) => ({ error: error.message, warnings: [] }));
    const asked = service.requests.flatMap(({ id }) => (id === null ? [] : [id]));
    return { ...ended, asked, lists: service.requests.length - asked.length };
  };
}

describe('The organization check of a service that accepts connections and does not answer', () => {
  it('requests one record in each attempt, and leaves the wait to the next attempt', async () => {
    const run = await published();
    const first = await run(1, () => 'silent');
    expect(first).toMatchObject({ lists: 0, error: expect.stringContaining('Headers Timeout') });
    expect(first.asked).toHaveLength(1);
    const second = await run(2, () => 'silent');
    expect(second).toMatchObject({ lists: 0, error: expect.stringContaining('Headers Timeout') });
    expect(second.asked).toHaveLength(1);
    expect(second.asked).not.toEqual(first.asked);
    const third = await run(3, () => 'silent');
    expect(third.asked).toHaveLength(1);
    expect(third.lists).toBeGreaterThan(0);
    expect(third.warnings).toEqual([
      expect.stringContaining('skipped, because the service did not answer a request for known entries'),
    ]);
  });

  it('does not fail again because of one record that takes too long', async () => {
    const run = await published();
    const { asked } = await run(1, () => 'silent');
    const record = asked[0];
    const second = await run(2, () => 'found');
    expect(second).toMatchObject({ warnings: [], asked: [expect.not.stringMatching(`^${record}$`)] });
  });

  it('still detects another organization if the service answers most requests', async () => {
    const run = await published();
    // It finds what its list shows.
    const silentOnce = (at: number): ById => (at === 2 ? 'silent' : at < RECORDS.length ? 'gone' : 'found');
    expect(await run(1, silentOnce)).toMatchObject({ error: expect.stringContaining('Headers Timeout') });
    const third = await run(3, silentOnce);
    expect(third).toMatchObject({
      error: expect.stringContaining('seems to belong to another organization'),
    });
  });

  it('repeats a request that the service answers with 503', async () => {
    const run = await published();
    const { asked, error } = { error: '', ...(await run(1, () => 'broken')) };
    expect(error).toContain('503');
    expect(asked).toHaveLength(15);
    expect(new Set(asked).size).toBe(3);
  });
});
