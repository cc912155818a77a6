import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigurationError } from '../core/configuration-error.js';
import type { Settings } from '../core/settings.js';
import { parseSettings } from './parse.js';

/** The names that are looked for in the working directory, in this order (DESIGN 4). */
export const CONFIG_FILES = ['worktrack.yaml', 'worktrack.yml', 'worktrack.json'] as const;

export interface LoadOptions {
  /** What `--config` says. */
  readonly file?: string | undefined;
  /** `process.env`, of which only `WORKTRACK_CONFIG` is read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/**
 * Finds and reads the configuration: `file`, else `$WORKTRACK_CONFIG`, else the first of `CONFIG_FILES` in `cwd`.
 *
 * @throws ConfigurationError when there is none, it cannot be read, or (as SettingsError) it has problems.
 */
export function loadSettings({ file, env, cwd }: LoadOptions): Settings {
  const named = file ?? (env.WORKTRACK_CONFIG || undefined);
  if (named !== undefined) {
    const origin = file === undefined ? '$WORKTRACK_CONFIG' : '--config';
    if (named === '')
      throw new ConfigurationError(`${origin} names no file`, { remedy: `Give ${origin} a path.` });
    const text = readText(resolve(cwd, named), named, origin);
    if (text === null) {
      throw new ConfigurationError(
        `there is no configuration at ${resolve(cwd, named)}, which ${origin} names`,
        {
          remedy: `Correct ${origin}, or write the file with \`worktrack init\`.`,
        },
      );
    }
    return parseSettings(text, named);
  }
  for (const name of CONFIG_FILES) {
    const text = readText(resolve(cwd, name), name, 'the working directory');
    if (text !== null) return parseSettings(text, name);
  }
  throw new ConfigurationError(
    `no configuration found: --config is not given, $WORKTRACK_CONFIG is not set, and ${cwd} has none of ${CONFIG_FILES.join(', ')}`,
    { remedy: 'Write one with `worktrack init`, or name one with --config.' },
  );
}

/** The file's text, or `null` when there is no such file. */
function readText(path: string, shown: string, origin: string): string | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    const why =
      code === 'EISDIR' ? 'it is a folder' : code === 'EACCES' ? 'permission denied' : String(code ?? error);
    throw new ConfigurationError(`cannot read ${shown} (from ${origin}): ${why}`, {
      remedy: 'Make it a file that the user of this process may read.',
      cause: error,
    });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ConfigurationError(`cannot read ${shown} (from ${origin}): it is not UTF-8 text`, {
      remedy: 'Save the file as UTF-8.',
      cause: error,
    });
  }
}
