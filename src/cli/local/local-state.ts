import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ExportInput, exportWorkflowId } from '../../core/contract/index.js';
import { belowHome } from '../../core/home-folder.js';
import { temporaryFolder } from '../../servers/index.js';

/** The folder of the state of a configuration file. */
interface LocalState {
  readonly folder: string;
  /** Whether it is in the temporary folder, which the system may empty. */
  readonly isTemporary: boolean;
}

/**
 * Folder of the state that `export --local` keeps between runs: one per configuration file, below
 * `$XDG_STATE_HOME/temporal-worktrack` (default `~/.local/state/temporal-worktrack`). Without a usable home, below the
 * folder of this user in the temporary folder.
 *
 * @throws ConfigurationError if the temporary folder has such a folder of another user
 */
export function localStateFolder(
  configFile: string,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): LocalState {
  const name = digest(resolve(cwd, configFile));
  const product = 'temporal-worktrack';
  if (env.XDG_STATE_HOME) return { folder: resolve(env.XDG_STATE_HOME, product, name), isTemporary: false };
  const kept = belowHome({ HOME: env.HOME || registeredHome() }, join('.local', 'state', product));
  return kept === null
    ? { folder: join(temporaryFolder('XDG_STATE_HOME'), 'state', name), isTemporary: true }
    : { folder: join(kept, name), isTemporary: false };
}

/** The home of this user in the system's list of users, which a container may not have. */
function registeredHome(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
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
