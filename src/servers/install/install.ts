import { chmod, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { withFileLock } from '../../core/file-lock.js';
import type { ProcessIdentity } from '../../core/process-identity.js';
import { makeFolder, systemCause } from '../../core/system-error.js';
import { cachedExecutable, type Environment, versionFolder } from './cache.js';
import { downloadRelease } from './download.js';
import type { Installer } from './install-context.js';
import type { FailedAttempt } from './install-error.js';
import type { ServerSpec } from './kinds.js';
import { whyNotRunning } from './probe-executable.js';

/** The installers of a server in the order of the attempts. With `WORKTRACK_OFFLINE=1`, there is no download. */
export function installers({ installer }: ServerSpec, env: Environment): Installer[] {
  return env.WORKTRACK_OFFLINE === '1'
    ? [installer]
    : [{ source: 'download', run: downloadRelease }, installer];
}

export interface InstallOptions {
  readonly env: Environment;
  readonly root: string;
  readonly installers: readonly Installer[];
  readonly signal: AbortSignal;
  report(step: string): void;
}

/** `another process`: the server was installed while this process waited for the lock. */
type InstallOutcome =
  | { readonly source: string; readonly path: string }
  | { readonly source: null; readonly attempts: readonly FailedAttempt[] };

/** Installs into a temporary folder and renames it, so that the cache never contains an incomplete server. */
async function installInto(
  spec: ServerSpec,
  installer: Installer,
  options: InstallOptions,
  staging: string,
): Promise<string> {
  const target = await mkdtemp(join(options.root, staging));
  try {
    const { env, root, signal, report } = options;
    await installer.run(spec, { env, root, target, signal, report });
    const why = await whyNotRunning(spec, join(target, spec.command), env, signal);
    if (why !== null) throw new Error(`the installed executable ${why}`);
    // mkdtemp creates private folders, but another user may use the cache (for example, one created in an image build).
    await chmod(target, 0o755);
    const folder = join(root, versionFolder(spec));
    await rm(folder, { recursive: true, force: true });
    await rename(target, folder);
    return cachedExecutable(root, spec);
  } catch (error) {
    await rm(target, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Installs a server into the cache with the first installer that succeeds, while holding the server's lock. If all fail,
 * returns the failures. Throws only if aborted, or if the cache is not writable.
 */
export async function install(spec: ServerSpec, options: InstallOptions): Promise<InstallOutcome> {
  const name = versionFolder(spec);
  const staging = `.installing-${name}-`;
  const onWait = ({ pid }: ProcessIdentity) =>
    options.report(`waiting for process ${pid}, which is installing it`);
  return withFileLock(
    join(options.root, `.lock-${name}.json`),
    { signal: options.signal, onWait },
    async () => {
      const present = cachedExecutable(options.root, spec);
      const why = await whyNotRunning(spec, present, options.env, options.signal);
      if (why === null) return { source: 'another process', path: present };
      await makeFolder(options.root);
      // This process holds the lock, so a staging folder here is from a killed process.
      for (const entry of await readdir(options.root)) {
        if (entry.startsWith(staging)) await rm(join(options.root, entry), { recursive: true, force: true });
      }
      const attempts: FailedAttempt[] = [];
      for (const installer of options.installers) {
        try {
          return { source: installer.source, path: await installInto(spec, installer, options, staging) };
        } catch (error) {
          options.signal.throwIfAborted();
          attempts.push({
            what: installer.source,
            why: systemCause(error),
          });
        }
      }
      return { source: null, attempts };
    },
  );
}
