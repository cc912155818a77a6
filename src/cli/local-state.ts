import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ExportInput, exportWorkflowId } from '../core/contract.js';

/**
 * Folder of what `export --local` keeps from one run to the next: one a configuration file, below
 * `$XDG_STATE_HOME/temporal-worktrack` (default `~/.local/state/temporal-worktrack`).
 */
export function localStateFolder(
  configFile: string,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): string {
  const root = env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state');
  return join(root, 'temporal-worktrack', digest(resolve(cwd, configFile)));
}

/** The same command again takes up the export that it left: equal wishes have an equal id. */
export function localExportId(input: ExportInput): string {
  const { resources = null, full = false, adopt = false, allowDeletes = false } = input;
  return `${exportWorkflowId(input.connection)}/local-${digest(JSON.stringify([resources, full, adopt, allowDeletes]))}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
