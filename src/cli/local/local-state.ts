import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ExportInput, exportWorkflowId } from '../../core/contract/index.js';

/**
 * Folder of the state that `export --local` keeps between runs: one per configuration file, below
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

/** The workflow id of a local export. Equal requests have the same id, so the same command resumes its export. */
export function localExportId(input: ExportInput): string {
  const { resources = null, full = false, adopt = false, allowDeletes = false, acceptChecks } = input;
  const request = [resources, full, adopt, allowDeletes, ...(acceptChecks === undefined ? [] : ['accept'])];
  return `${exportWorkflowId(input.connection)}/local-${digest(JSON.stringify(request))}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
