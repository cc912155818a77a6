import { describe, expect, it } from 'vitest';
import type { TableSettings } from '../../../src/core/settings.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { warningText } from '../../../src/core/warnings.js';
import { tableKeys } from '../../../src/lake/documents/lake-layout.js';
import type { RunFile } from '../../../src/lake/documents/run-file.js';
import type { TaskResult } from '../../../src/run/merge-result.js';
import {
  checkTableCanBePurged,
  checkTableTypes,
  onThisWorker,
} from '../../../src/run/publish/delta-table.js';
import type { MergePlan } from '../../../src/run/run-journal.js';
import { typeBits } from '../../support/column-types.js';
import { temporaryLake } from '../lake/data-plane.js';
import { CSV } from '../lake/published.js';

const tables: TableSettings = {
  format: 'delta',
  types: {},
  badValues: 'stop',
  codec: 'zstd',
  tempFolder: null,
};
const signal = new AbortController().signal;

describe('the types of a table', () => {
  const lake = temporaryLake();
  const cells = ['_run_id,_synced_at,_deleted_at,n\n', 'r,2026-11-21T02:00:00Z,,12\n'];

  /** Checks a part of a run whose configuration sets the type of its column. */
  async function check(type: string, tempFolder: string | null) {
    const body = Buffer.from(cells.join(''));
    const key = lake.newKey('.csv');
    const written = await lake.store.write(key, body);
    const part = { ...written, rows: 1, rawBytes: body.length };
    const run = {
      tables: { ...tables, types: { tasks: { n: type } } },
      resource: { name: 'tasks', csv: { ...CSV, compression: 'none' } },
      before: null,
    } as unknown as RunFile;
    const columns = [{ name: 'n', types: typeBits(['integer']), values: noFacts() }];
    const plan = { columns, tasks: [{ kind: 'merge' }] } as unknown as MergePlan;
    const results = [{ task: 0, parts: [part] }] as unknown as TaskResult[];
    return checkTableTypes(lake.store, run, { plan, tasks: results }, { tempFolder, signal });
  }

  it('are recorded if all values fit, and stop a run if one does not', async () => {
    expect(await check('long', null)).toEqual({ checkedTypes: { n: 'long' }, typesProblem: null });
    await expect(check('boolean', null)).rejects.toThrow('"n" (boolean): 1');
  });

  it('do not stop a run if the values cannot be read here and now', async () => {
    const { checkedTypes, typesProblem } = await check('long', '/missing');
    expect(checkedTypes).toBeNull();
    expect(warningText({ kind: 'table-unchecked', message: typesProblem! })).toBe(
      'table: the values were published without a comparison with tables.types, which the next run repeats. The temporary ' +
        'folder /missing cannot be used: it does not exist. Free some space there, or set tables.tempFolder.',
    );
  });

  it('are checked in the temporary folder of the worker, not of the run', () => {
    const settings = { tables: { ...tables, tempFolder: '/here' } };
    expect(onThisWorker({ ...tables, tempFolder: '/there' }, settings).tempFolder).toBe('/here');
    expect(onThisWorker({ ...tables, tempFolder: '/there' }, { tables: null }).tempFolder).toBeNull();
  });
});

describe('a purge', () => {
  const lake = temporaryLake();

  it('stops before it changes anything if it could not remove the record from the table', async () => {
    await lake.store.write(tableKeys('tasks').commit(0), Buffer.from('{}'));
    const check = (settings: TableSettings | null, isPublished: boolean, resource = 'tasks') =>
      checkTableCanBePurged(lake.store, { resource, tables: settings, isPublished, signal });
    await expect(check(tables, false)).rejects.toThrow(
      /but tasks\/latest.json is missing.*Nothing was changed/,
    );
    await expect(check(null, true)).rejects.toThrow(/but tables.format is none.*Nothing was changed/);
    await check(tables, true);
    await check(tables, false, 'other');
  });

  it('first opens DuckDB in its process, because an installed package can lack the library of this machine', async () => {
    const missing = { ...tables, tempFolder: '/missing' };
    const check = checkTableCanBePurged(lake.store, {
      ...{ resource: 'tasks', tables: missing, isPublished: true, signal },
    });
    await expect(check).rejects.toThrow('The temporary folder /missing cannot be used: it does not exist.');
  });
});
