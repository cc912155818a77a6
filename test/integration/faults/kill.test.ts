import { afterEach, describe, expect, it } from 'vitest';
import { decodeDocument, STAGE } from '../../../src/run/staged-documents.js';
import { startWorkerProcess } from '../../support/processes.js';
import { readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack, until } from '../../support/stack.js';

describe('a worker that is killed in the middle of an extraction', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('is replaced by a worker that continues from the last staged position, without lost or duplicate rows', async () => {
    stack = await startStack({
      s3: true,
      simulator: { seed: 3, counts: { tasks: 4000 } },
      resources: '[tasks]',
      yaml: '    sync: { pageSize: 20 }\n',
    });
    // Slow enough for several chunks to be staged before the kill: 200 pages in 14 s.
    stack.simulator.admin.faults.add({ match: { resource: 'tasks' }, fault: { kind: 'latency', ms: 70 } });
    const first = await startWorkerProcess(stack);
    const exporting = stack.export();
    await until(() => stagedPages(stack).then((pages) => pages > 0), 'something is staged');
    const pagesRead = (): number => stack.simulator.admin.stats().byRoute['GET tasks'] ?? 0;
    const readWhenStaged = pagesRead();
    await until(() => pagesRead() > readWhenStaged + 20, 'reading has gone on');
    await first.signal('SIGKILL');
    const staged = await settled(() => stagedPages(stack));
    const before = pagesRead();
    expect(before).toBeLessThan(200);

    stack.simulator.admin.faults.clear();
    await stack.startWorker();
    const result = await exporting;
    expect(result.outcome).toBe('published');
    expect(result.runs[0]!.counts).toMatchObject({ fetched: 4000, inserted: 4000, duplicates: 0 });
    // Pages up to the staged position are read once; only later pages are read again.
    // Up to 8 pages are requested once more, to see whether the list shifted.
    const extra = pagesRead() - (before + (200 - staged));
    expect(extra).toBeGreaterThanOrEqual(0);
    expect(extra).toBeLessThanOrEqual(8);
    const { rows } = await readSnapshot(stack.store, 'tasks');
    expect(new Set(rows.map((row) => row.id)).size).toBe(4000);
    expect(rows.length).toBe(4000);
  });

  it('hands over to the next worker immediately when it is shut down', async () => {
    stack = await startStack({
      s3: true,
      simulator: { seed: 4, counts: { tasks: 2000 } },
      resources: '[tasks]',
      yaml: '    sync: { pageSize: 20 }\n',
    });
    stack.simulator.admin.faults.add({ match: { resource: 'tasks' }, fault: { kind: 'latency', ms: 40 } });
    const pagesRead = (): number => stack.simulator.admin.stats().byRoute['GET tasks'] ?? 0;
    const first = await startWorkerProcess(stack);
    const exporting = stack.export();
    await until(() => pagesRead() > 30, 'pages are read');
    await first.signal('SIGTERM');
    const before = pagesRead();
    stack.simulator.admin.faults.clear();
    await stack.startWorker();
    expect((await exporting).outcome).toBe('published');
    // At most the request in flight is repeated, and 6 pages are requested again to see whether the list shifted.
    expect(pagesRead()).toBeLessThanOrEqual(107);
    expect(before).toBeLessThan(100);
  });
});

/** What `read` gives once it has not changed for a second: the store may still carry out a request of a killed worker. */
async function settled(read: () => Promise<number>): Promise<number> {
  let value = await read();
  let since = Date.now();
  await until(async () => {
    const next = await read();
    if (next !== value) since = Date.now();
    value = next;
    return Date.now() - since > 1_000;
  }, 'it has stayed the same for a second');
  return value;
}

/** Pages up to the last position in the staging folder. */
async function stagedPages(stack: Stack): Promise<number> {
  let pages = 0;
  for await (const { key } of stack.store.list('_staging/tasks/')) {
    if (!/\/stage-[^/]*\.json$/.test(key)) continue;
    const found = await stack.store.readIfExists(key);
    if (found !== null) pages = Math.max(pages, decodeDocument(STAGE, found.body, key).pages);
  }
  return pages;
}
