import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { toObjectKey } from '../../../src/lake/store/index.js';
import { decodeCheckpoint } from '../../../src/table/log/checkpoint.js';
import { decodeRecords, readMetadata } from '../../../src/table/parquet/parquet-records.js';
import { TYPES_KEY, UNFIT_KEY } from '../../../src/table/parquet/part-file.js';
import { temporaryLake } from '../lake/data-plane.js';

const fileOf = (name: string): Promise<Buffer> =>
  readFile(new URL(`earlier-writer/${name}`, import.meta.url));

// hyparquet-writer 0.17.0 wrote these files, as it did for tables before DuckDB.
describe('a table that an earlier version wrote', () => {
  const lake = temporaryLake();

  it('has a checkpoint that is read', async () => {
    expect(await decodeCheckpoint(await fileOf('checkpoint.parquet'))).toEqual([
      { protocol: { minReaderVersion: 1, minWriterVersion: 2 } },
      {
        metaData: {
          ...{ id: 'an-id', name: 'tasks', format: { provider: 'parquet', options: {} } },
          ...{
            schemaString: '{"type":"struct","fields":[]}',
            partitionColumns: [],
            createdTime: 1700000000000,
          },
          configuration: { 'delta.logRetentionDuration': 'interval 24 hours' },
        },
      },
      { txn: { appId: 'temporal-worktrack', version: 1795226400 } },
      {
        add: {
          ...{ path: 'a.parquet', partitionValues: {}, size: 5, modificationTime: 1795226400000 },
          ...{ dataChange: true, stats: '{"numRecords":2}', tags: { 'worktrack.part': 'abc' } },
        },
      },
      {
        remove: {
          ...{ path: 'b.parquet', deletionTimestamp: 1795226400001, dataChange: true },
          ...{ extendedFileMetadata: true, partitionValues: {}, size: 4 },
        },
      },
    ]);
  });

  it('has files whose footers and rows are read', async () => {
    const body = await fileOf('part.parquet');
    const key = toObjectKey('tasks/table/part.parquet');
    await lake.store.write(key, body);
    const { [TYPES_KEY]: types, [UNFIT_KEY]: unfit } = await readMetadata(lake.store, key, {
      ...{ size: body.length, signal: new AbortController().signal },
    });
    expect(types).toBe('["string","decimal(18,2)","timestamp","long","empty"]');
    expect(unfit).toBe('[null,null,null,1,null]');
    expect(await decodeRecords(body, ['name', 'hours', 'at', 'count', 'nothing'], {})).toEqual([
      { name: 'a "b"', hours: 1.25, at: '2026-11-21 02:00:00.000001+00', count: 7 },
      { name: null, hours: -0.5, at: null, count: null },
    ]);
  });

  it('is damaged if a checkpoint is not one', async () => {
    for (const body of [Buffer.from('PAR1 no file PAR1'), Buffer.alloc(0), await fileOf('part.parquet')])
      await expect(decodeCheckpoint(body)).rejects.toThrow('DuckDB failed');
  });
});
