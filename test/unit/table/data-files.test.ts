import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { tableKeys } from '../../../src/lake/documents/lake-layout.js';
import type { Manifest } from '../../../src/lake/documents/manifest.js';
import { writeSnapshotFiles } from '../../../src/table/commit-state.js';
import { PART_TAG } from '../../../src/table/log/actions.js';
import { listSizes } from '../../../src/table/log/maintain.js';
import { dataFileName } from '../../../src/table/log/paths.js';
import { TableState } from '../../../src/table/log/table-state.js';
import { type FixedTypes, nextColumns } from '../../../src/table/rules/table-columns.js';
import { typeBits } from '../../support/column-types.js';
import { textConverter } from '../../support/table-engine.js';
import { temporaryLake } from '../lake/data-plane.js';
import { CSV } from '../lake/published.js';

const SHA = 'a'.repeat(64);
const COLUMNS = [{ name: 'n', types: typeBits(['string']), values: noFacts() }];
const TEXT = '_run_id,_synced_at,_deleted_at,n\nr,2026-11-21T02:00:00Z,,12\nr,2026-11-21T02:00:00Z,,"x"\n';

describe('the data files of a snapshot', () => {
  const lake = temporaryLake();
  const convert = textConverter();

  /** Stores the file of a part, as an attempt that did not commit. */
  async function writeEarlier(resource: string, types: FixedTypes): Promise<void> {
    const columns = nextColumns([], COLUMNS, types).map((column) => ({ ...column, kind: 'string' as const }));
    const { file } = await convert(Buffer.from(TEXT), { columns, csv: { ...CSV, compression: 'none' } });
    const key = tableKeys(resource).data(dataFileName(0, SHA, 'earlier'));
    await lake.store.write(key, file);
  }

  /** The part itself does not exist, so only a file that an earlier attempt wrote can be used. */
  async function filesOf(resource: string, types: FixedTypes, tempFolder: string | null = null) {
    const part = { key: `${resource}/part` as ObjectKey, rows: 2, sha256: SHA };
    return writeSnapshotFiles({
      ...{
        store: lake.store,
        resource,
        state: new TableState(),
        before: [],
        now: 1,
        badValues: 'clear',
        codec: 'zstd',
      },
      tempFolder,
      manifest: { parts: [part], columns: COLUMNS, key: ['n'], csv: CSV } as unknown as Manifest,
      columns: nextColumns([], COLUMNS, types),
      sizes: await listSizes(lake.store, resource),
      changes: async () => [],
      signal: new AbortController().signal,
    });
  }

  it('are those of an earlier attempt with the same types of the configuration, and its warnings are repeated', async () => {
    await writeEarlier('same', { n: 'long' });
    const { files, unfit } = await filesOf('same', { n: 'long' });
    expect(files.length).toBe(1);
    expect(unfit).toEqual([{ name: 'n', type: 'long', count: 1 }]);
  });

  it('are written again if the configuration set other types in the earlier attempt', async () => {
    const notFound = { name: 'ObjectNotFoundError' };
    await writeEarlier('removed', { n: 'string' });
    await expect(filesOf('removed', {})).rejects.toMatchObject(notFound);
    await writeEarlier('added', {});
    await expect(filesOf('added', { n: 'string' })).rejects.toMatchObject(notFound);
    await writeEarlier('changed', { n: 'long' });
    await expect(filesOf('changed', { n: 'double' })).rejects.toMatchObject(notFound);
  });

  it('are written again if what an earlier attempt left is no Parquet file', async () => {
    const key = tableKeys('left').data(dataFileName(0, SHA, 'earlier'));
    await lake.store.write(key, Buffer.from('PAR1 and no more'));
    await expect(filesOf('left', {})).rejects.toMatchObject({ name: 'ObjectNotFoundError' });
  });

  /** The type of a column of numbers, and how many files were written, for parts with these values. */
  async function typeOf(resource: string, values: readonly (readonly string[])[]) {
    const numbers = [{ name: 'n', types: typeBits(['integer', 'number']), values: noFacts() }];
    const parts = await Promise.all(
      values.map(async (some, at) => {
        const rows = some.map((value) => `r,2026-11-21T02:00:00Z,,${value}\n`);
        const text = Buffer.from(`_run_id,_synced_at,_deleted_at,n\n${rows.join('')}`);
        const written = await lake.store.write(`${resource}/part-${at}` as ObjectKey, text);
        return { ...written, rows: some.length, rawBytes: text.length };
      }),
    );
    const { files, columns } = await writeSnapshotFiles({
      ...{ store: lake.store, resource, state: new TableState(), before: [], now: 1 },
      ...{ badValues: 'clear', codec: 'zstd', tempFolder: null, sizes: new Map() },
      manifest: { parts, columns: numbers, key: ['n'], csv: { ...CSV, compression: 'none' } } as never,
      columns: nextColumns([], numbers, {}),
      changes: async () => [],
      signal: new AbortController().signal,
    });
    expect(files.map(({ tags }) => tags?.[PART_TAG])).toEqual(parts.map(({ sha256 }) => sha256));
    const { size } = await listSizes(lake.store, resource);
    return { type: columns.find(({ name }) => name === 'n')?.type, written: size };
  }

  it('have the types of one file at a time, although two are written together', async () => {
    const [two, four, twelve] = [['1.25'], ['1.1234'], ['1.123456789012']] as const;
    // The widest type depends on the order.
    expect(await typeOf('narrow', [two, ['2.5'], four, twelve])).toMatchObject({ type: 'string' });
    expect(await typeOf('wide', [two, ['2.5'], twelve, four])).toMatchObject({ type: 'decimal(38,12)' });
    expect(await typeOf('stable', [two, ['2.5'], ['3.75'], ['4'], ['5.5']])).toEqual({
      type: 'decimal(18,2)',
      written: 5,
    });
  });

  it('wait for the next attempt if the temporary folder cannot be used', async () => {
    const isNone = filesOf('none', {}, '/missing');
    await expect(isNone).rejects.toMatchObject({ name: 'EngineError', kind: 'disk' });
  });
});
