import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Dispatcher, EnvHttpProxyAgent, fetch } from 'undici';
import { runCommand } from './command.js';
import type { InstallContext } from './install-context.js';
import type { ServerSpec } from './kinds.js';
import { digestFromList, type ReleaseArchive, releaseArchive } from './releases.js';

/** A closed network often swallows packets: give up on it quickly. A slow one may take its time between two chunks. */
const connectTimeoutMs = 10_000;
const silenceTimeoutMs = 30_000;

/** Opens an address; the failure's deepest cause is the one that says something (`ENOTFOUND github.com`). */
async function open(url: string, dispatcher: Dispatcher, signal: AbortSignal) {
  const response = await fetch(url, { dispatcher, signal }).catch((error: unknown) => {
    let cause = error;
    while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
    throw new Error(`${url} could not be reached: ${cause instanceof Error ? cause.message : String(cause)}`);
  });
  if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}`);
  return { body: response.body, text: () => response.text() };
}

async function wantedDigest(
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

/** Streams the archive to a file and gives its sha256. */
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
        context.say(`download ${Math.round(bytes / 1e6)} MB`);
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
  if (found === undefined) throw new Error(`the archive holds no file named ${name}`);
  return join(found.parentPath, name);
}

/**
 * Downloads an archive, checks it against its published sha256 and unpacks the server's executable into
 * `context.target`. `HTTPS_PROXY` is heeded.
 */
export async function downloadArchive(
  archive: ReleaseArchive,
  spec: ServerSpec,
  context: InstallContext,
): Promise<void> {
  const dispatcher = new EnvHttpProxyAgent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: silenceTimeoutMs,
    bodyTimeout: silenceTimeoutMs,
  });
  const packed = join(context.target, archive.file);
  const unpacked = join(context.target, 'unpacked');
  try {
    const wanted = await wantedDigest(archive, dispatcher, context.signal);
    const got = await save(archive, packed, dispatcher, context);
    if (got !== wanted) throw new Error(`${archive.url} has sha256 ${got} instead of ${wanted}: not used`);
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
 * Downloads the official release for this machine. The SDK's own downloader is not used: it cannot download without
 * starting the server, has no time limit and checks no digest.
 */
export async function downloadRelease(spec: ServerSpec, context: InstallContext): Promise<void> {
  const archive = releaseArchive(spec);
  if (archive === null) throw new Error(`there is no official build for ${process.platform} ${process.arch}`);
  context.say('download');
  await downloadArchive(archive, spec, context);
}
