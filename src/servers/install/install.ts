import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Dispatcher, EnvHttpProxyAgent, fetch, type Response } from 'undici';
import { errorMessage } from '../../core/errors.js';
import { withFileLock } from '../../core/file-lock.js';
import type { Environment } from '../../core/home-folder.js';
import type { ProcessIdentity } from '../../core/process-identity.js';
import { makeFolder, systemCause } from '../../core/system-error.js';
import type { FailedAttempt } from '../errors.js';
import { runCommand, whyNotExecutable } from '../run-command.js';
import { cachedExecutable, versionFolder } from './cache.js';
import type { InstallContext, Installer, ServerSpec } from './server-spec.js';

/** The installers of a server in the order of the attempts. With `WORKTRACK_OFFLINE=1`, there is no download. */
export function installers({ installer }: ServerSpec, env: Environment): Installer[] {
  return env.WORKTRACK_OFFLINE === '1'
    ? [installer]
    : [{ source: 'download', run: downloadRelease }, installer];
}

export interface InstallOptions extends Omit<InstallContext, 'target'> {
  readonly installers: readonly Installer[];
}

/** Installs into a temporary folder and renames it, so that the cache never contains an incomplete server. */
async function installInto(
  spec: ServerSpec,
  installer: Installer,
  options: InstallOptions,
  staging: string,
): Promise<string> {
  const target = await mkdtemp(join(options.root, staging));
  try {
    const { env, root, signal } = options;
    await installer.run(spec, { ...options, target });
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
 *
 * @returns `source`: `another process` if the server was installed while this process waited for the lock
 */
export async function install(
  spec: ServerSpec,
  options: InstallOptions,
): Promise<{ source: string; path: string } | { source: null; attempts: readonly FailedAttempt[] }> {
  const name = versionFolder(spec);
  const staging = `.installing-${name}-`;
  const onWait = ({ pid }: ProcessIdentity) =>
    options.report(`waiting for process ${pid}, which is installing it`);
  const lock = join(options.root, `.lock-${name}.json`);
  return withFileLock(lock, { signal: options.signal, onWait }, async () => {
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
        attempts.push({ what: installer.source, why: systemCause(error) });
      }
    }
    return { source: null, attempts };
  });
}

const probeTimeoutMs = 30_000;

/**
 * The reason why an executable does not run, or null if it does. Runs it with `probeArgs` if it has them, which detects
 * builds for another machine and truncated files before a server is started.
 */
export async function whyNotRunning(
  spec: ServerSpec,
  path: string,
  env: Environment,
  signal?: AbortSignal,
): Promise<string | null> {
  const why = await whyNotExecutable(path);
  if (why !== null || spec.probeArgs === null) return why;
  const timeout = AbortSignal.timeout(probeTimeoutMs);
  try {
    await runCommand(path, spec.probeArgs, {
      env,
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    return null;
  } catch (error) {
    return `does not run: ${errorMessage(error)}`;
  }
}

/** Short, because a blocked network often drops packets without an error. */
const connectTimeoutMs = 10_000;
/** Longer, because a slow network may pause between two chunks. */
const chunkTimeoutMs = 30_000;

type Open = (url: string) => Promise<Response>;

/** Opens URLs. An error has the message of its deepest cause, which is the most specific (`ENOTFOUND github.com`). */
function opener(dispatcher: Dispatcher, signal: AbortSignal): Open {
  return async (url) => {
    const response = await fetch(url, { dispatcher, signal }).catch((error: unknown) => {
      let cause = error;
      while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
      throw new Error(`cannot reach ${url}: ${errorMessage(cause)}`);
    });
    if (!response.ok || response.body === null) throw new Error(`${url} responded with ${response.status}`);
    return response;
  };
}

async function expectedDigest({ file, checksum }: ReleaseArchive, open: Open): Promise<string> {
  if ('sha256' in checksum) return checksum.sha256;
  const digest = digestFromList(await (await open(checksum.listUrl)).text(), file);
  if (digest === null) throw new Error(`${checksum.listUrl} does not list ${file}`);
  return digest;
}

/** Streams the archive to a file and returns its SHA-256. */
async function save(url: string, file: string, open: Open, context: InstallContext): Promise<string> {
  const { body } = await open(url);
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(
    Readable.fromWeb(body!),
    async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        context.report(`download ${Math.round(bytes / 1e6)} MB`);
        yield chunk;
      }
    },
    createWriteStream(file),
    { signal: context.signal },
  );
  return hash.digest('hex');
}

async function findFile(folder: string, name: string): Promise<string> {
  const found = (await readdir(folder, { withFileTypes: true, recursive: true })).find(
    (entry) => entry.isFile() && entry.name === name,
  );
  if (found === undefined) throw new Error(`the archive has no file named ${name}`);
  return join(found.parentPath, name);
}

/**
 * Downloads an archive, checks its published SHA-256 and extracts the server's executable into `context.target`.
 * Respects `HTTPS_PROXY`.
 */
export async function downloadArchive(
  archive: ReleaseArchive,
  spec: ServerSpec,
  context: InstallContext,
): Promise<void> {
  const dispatcher = new EnvHttpProxyAgent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: chunkTimeoutMs,
    bodyTimeout: chunkTimeoutMs,
  });
  const packed = join(context.target, archive.file);
  const unpacked = join(context.target, 'unpacked');
  try {
    const open = opener(dispatcher, context.signal);
    const expected = await expectedDigest(archive, open);
    const actual = await save(archive.url, packed, open, context);
    if (actual !== expected)
      throw new Error(`the SHA-256 of ${archive.url} is ${actual}, but ${expected} was expected`);
    await mkdir(unpacked);
    await runCommand('tar', ['-xzf', packed, '-C', unpacked], { env: context.env, signal: context.signal });
    const executable = join(context.target, spec.command);
    await copyFile(await findFile(unpacked, spec.command), executable);
    await chmod(executable, 0o755);
  } finally {
    await Promise.all([packed, unpacked].map((path) => rm(path, { recursive: true, force: true })));
    await dispatcher.destroy();
  }
}

/**
 * Downloads the official release for this machine. The SDK's downloader is not suitable: it starts the server, has no
 * time limit and checks no digest.
 */
async function downloadRelease(spec: ServerSpec, context: InstallContext): Promise<void> {
  const archive = releaseArchive(spec);
  if (archive === null)
    throw new Error(`there is no official release for ${process.platform} ${process.arch}`);
  context.report('download');
  await downloadArchive(archive, spec, context);
}

interface ReleaseArchive {
  readonly url: string;
  /** File name of the archive in the list of checksums. */
  readonly file: string;
  /** The URL of the release's list of checksums, or the digest itself if the release has no list. */
  readonly checksum: { readonly listUrl: string } | { readonly sha256: string };
}

/** The official archive for a machine, or null if there is none. */
export function releaseArchive(
  { release, version }: ServerSpec,
  { platform, arch }: { readonly platform: string; readonly arch: string } = process,
): ReleaseArchive | null {
  if (!(platform === 'linux' || platform === 'darwin') || !(arch === 'x64' || arch === 'arm64')) return null;
  const folder = `https://github.com/${release.repository}/releases/download/v${version}`;
  const file = release.file(version, { platform, cpu: arch === 'x64' ? 'amd64' : 'arm64' });
  const url = `${folder}/${file}`;
  if (release.digests === undefined) return { url, file, checksum: { listUrl: `${folder}/checksums.txt` } };
  const sha256 = release.digests[file];
  return sha256 === undefined ? null : { url, file, checksum: { sha256 } };
}

/** The digest of a file in a list in the format of `sha256sum`, in lower case; null if the file is not listed. */
export function digestFromList(list: string, file: string): string | null {
  for (const line of list.split('\n')) {
    const match = /^([0-9a-fA-F]{64})\s+\*?(\S.*)$/.exec(line.trimEnd());
    if (match?.[2] === file) return (match[1] as string).toLowerCase();
  }
  return null;
}
