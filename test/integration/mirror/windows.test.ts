import { afterEach, describe, expect, it } from 'vitest';
import { folderOf } from '../../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../../src/lake/documents/manifest.js';
import { reconcile } from '../../support/mirror-requests.js';
import { idOf, listedIds } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const DAY = 24 * 60 * 60_000;
const ROWS = 40;
const WINDOWS = [
  { deletes: 'mark', resource: '{ name: time-entries, window: 90d }' },
  { deletes: 'drop', resource: '{ name: time-entries, window: 90d }' },
  { deletes: 'drop', resource: '{ name: time-entries, window: 90d, windowField: startedAt }' },
];

describe('a resource with a window', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  async function started(yaml: string, resource = '{ name: time-entries, window: 90d }'): Promise<void> {
    stack = await startStack({
      simulator: { seed: 9, awkward: false, now: Date.now(), counts: { 'time-entries': ROWS } },
      resources: `[${resource}]`,
      yaml,
    });
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
  }

  const manifest = async () => {
    const { snapshot } = await readPointer(stack.store, 'time-entries');
    return decodeManifest(await stack.store.read(snapshot), folderOf(snapshot));
  };

  it.each(drawn(WINDOWS, 1))(
    'a windowed resource with deletes: $deletes and $resource keeps all rows that have left it, including in full passes and reconciliations',
    async ({ deletes, resource }) => {
      await started(`    deletes: ${deletes}\n`, resource);
      const ever = stack.simulator.admin.records('time-entries').map(idOf);
      stack.simulator.admin.advance(200 * DAY);
      expect(listedIds(stack, 'time-entries')).toEqual([]);
      expect((await stack.export({ full: true })).runs[0]!.counts).toMatchObject({ fetched: 0, deleted: 0 });
      expect((await reconcile(stack, 'time-entries')).counts).toMatchObject({ deleted: 0, rows: ROWS });
      const { rows } = await readSnapshot(stack.store, 'time-entries');
      expect(rows.map((row) => row.id).sort()).toEqual(ever);
      expect(rows.every((row) => row._deleted_at === null)).toBe(true);
    },
  );

  it('reports no gap while it contains the last checkpoint', async () => {
    await started('    sync: { clock: service }\n');
    stack.simulator.admin.advance(89 * DAY);
    expect((await stack.export()).runs[0]!.warnings).toEqual([]);
    expect((await manifest()).gap).toBeNull();
  });

  it('records the gap of a long outage, and reports it in status and export with exit code 0', async () => {
    await started('    sync: { clock: service }\n');
    const before = await readPointer(stack.store, 'time-entries');
    stack.simulator.admin.advance(100 * DAY);
    stack.simulator.admin.create('time-entries', {
      startedAt: new Date(stack.simulator.admin.now()).toISOString(),
      durationSeconds: 60,
    });
    const edge = stack.simulator.admin.now() - 90 * DAY;

    const configured = ['--config', stack.configFile];
    const exported = await runCommand(stack, ['export', ...configured, '--task-queue', stack.taskQueue]);
    const { from, to } = (await manifest()).gap!;
    expect(from).toBe(before.checkpoint.updatedSince);
    // Less the time that the first response took.
    expect(Date.parse(to)).toBeLessThanOrEqual(edge);
    expect(Date.parse(to)).toBeGreaterThan(edge - 60_000);
    const gap = `gap: the service no longer lists changes from ${from} to ${to}`;
    expect(exported.stderr).toContain(`warning: time-entries: ${gap}`);
    expect(exported.code).toBe(0);
    expect((await manifest()).warnings).toEqual([expect.stringContaining(gap)]);

    const status = await runCommand(stack, ['status', ...configured]);
    expect(status.stdout).toContain(`warning: time-entries: ${gap}`);
    expect(status.code).toBe(0);
    const { rows } = await readSnapshot(stack.store, 'time-entries');
    expect(rows.length).toBe(ROWS + 1);
  });
});
