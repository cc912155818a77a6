import { randomUUID } from 'node:crypto';
import { access, chmod, chown, constants, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { addToConfig, findConfig, getInConfig, parseSettings, setInConfig } from '../../config/index.js';
import { ConfigurationError } from '../../core/errors.js';
import { systemCause } from '../../core/system-error.js';
import { EXIT, type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { output } from '../shared/output.js';

/** `worktrack config get`: the value at a path of the file, or the whole file. */
export function runConfigGet(path: string | undefined, options: GlobalOptions): ExitCode {
  const { text, source } = fileOf(options);
  const value = path === undefined ? text.trimEnd() : getInConfig({ text, source }, path);
  if (value === undefined) throw new UsageError(`${source} does not set ${path}`);
  output.source(value);
  return EXIT.done;
}

/** `worktrack config set`: changes one value of the file, which keeps its comments. */
export async function runConfigSet(path: string, value: string, options: GlobalOptions): Promise<ExitCode> {
  const config = fileOf(options);
  await replaceConfig(config.path, setInConfig(config, path, value));
  output.out(`${config.source}: ${path} is set. A running worker reads it on SIGHUP.`);
  return EXIT.done;
}

interface AddOptions extends GlobalOptions {
  readonly baseUrl: string;
  readonly lake: string;
  readonly endpoint?: string;
  readonly region?: string;
  readonly apiKeyEnv: string;
  readonly resources?: string;
}

/** `worktrack config add-connection`: one more connection in the file. */
export async function runConfigAdd(name: string, options: AddOptions): Promise<ExitCode> {
  // Only this command talks to a service.
  const { findInService, noteFound } = await import('./window-fields.js');
  const config = fileOf(options);
  const { baseUrl, lake: url, endpoint, region, apiKeyEnv, resources } = options;
  const lake = {
    url,
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...(region === undefined ? {} : { region }),
  };
  const names = resources?.split(',').map((one) => one.trim());
  const added = { baseUrl, apiKey: { env: apiKeyEnv }, lake, resources: names };
  const { connections } = parseSettings(addToConfig(config, name, added), config.source);
  const windowFields = await findInService(connections.find((one) => one.name === name)!);
  await replaceConfig(config.path, addToConfig(config, name, { ...added, windowFields }));
  output.out(`${config.source}: the connection ${name} is added.`);
  noteFound(windowFields, apiKeyEnv, name);
  return EXIT.done;
}

function fileOf({ config }: GlobalOptions) {
  return findConfig({ file: config, env: process.env, cwd: process.cwd() });
}

/**
 * A reader sees the old file or the new one. A link stays a link; mode, owner and group are the same, as far as this user may set them.
 *
 * @throws ConfigurationError if this user may not write the file
 */
export async function replaceConfig(path: string, text: string): Promise<void> {
  const file = await realpath(path);
  const temporary = join(dirname(file), `.${randomUUID()}.tmp`);
  try {
    await access(file, constants.W_OK);
    const { mode, uid, gid } = await stat(file);
    await writeFile(temporary, text, { mode: 0o600, flush: true });
    // A member of the group may set the group alone.
    await chown(temporary, uid, gid).catch(() => chown(temporary, OWN, gid).catch(() => {}));
    await chmod(temporary, mode & 0o7777);
    await rename(temporary, file);
  } catch (cause) {
    await rm(temporary, { force: true });
    throw new ConfigurationError(`cannot write ${path}: ${systemCause(cause)}`, {
      remedy: 'Make sure that this user can write the file and its folder.',
      cause,
    });
  }
}

/** Leaves the owner as it is. */
const OWN = -1;
