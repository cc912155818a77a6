import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { sqlString } from '../../../src/sql/ddl/names-and-quotes.js';
import { checkTable } from '../../../src/table/index.js';
import { readTable } from '../../../src/table/log/read-table.js';
import { startPurge, startRollback } from '../../../src/temporal/client/start.js';
import { type DuckDbDelta, deltaQuery, startDuckDbDelta } from '../../support/duckdb-delta.js';
import { expectTable } from '../../support/expect-table.js';
import { idOf } from '../../support/mirrored.js';
import { longOnly } from '../../support/seeds.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

/** More than there are between two checkpoints of the log. */
const NIGHTS = 30;
const MARK = 'Erika Mustermann, to be forgotten';

describe(`${NIGHTS} runs of a Delta table`, () => {
  let stack: Stack;
  let duckdb: DuckDbDelta;
  beforeAll(async () => {
    duckdb = await startDuckDbDelta();
  }, 600_000);
  afterEach(() => stack?.stop());
  afterAll(() => duckdb?.close());

  // `delta-tables` has each kind of run, `damaged-tables` has checkpoints and both engines, and `unit/mirror/rollback-purge` rollbacks
  // and purges.
  longOnly(
    'equal the snapshot every night in two engines, and each version back to the purge equals its run',
    async () => {
      stack = await startStack({
        // DuckDB's Node library drops a byte order mark and a column `__proto__`; `delta-tables` compares awkward values.
        simulator: { counts: { tasks: 300 }, awkward: false },
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
      const table = join(stack.lakeFolder, 'tasks', 'table');
      // Written by run 1, and the same in every run.
      const query = deltaQuery(table);
      const expectKept = async () => {
        for (const [version, snapshot] of kept) {
          const rowsOf = () => duckdb.rows(deltaQuery(table, version));
          await expectTable(stack, 'tasks', { version, snapshot, rowsOf });
        }
      };
      for (let night = 0; night < NIGHTS; night++) {
        admin.update('tasks', ids[night * 7]!, { title: `night ${night}` });
        if (night === 1) admin.addField('tasks', 'budget', '12', { count: 4, pick: 'newest' });
        if (night === 2) admin.update('tasks', ids[150]!, { budget: 0.125 });
        if (night === 3) admin.update('tasks', ids[151]!, { budget: 'unknown' });
        if (night === 4) admin.update('tasks', ids[200]!, { title: MARK });
        if (night === 5) admin.remove('tasks', ids.slice(20, 25));
        const mode = night === 5 ? { full: true } : {};
        const exported = await stack.export(mode);
        expect(exported.runs[0], `night ${night}`).toMatchObject({ outcome: 'published' });
        const warnings = exported.runs[0]!.warnings.filter((text) => text.startsWith('table'));
        expect(warnings).toEqual([]);
        runs.push(exported.runs[0]!.runId!);
        if (night === 7)
          await done(
            await startRollback(temporal, { connection, resource: 'tasks', to: runs[6]! }, { taskQueue }),
          );
        if (night === 9) {
          await expectKept();
          admin.remove('tasks', [ids[200]!]);
          await done(
            await startPurge(temporal, { connection, resource: 'tasks', key: [ids[200]!] }, { taskQueue }),
          );
          kept.clear();
        }
        const { state } = await readTable(stack.store, 'tasks');
        kept.set(state.version, (await readPointer(stack.store, 'tasks')).snapshot);
        cells.push((await expectTable(stack, 'tasks', { rowsOf: () => duckdb.rows(query) })).cells);
      }
      // One version per run, and one each for the rollback and the purge.
      expect(Math.max(...kept.keys())).toBe(NIGHTS + 1);
      await expectKept();
      expect(await checkTable(stack.store, 'tasks')).toEqual([]);
      const log = await readdir(join(table, '_delta_log'));
      expect(log.filter((name) => name.endsWith('.checkpoint.parquet')).length).toBeGreaterThan(0);
      for (const file of await readdir(table, { recursive: true, withFileTypes: true })) {
        if (!file.isFile()) continue;
        const body = await readFile(join(file.parentPath, file.name));
        expect(body.includes(MARK) || body.includes(ids[200]!), file.name).toBe(false);
        if (!file.name.endsWith('.parquet')) continue;
        // The text of a compressed page. Minima and maxima in the footer are not compressed.
        const path = sqlString(join(file.parentPath, file.name));
        const rows = JSON.stringify(await duckdb.rows(`FROM read_parquet(${path})`));
        expect(rows.includes(MARK) || rows.includes(ids[200]!), file.name).toBe(false);
      }
      expect(cells.every((count) => count > 3000)).toBe(true);
    },
    900_000,
  );
});
