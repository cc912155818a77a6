import { afterEach, describe, expect, it } from 'vitest';
import type { RunReport } from '../../../src/core/contract/index.js';
import type { SimulatorOptions } from '../../../src/simulator/index.js';
import { listedIds } from '../../support/mirrored.js';
import { assertRowEquals } from '../../support/oracle.js';
import { longOnly } from '../../support/seeds.js';
import { readPointer, readSnapshot, readTree } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';
import { checkTidy } from '../../support/tidy.js';

const HOUR = 60 * 60_000;
const RESOURCE = 'time-entries';

let stack: Stack;
afterEach(() => stack?.stop());

/** Time entries in pages of 100, from a service whose clock is stopped. */
async function started(rows: number, simulator: SimulatorOptions = {}, pageSize = 100): Promise<void> {
  stack = await startStack({
    simulator: {
      ...{ seed: 11, awkward: false, now: Date.now(), counts: { [RESOURCE]: rows } },
      ...simulator,
    },
    resources: `[{ name: ${RESOURCE}, window: 90d }]`,
    yaml: `    sync: { pageSize: ${pageSize}, clock: service }\n`,
  });
  await stack.startWorker();
  // Later changes are newer than all listed records.
  stack.simulator.admin.advance(HOUR);
}

async function exported(): Promise<RunReport> {
  const { outcome, runs } = await stack.export();
  expect(outcome, JSON.stringify(runs)).toBe('published');
  return runs[0]!;
}

const OFFSET = { order: 'updatedAt', cursorStyle: 'offset' } as const;
const listed = () => listedIds(stack, RESOURCE);
const touch = (ids: readonly string[]) => stack.simulator.admin.touch(RESOURCE, { ids });
const requests = () => stack.simulator.admin.stats().byRoute[`GET ${RESOURCE}`] ?? 0;
const whilePageIsAsked = (page: number, action: () => void) =>
  stack.simulator.admin.beforeAnswer({ resource: RESOURCE, page }, action);

/** The first ids in list order. */
function first(count: number): string[] {
  const records = stack.simulator.admin
    .records(RESOURCE, 'listed')
    .map((text) => JSON.parse(text) as { id: string; updatedAt: string })
    .sort((a, b) => (a.updatedAt < b.updatedAt ? -1 : a.updatedAt > b.updatedAt ? 1 : a.id < b.id ? -1 : 1));
  return records.slice(0, count).map(({ id }) => id);
}

/** Runs an action at a given page of each of the next reads that reach it. */
function inEachReading(times: number, page: number, action: () => void): void {
  if (times === 0) return;
  whilePageIsAsked(page, () => {
    action();
    inEachReading(times - 1, page, action);
  });
}

/** Listed rows that are missing from the snapshot or older in it. */
async function wrongRows(): Promise<string[]> {
  const rows = new Map((await readSnapshot(stack.store, RESOURCE)).rows.map((row) => [row.id, row]));
  return stack.simulator.admin.records(RESOURCE, 'listed').flatMap((text) => {
    const { id } = JSON.parse(text) as { id: string };
    try {
      assertRowEquals(rows.get(id)!, text);
      return [];
    } catch {
      return [id];
    }
  });
}

const modeOf = async (): Promise<string> => {
  const { snapshot } = await readPointer(stack.store, RESOURCE);
  const body = JSON.parse((await stack.store.read(snapshot)).toString('utf8')) as {
    worktrack: { mode: string };
  };
  return body.worktrack.mode;
};

describe('a list that shifts while it is read', () => {
  it('hides no row of 3,000 time entries that change during the first read', async () => {
    await started(3000, OFFSET);
    for (const page of [3, 8, 13, 18, 23]) whilePageIsAsked(page, () => touch(first(23)));
    const { warnings } = await exported();
    expect(await wrongRows()).toEqual([]);
    expect(warnings).toEqual([]);
    // Thirty pages twice, a catch-up read of two, and one page of the second read requested again. On a slow machine, the
    // run leaves memory in each read, and requests the pages again that it had requested in advance.
    expect(requests()).toBeGreaterThanOrEqual(63);
    expect(requests()).toBeLessThanOrEqual(75);
  });

  it('is read only once if it does not shift', async () => {
    await started(3000, OFFSET);
    await exported();
    // One page in sixteen is requested again at the end.
    expect(requests()).toBe(31);
    touch(first(450));
    await exported();
    expect(requests()).toBe(36);
  });

  it('is reread immediately in an increment, so that no changed row stays outdated', async () => {
    await started(600, OFFSET);
    await exported();
    stack.simulator.admin.advance(HOUR);
    touch(listed());
    stack.simulator.admin.advance(HOUR);
    whilePageIsAsked(3, () => touch(first(7)));
    const { warnings } = await exported();
    expect(await wrongRows()).toEqual([]);
    expect(warnings).toEqual([]);
    expect(await modeOf()).toBe('increment');
  });

  it('a list that shifts in every read is published with a warning, and read completely by the next run', async () => {
    await started(600, OFFSET);
    inEachReading(3, 4, () => touch(first(5)));
    const { warnings } = await exported();
    expect(warnings).toEqual([expect.stringContaining('list shifted')]);
    const done = requests();
    expect(done).toBe(6 * 3 + 2);
    // It has merged twice.
    await checkTidy(stack.store, RESOURCE);
    expect((await exported()).warnings).toEqual([]);
    expect(await modeOf()).toBe('full');
    expect(await wrongRows()).toEqual([]);
    await exported();
    expect(await modeOf()).toBe('increment');
  });

  it('only seems to shift if cursors name records: the reread shows that no row was hidden', async () => {
    await started(600, { order: 'updatedAt', cursorStyle: 'keyset' });
    inEachReading(3, 4, () => touch(first(5)));
    const { warnings } = await exported();
    expect(warnings).toEqual([]);
    expect(await wrongRows()).toEqual([]);
    expect(requests()).toBe(7 + 7 + 1);
    await exported();
    expect(await modeOf()).toBe('increment');
  });

  it('a shift because of deletes before the cursor is detected by a page that starts at another record', async () => {
    await started(3000, { order: 'id', cursorStyle: 'offset' });
    whilePageIsAsked(20, () => stack.simulator.admin.remove(RESOURCE, listed().slice(0, 10)));
    const { warnings } = await exported();
    expect(await wrongRows()).toEqual([]);
    expect(warnings).toEqual([]);
    // Two reads of thirty pages, one page of each requested again, and a catch-up read.
    expect(requests()).toBe(63);
  });

  // The test above has the other direction.
  longOnly('a shift because of new records at its start hides none', async () => {
    await started(600, { order: 'id', cursorStyle: 'offset' });
    whilePageIsAsked(3, () =>
      stack.simulator.admin.create(RESOURCE, {
        ...{ id: '00000000000000000000000000', durationSeconds: 60 },
        startedAt: new Date(stack.simulator.admin.now() - HOUR).toISOString(),
      }),
    );
    expect((await exported()).warnings).toEqual([]);
    expect(await wrongRows()).toEqual([]);
  });

  // `watermark` counts the duplicates of a list that is reread.
  longOnly('counts the rows that rereads repeat as duplicates', async () => {
    await started(600, OFFSET);
    whilePageIsAsked(3, () => touch(first(7)));
    const { counts } = await exported();
    expect(counts).toMatchObject({ inserted: 600, rows: 600 });
    expect(counts!.fetched).toBe(600 + counts!.duplicates);
    const { changes } = await readPointer(stack.store, RESOURCE);
    expect((await readTree(stack.store, changes!)).rows.length).toBe(600);
  });
});
