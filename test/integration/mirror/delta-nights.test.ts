import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { checkTable } from '../../../src/table/index.js';
import { readTable } from '../../../src/table/log/read-table.js';
import { startPurge, startRollback } from '../../../src/temporal/client/start.js';
import { expectTable } from '../../support/expect-table.js';
import { idOf } from '../../support/mirrored.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const NIGHTS = 30;
/** Nights with a new column, a changed type, deletes, a rollback or a purge. */
const EVENTS = [5, 8, 11, 13, 15, 18, 19, 22, 23];
const MARK = 'Erika Mustermann, to be forgotten';

describe('thirty nights of a Delta table', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('equal the snapshot every night, and each version back to the purge equals its run', async () => {
    stack = await startStack({
      simulator: { counts: { tasks: 300 } },
      resources: '[tasks]',
      yaml: '    tables: { format: delta }\n    csv: { partSize: 32KiB }\n    sync: { overlap: 1s }\n',
    });
    const { admin } = stack.simulator;
    await stack.startWorker();
    const { temporal, taskQueue, connection } = stack;
    const done = (id: string) => temporal.client.workflow.getHandle(id).result();
    const ids = admin.records('tasks').map(idOf);
    const runs: RunId[] = [];
    const kept = new Map<number, ObjectKey>();
    const cells: number[] = [];
    for (let night = 0; night < NIGHTS; night++) {
      admin.update('tasks', ids[night * 7]!, { title: `night ${night}` });
      if (night === 5) admin.addField('tasks', 'budget', '12', { count: 4, pick: 'newest' });
      if (night === 8) admin.update('tasks', ids[150]!, { budget: 0.125 });
      if (night === 11) admin.update('tasks', ids[151]!, { budget: 'unknown' });
      if (night === 13) admin.update('tasks', ids[200]!, { title: MARK });
      if (night === 15) admin.remove('tasks', ids.slice(20, 25));
      const mode = night === 15 ? { full: true } : {};
      const exported = await stack.export(mode);
      expect(exported.runs[0], `night ${night}`).toMatchObject({ outcome: 'published' });
      const warnings = exported.runs[0]!.warnings.filter((text) => text.startsWith('table'));
      expect(warnings).toEqual([]);
      runs.push(exported.runs[0]!.runId!);
      if (night === 18)
        await done(
          await startRollback(temporal, { connection, resource: 'tasks', to: runs[16]! }, { taskQueue }),
        );
      if (night === 22) {
        admin.remove('tasks', [ids[200]!]);
        await done(
          await startPurge(temporal, { connection, resource: 'tasks', key: [ids[200]!] }, { taskQueue }),
        );
        kept.clear();
      }
      const { state } = await readTable(stack.store, 'tasks');
      kept.set(state.version, (await readPointer(stack.store, 'tasks')).snapshot);
      // Other nights are compared below, or with the next version that is.
      if (night % 3 === 2 || EVENTS.includes(night)) cells.push((await expectTable(stack, 'tasks')).cells);
    }
    // One version per run, and one each for the rollback and the purge.
    expect(Math.max(...kept.keys())).toBe(NIGHTS + 1);
    for (const [version, snapshot] of kept) await expectTable(stack, 'tasks', { version, snapshot });
    expect(await checkTable(stack.store, 'tasks')).toEqual([]);
    const table = join(stack.lakeFolder, 'tasks', 'table');
    const log = await readdir(join(table, '_delta_log'));
    expect(log.filter((name) => name.endsWith('.checkpoint.parquet')).length).toBeGreaterThan(0);
    for (const file of await readdir(table, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const body = await readFile(join(file.parentPath, file.name));
      expect(body.includes(MARK) || body.includes(ids[200]!), file.name).toBe(false);
    }
    expect(cells.every((count) => count > 3000)).toBe(true);
  }, 600_000);
});
