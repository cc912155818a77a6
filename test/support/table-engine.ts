import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { duckDbBindings } from '../../src/core/duckdb-library.js';
import { connectTo, convertText } from '../../src/table/parquet/convert-text.js';
import type { Converted, PartFile } from '../../src/table/parquet/part-file.js';

/** Converts texts in the process of the test, which finds what the conversion's own process hides: the messages of DuckDB. */
export function textConverter(): (
  text: Buffer,
  layout: Omit<PartFile, 'path' | 'rawBytes' | 'rows'>,
  codec?: 'zstd' | 'snappy' | 'gzip',
) => Promise<Converted & { readonly file: Buffer }> {
  const folder = mkdtempSync(join(tmpdir(), 'worktrack-convert-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const opened = connectTo(duckDbBindings('a test'), folder);
  return async (text, layout, codec = 'zstd') => {
    const connection = await opened;
    const [path, to] = [join(folder, 'part'), join(folder, 'file.parquet')];
    await writeFile(path, text);
    const size = { rawBytes: text.length, rows: text.toString('latin1').split('\n').length };
    const converted = await convertText(connection, { ...layout, path, ...size }, { to, codec });
    return { ...converted, file: readFileSync(to) };
  };
}
