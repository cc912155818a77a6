import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { duckDbLibrary } from '../../src/core/duckdb-library.js';
import { type Converted, convertText, type PartFile } from '../../src/table/parquet/convert-text.js';
import { MACROS } from '../../src/table/parquet/exact-sql.js';

/** Converts texts in the process of the test, which finds what the conversion's own process hides: the messages of DuckDB. */
export function textConverter(): (
  text: Buffer,
  layout: Omit<PartFile, 'path' | 'rawBytes' | 'rows'>,
) => Promise<Converted & { readonly file: Buffer }> {
  const folder = mkdtempSync(join(tmpdir(), 'worktrack-convert-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const opened = open();
  return async (text, layout) => {
    const connection = await opened;
    const [path, to] = [join(folder, 'part'), join(folder, 'file.parquet')];
    await writeFile(path, text);
    const size = { rawBytes: text.length, rows: text.toString('latin1').split('\n').length };
    const converted = await convertText(connection, { ...layout, path, ...size }, to);
    return { ...converted, file: readFileSync(to) };
  };
}

async function open() {
  const instance = await duckDbLibrary('a test').DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  for (const macro of MACROS) await connection.run(macro);
  return connection;
}
