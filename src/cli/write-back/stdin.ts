import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { InputFormat } from '../../core/write-back-contract.js';
import { UsageError } from '../usage-error.js';

/**
 * Gives `work` a path for what the user named: `-`, standard input, is kept in a file for as long as that takes, for an
 * input is read more than once.
 */
export async function spooled<T>(
  file: string,
  format: InputFormat | undefined,
  work: (path: string) => Promise<T>,
): Promise<T> {
  if (file !== '-') return work(file);
  if (format === undefined)
    throw new UsageError('Standard input has no name that tells its format: give --format');
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-'));
  try {
    const path = join(folder, `stdin.${format}`);
    await pipeline(process.stdin, createWriteStream(path, { mode: 0o600 }));
    return await work(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
