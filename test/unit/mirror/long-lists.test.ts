import { afterEach, describe, expect, it } from 'vitest';
import { mirrorEntries } from '../../support/entries-mirror.js';
import { ListService } from '../../support/list-service.js';
import { readSnapshot } from '../../support/snapshot.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const RECORDS = 200;
const HASH = /^[0-9a-f]{64}$/;

describe('A list of so many pages that some of them are requested again', () => {
  let service: ListService;
  afterEach(() => service.close());

  async function start(cursorsOnce: boolean): Promise<void> {
    service = await ListService.start({
      ...{ now: NOW, windowMs: null, endpoint: 'none', mayList: true, pageSize: 5, cursorsOnce },
      dateText: () => '"2026-11-20"',
    });
    for (let at = 0; at < RECORDS; at++) {
      const id = `r${1000 + at}`;
      service.records.set(id, { id, date: NOW, updatedAt: NOW - 86_400_000, hidden: false });
    }
  }

  it.each([
    ['cells', 'day'],
    ['a key', 'id'],
  ])('is published with %s that a secret masks', async (_, field) => {
    await start(false);
    process.env.TEST_MASKING_SECRET = 'a-secret-of-the-tests';
    const mirror = await mirrorEntries(service.url, `columns: { mask: { ${field}: hash } }`, {
      connection: 'masking: { secret: { env: TEST_MASKING_SECRET } }',
    });
    const { warnings } = await mirror.run();
    delete process.env.TEST_MASKING_SECRET;
    expect(warnings).toEqual([]);
    const again = service.requests.length - RECORDS / 5;
    expect(again).toBeGreaterThan(0);
    const { rows } = await readSnapshot(mirror.store, 'entries');
    expect(rows.filter((row) => HASH.test(row[field]!))).toHaveLength(RECORDS);
  });

  it('is published with a warning if the service accepts each cursor only once', async () => {
    await start(true);
    const mirror = await mirrorEntries(service.url, '');
    const { warnings, counts } = await mirror.run();
    expect(counts.rows).toBe(RECORDS);
    expect(warnings).toEqual([
      expect.stringMatching(/^list check: .*could not be requested again \(status 400\)/),
    ]);
  });
});
