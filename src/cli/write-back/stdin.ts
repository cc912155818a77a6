import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { InputFormat } from '../../core/contract/write-back.js';
import { UsageError } from '../shared/usage-error.js';

/**
 * Calls `work` with a path of the input. Standard input (`-`) is copied to a temporary file first, because the input is
 * read more than once.
 */
export async function withInputFile<T>(
  file: string,
  format: InputFormat | undefined,
  work: (path: string) => Promise<T>,
): Promise<T> {
  if (file !== '-') return work(file);
  if (format === undefined)
    throw new UsageError('Standard input has no file extension: set its format with --format');
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-'));
  try {
    const path = join(folder, `stdin.${format}`);
    await pipeline(process.stdin, createWriteStream(path, { mode: 0o600 }));
    return await work(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
