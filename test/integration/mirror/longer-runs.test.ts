import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { Settings } from '../../../src/core/settings.js';
import type { SimulatorOptions } from '../../../src/simulator/index.js';
import { type FaultyS3, startFaultyS3 } from '../../support/faulty-s3.js';
import { reconcile } from '../../support/mirror-requests.js';
import { expectMirrored, listedIds } from '../../support/mirrored.js';
import { startWorkerProcess } from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { sharedS3 } from '../../support/shared-s3.js';
import { type Stack, type StackOptions, startStack, until } from '../../support/stack.js';

const RESOURCE = 'tasks';
const PAGES = 130;
const ROWS_A_PAGE = 10;

/** A list whose pages overlap. Each is staged as a chunk, because parts are small. */
describe('a list with many chunks that overlap', () => {
  let stack: Stack;
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    await stack?.stop();
    for (const end of ends.splice(0)) await end();
  });

  async function start(simulator: SimulatorOptions = {}, more: StackOptions = {}): Promise<void> {
    stack = await startStack({
      simulator: { seed: 9, order: 'random', counts: { [RESOURCE]: PAGES * ROWS_A_PAGE }, ...simulator },
      resources: `[${RESOURCE}]`,
      yaml: `    sync: { pageSize: ${ROWS_A_PAGE} }\n    csv: { partSize: 2KiB }\n`,
      ...more,
    });
  }

  async function startBehindProxy(): Promise<FaultyS3> {
    const proxy = await startFaultyS3(sharedS3());
    ends.push(() => proxy.close());
    await start({}, { s3Endpoint: proxy.url });
    return proxy;
  }

  // The next test merges in steps, too.
  longOnly('is merged in steps', async () => {
    const proxy = await startBehindProxy();
    await stack.startWorker();
    const { outcome, runs } = await stack.export();
    expect(outcome).toBe('published');
    expect(runs[0]!.counts).toMatchObject({ fetched: PAGES * ROWS_A_PAGE, duplicates: 0 });
    // Of 64 chunks, and of as many as are too many afterwards.
    const merges = proxy.takeRequests().filter((line) => /^PUT .*\/run-0-[0-9a-f]+-0\.csv/.test(line));
    expect(merges).toHaveLength(2);
    await expectMirrored(stack, RESOURCE);
  });

  /** The stack's settings with parts of the default size. */
  function withLargeParts(): Settings {
    const [connection] = stack.settings.connections;
    const resources = connection!.resources.map((resource) => ({
      ...resource,
      csv: { ...resource.csv, partBytes: 64 * 1024 * 1024 },
    }));
    return { ...stack.settings, connections: [{ ...connection!, resources }] };
  }

  it('a list of many overlapping chunks that is merged in steps still shows changes and deletes', async () => {
    const lake = await mkdtemp(join(tmpdir(), 'worktrack-longer-runs-'));
    ends.push(() => rm(lake, { recursive: true, force: true }));
    await start({ counts: { [RESOURCE]: 70 * ROWS_A_PAGE } }, { lakeUrl: pathToFileURL(lake).href });
    // The search for deleted records opens the chunks for each part of the snapshot, so there is one part.
    const first = await stack.startWorker(withLargeParts());
    expect((await stack.export()).outcome).toBe('published');
    await first.stop();
    await stack.startWorker();
    const { admin } = stack.simulator;
    const ids = listedIds(stack, RESOURCE);
    admin.touch(RESOURCE, { ids: ids.filter((_, at) => at % 3 === 0) });
    const gone = ids.filter((_, at) => at % 50 === 1);
    admin.remove(RESOURCE, gone);
    const left = ids.filter((_, at) => at % 3 === 0 && at % 50 !== 1);
    const report = await reconcile(stack, RESOURCE);
    expect(report).toMatchObject({
      outcome: 'published',
      counts: { updated: left.length, deleted: gone.length },
    });
  });

  // `shifting-lists` has lists that shift while they are read, and the other tests have chunks that overlap.
  longOnly('hides no row if it shifts while it is read', async () => {
    await start({ order: 'updatedAt', cursorStyle: 'offset', awkward: false });
    await stack.startWorker();
    const { admin } = stack.simulator;
    const ids = listedIds(stack, RESOURCE);
    for (const page of [30, 60, 90, 120]) {
      admin.beforeAnswer({ resource: RESOURCE, page }, () => {
        admin.touch(RESOURCE, { ids: ids.slice(page, page + 2 * ROWS_A_PAGE) });
      });
    }
    const { outcome, runs } = await stack.export();
    expect(outcome).toBe('published');
    expect(runs[0]!.warnings).toEqual([]);
    await expectMirrored(stack, RESOURCE);
  });

  // `whole-runs` and `random` kill workers, and `faults/late-requests` loses attempts in each write of a merge.
  longOnly('survives a kill while its chunks are merged', async () => {
    const proxy = await startBehindProxy();
    const stuck = proxy.add({
      method: 'PUT',
      path: /\/run-0-/,
      after: 1,
      fault: { kind: 'status', status: 500, code: 'InternalError' },
    });
    const first = await startWorkerProcess(stack);
    const exporting = stack.export();
    await until(() => stuck.hits > 0, 'the second merge writes');
    await first.signal('SIGKILL');
    const pages = (): number => stack.simulator.admin.stats().byRoute[`GET ${RESOURCE}`] ?? 0;
    proxy.clear();
    const second = await startWorkerProcess(stack);
    const { outcome, runs } = await exporting;
    expect(outcome).toBe('published');
    expect(runs[0]!.counts).toMatchObject({ fetched: PAGES * ROWS_A_PAGE, duplicates: 0 });
    await expectMirrored(stack, RESOURCE);
    // What was staged before the kill is not read again, apart from eight pages for each activity that continues (after the
    // spill, after the kill, and the last check), which show whether the list shifted.
    expect(pages()).toBeLessThanOrEqual(PAGES + 3 * 8);
    expect((await second.output()).stderr).not.toContain('MaxListenersExceededWarning');
  });
});
