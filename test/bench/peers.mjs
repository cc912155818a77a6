// What the benchmark compares with, each in a separate process: a bare loop, and dlt (https://pypi.org/project/dlt/).
// Each reads the same service and writes gzipped CSV to the same S3 server.
import { execFile } from 'node:child_process';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const { cacheRoot } = await import(new URL('../../dist/src/servers/install/cache.js', import.meta.url));
const run = promisify(execFile);

export const DLT_VERSION = '1.31.0';

/**
 * What a peer reads and writes.
 *
 * @typedef {object} Job
 * @property {string} url of the service
 * @property {string} endpoint of the store
 * @property {string} resource
 * @property {string} name of what it writes; unique
 * @property {number} pageSize
 * @property {number} warmUp rows that it reads before it is measured; 0: none
 */

/** Page after page, parsed and written as CSV, gzipped, one upload. @param {Job} job */
export function bareLoop(stage, job) {
  return peer(stage, process.execPath, [scriptOf('bare-loop.mjs')], job);
}

/** A pipeline of dlt with its defaults. @param {Job} job */
export async function dlt(stage, job) {
  const PYTHONPATH = await installDlt();
  return peer(stage, 'python3', [scriptOf('dlt-peer.py')], job, { PYTHONPATH });
}

/** Runs a script with the job as JSON. It prints one line of JSON: seconds, CPU seconds, rows, peak memory in MiB. */
async function peer({ s3, env, folder }, command, args, job, more = {}) {
  const input = JSON.stringify({ region: s3.region, folder, ...job });
  const { stdout } = await run(command, [...args, input], {
    env: { ...env, ...more },
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout.trim().split('\n').at(-1));
}

let installed;
/** The folder of the installed package. */
function installDlt() {
  installed ??= (async () => {
    const { stdout } = await run('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])']);
    const folder = join(
      cacheRoot(process.env),
      `dlt-${DLT_VERSION}-python${stdout.trim()}-${process.platform}-${process.arch}`,
    );
    if ((await stat(folder).catch(() => null)) !== null) return folder;
    const unfinished = `${folder}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(unfinished, { recursive: true });
    const requirement = `dlt[filesystem,s3]==${DLT_VERSION}`;
    await run('python3', [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--no-input',
      '--target',
      unfinished,
      requirement,
    ]);
    await rename(unfinished, folder);
    return folder;
  })();
  return installed;
}

function scriptOf(file) {
  return fileURLToPath(new URL(file, import.meta.url));
}
