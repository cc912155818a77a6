import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cachedExecutable, type Environment, versionFolder } from './cache.js';
import { downloadRelease } from './download.js';
import { goInstall } from './go-install.js';
import type { InstallContext } from './install-context.js';
import type { FailedAttempt } from './install-error.js';
import type { ServerSpec } from './kinds.js';
import { withLock } from './lock.js';
import { mavenInstall } from './maven-install.js';
import { whyNotRunning } from './probe.js';

/** How a server came into the cache; `another process` means that it was installed while we waited for the lock. */
export type InstallSource = 'download' | 'go install' | 'Maven' | 'another process';

/** One way of installing. */
export interface Installer {
  readonly source: Exclude<InstallSource, 'another process'>;
  run(spec: ServerSpec, context: InstallContext): Promise<void>;
}

/** The ways for one server, in the order in which they are tried; `WORKTRACK_OFFLINE=1` leaves out the download. */
export function installers(spec: ServerSpec, env: Environment): Installer[] {
  const download: Installer = { source: 'download', run: downloadRelease };
  const manager: Installer =
    spec.kind === 'test-server'
      ? { source: 'Maven', run: mavenInstall }
      : { source: 'go install', run: goInstall };
  return env.WORKTRACK_OFFLINE === '1' ? [manager] : [download, manager];
}

export interface InstallOptions {
  readonly env: Environment;
  readonly root: string;
  readonly installers: readonly Installer[];
  readonly signal: AbortSignal;
  say(what: string): void;
}

export type InstallOutcome =
  | { readonly source: InstallSource; readonly path: string }
  | { readonly source: null; readonly attempts: readonly FailedAttempt[] };

/** Installs into a folder beside the final one and renames it, so that the cache never shows half a server. */
async function installInto(
  spec: ServerSpec,
  installer: Installer,
  options: InstallOptions,
  staging: string,
): Promise<string> {
  const target = await mkdtemp(join(options.root, staging));
  try {
    const { env, root, signal, say } = options;
    await installer.run(spec, { env, root, target, signal, say });
    const why = await whyNotRunning(spec, join(target, spec.command), env, signal);
    if (why !== null) throw new Error(`what was installed ${why}`);
    // Temporary folders are closed to others; a cache may be filled by one user (an image's build) for another.
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
 * Installs a server into the cache by the first way that works, while holding the server's lock. It gives every
 * failure when none does, and throws only when aborted or when the cache itself cannot be written.
 */
export async function install(spec: ServerSpec, options: InstallOptions): Promise<InstallOutcome> {
  const name = versionFolder(spec);
  const staging = `.installing-${name}-`;
  const onWait = (pid: number) => options.say(`waiting for process ${pid}, which is installing it`);
  return withLock(join(options.root, `.lock-${name}`), { signal: options.signal, onWait }, async () => {
    const present = cachedExecutable(options.root, spec);
    const why = await whyNotRunning(spec, present, options.env, options.signal);
    if (why === null) return { source: 'another process', path: present };
    await mkdir(options.root, { recursive: true });
    // We hold the lock, so whatever is half done here was left by a process that was killed.
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
          why: error instanceof Error ? error.message : String(error),
        });
      }
    }
    return { source: null, attempts };
  });
}
