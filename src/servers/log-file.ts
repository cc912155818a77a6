import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The log file that was asked for, else a new one in the temporary folder. */
export function logFileOr(asked: string | undefined, name: string): string {
  return asked ?? join(mkdtempSync(join(tmpdir(), 'worktrack-')), `${name}.log`);
}
