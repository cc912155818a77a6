import { describe, expect, it } from 'vitest';
import { noFacts } from '../../../src/core/value-facts.js';
import { tableKeys } from '../../../src/lake/documents/lake-layout.js';
import { readTableColumns } from '../../../src/table/index.js';
import { type Action, encodeCommit } from '../../../src/table/log/actions.js';
import { checkpointActions, encodeCheckpoint } from '../../../src/table/log/checkpoint.js';
import { TableState } from '../../../src/table/log/table-state.js';
import { encodeSchema, nextColumns } from '../../../src/table/rules/table-columns.js';
import { temporaryLake } from '../lake/data-plane.js';

const NAMES = ['id', 'due date', 'ID', ''];
const ACTIONS: Action[] = [
  {
    metaData: {
      ...{ id: 'a', format: { provider: 'parquet', options: {} }, partitionColumns: [], configuration: {} },
      schemaString: encodeSchema(
        nextColumns(
          [],
          NAMES.map((name) => ({ name, types: 0, values: noFacts() })),
          {},
        ),
      ),
    },
  },
];

describe('the columns of a table', () => {
  const lake = temporaryLake();

  it('have the names of the snapshot, and aliases where Delta does not accept them', async () => {
    const { store } = lake;
    expect(await readTableColumns(store, 'absent')).toBeNull();
    await store.write(tableKeys('r').commit(0), encodeCommit(ACTIONS));
    const expected = [
      ...['_run_id', '_synced_at', '_deleted_at', 'id'].map((name) => [name, name]),
      ...[
        ['due date', 'due_date'],
        ['ID', 'ID_2'],
        ['', 'unnamed'],
      ],
    ];
    const read = async () => (await readTableColumns(store, 'r'))?.map(({ name, alias }) => [name, alias]);
    expect(await read()).toEqual(expected);
    const state = new TableState().after(0, ACTIONS);
    const checkpoint = await encodeCheckpoint(checkpointActions(state, 0));
    await store.write(tableKeys('r').checkpoint(0), checkpoint);
    await store.write(tableKeys('r').commit(0), Buffer.from('{"commitInfo":{}}\n'));
    expect(await read()).toEqual(expected);
  });
});
