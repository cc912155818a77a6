import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Dispatcher, EnvHttpProxyAgent, fetch } from 'undici';
import { errorMessage } from '../../core/errors.js';
import { runCommand } from '../commands/run-command.js';
import type { InstallContext } from './install-context.js';
import type { ServerSpec } from './kinds.js';
import { digestFromList, type ReleaseArchive, releaseArchive } from './releases.js';

/** Short, because a blocked network often drops packets without an error. */
const connectTimeoutMs = 10_000;
/** Longer, because a slow network may pause between two chunks. */
const chunkTimeoutMs = 30_000;

/** Opens a URL. An error has the message of its deepest cause, which is the most specific (`ENOTFOUND github.com`). */
async function open(url: string, dispatcher: Dispatcher, signal: AbortSignal) {
  const response = await fetch(url, { dispatcher, signal }).catch((error: unknown) => {
    let cause = error;
    while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
    throw new Error(`cannot reach ${url}: ${errorMessage(cause)}`);
  });
  if (!response.ok || response.body === null) throw new Error(`${url} responded with ${response.status}`);
  return { body: response.body, text: () => response.text() };
}

async function expectedDigest(
  archive: ReleaseArchive,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<string> {
  if ('sha256' in archive.checksum) return archive.checksum.sha256;
  const list = await (await open(archive.checksum.listUrl, dispatcher, signal)).text();
  const digest = digestFromList(list, archive.file);
  if (digest === null) throw new Error(`${archive.checksum.listUrl} does not list ${archive.file}`);
  return digest;
}

/** Streams the archive to a file and returns its SHA-256. */
async function save(
  archive: ReleaseArchive,
  file: string,
  dispatcher: Dispatcher,
  context: InstallContext,
): Promise<string> {
  const { body } = await open(archive.url, dispatcher, context.signal);
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(
    Readable.fromWeb(body),
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
    const expected = await expectedDigest(archive, dispatcher, context.signal);
    const actual = await save(archive, packed, dispatcher, context);
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
export async function downloadRelease(spec: ServerSpec, context: InstallContext): Promise<void> {
  const archive = releaseArchive(spec);
  if (archive === null)
    throw new Error(`there is no official release for ${process.platform} ${process.arch}`);
  context.report('download');
  await downloadArchive(archive, spec, context);
}
