import { realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type ConfigDifference, configDifference, configDigest } from '../../config/index.js';
import type { EpochMs } from '../../core/brands.js';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import { ConfigurationError } from '../../core/errors.js';
import type { ConnectionSettings, Settings } from '../../core/settings.js';
import { shellWord } from '../../core/short-text.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import {
  notCurrent,
  readWorkers,
  type WorkerDifference,
  workerDifferences,
} from '../../temporal/status/workers.js';
import type { GlobalOptions } from './command-options.js';
import { age, counted, output } from './output.js';

/** Where and when a command compares its configuration with a worker's. */
interface Compared {
  /** The command's configuration file. */
  readonly source: string;
  readonly now: EpochMs;
}

/**
 * How a worker's configuration differs from that of the command, and what to do, as sentences.
 *
 * @example
 * // acme: worker 7@host has another configuration (/etc/worktrack.yaml, read 3 h ago): it lacks resource members. …
 */
export function differenceText(found: WorkerDifference, compared: Compared): string {
  const { message, remedy } = describeDifference(found, compared);
  return `${message}. ${remedy}`;
}

/** The same as a message and what to do. */
export function describeDifference(
  found: WorkerDifference,
  { source, now }: Compared,
): { readonly message: string; readonly remedy: string } {
  const { connection, worker, difference, loadedAt, source: file } = found;
  const what = difference === null ? 'it lacks this connection' : partsOf(difference, source).join('; ');
  const message = `${connection}: worker ${worker} has another configuration than ${source} (${file}, read ${age(now - loadedAt)} ago): ${what}`;
  return { message, remedy: `${whatToDo(found, source)} Runs use the worker's configuration.` };
}

/** A worker that loads its file again changes nothing if that file is another one. Its default identity is `<process id>@<host>`. */
function whatToDo({ worker, difference, source: file }: WorkerDifference, source: string): string {
  const [, pid, host] = /^(\d+)@(.+)$/.exec(worker) ?? [];
  const reload = pid === undefined ? 'send it SIGHUP' : `run \`kill -HUP ${pid}\` on ${host}`;
  if (realPath(file) === realPath(source)) return `To load its file again, ${reload}; or restart it.`;
  if (difference === null) return `Add the connection to the worker's file. Then ${reload}; or restart it.`;
  const use =
    host === hostname()
      ? `use one file for both (--config ${shellWord(file)})`
      : `replace the worker's file by this one, and ${reload}`;
  return `The worker has another file. If both mean the same connection, ${use}. Otherwise rename the connection in one of them.`;
}

/** A worker states an absolute path, and a command the one that it was given. */
function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    // It is on the worker's machine only.
    return resolve(file);
  }
}

function partsOf({ added, missing, keys }: ConfigDifference, source: string): string[] {
  return [
    ...(added.length === 0 ? [] : [`it lacks ${resources(added)}`]),
    ...(missing.length === 0 ? [] : [`it also has ${resources(missing)}, which ${source} lacks`]),
    ...(keys.length === 0 ? [] : [`different ${keysText(keys)}`]),
  ];
}

function resources(names: readonly string[]): string {
  return `${names.length === 1 ? 'resource' : 'resources'} ${names.join(', ')}`;
}

/**
 * Compares the workers with the command; finds nothing if Temporal does not answer.
 *
 * @returns workers whose configuration differs, and sentences about workers that receive no new runs
 */
export async function checkWorkers(
  temporal: TemporalClient,
  connections: readonly ConnectionSettings[],
  { taskQueue = DEFAULT_TASK_QUEUE }: GlobalOptions,
): Promise<{ readonly differences: readonly WorkerDifference[]; readonly idle: readonly string[] }> {
  try {
    const workers = await readWorkers(temporal, taskQueue);
    const idle = workers.flatMap((worker) => notCurrent(worker) ?? []);
    return {
      differences: workerDifferences(workers, connections),
      idle: idle.map(({ message, remedy }) => `${message}. ${remedy}`),
    };
  } catch {
    // The command itself reports an unreachable server.
    return { differences: [], idle: [] };
  }
}

/**
 * Warns of workers with another configuration before a run of one connection starts.
 *
 * @param wanted the resources of the run
 * @throws ConfigurationError if a worker lacks one of these, because the run would leave it out
 */
export function checkDifferences(
  differences: readonly WorkerDifference[],
  { source, wanted }: { readonly source: string; readonly wanted: readonly string[] },
): void {
  for (const found of differences) {
    const text = differenceText(found, { source, now: Date.now() });
    const lacks = found.difference === null || found.difference.added.some((name) => wanted.includes(name));
    if (lacks) throw new ConfigurationError(text, { remedy: 'Nothing was started.' });
    output.note(`warning: ${text}`);
  }
}

/** Number of keys that a message lists. */
const MAX_KEYS = 8;

/** Names the keys that differ, such as `sync.pageSize and lake.region differ`; no values. */
function keysText(keys: readonly string[]): string {
  const listed = keys.slice(0, MAX_KEYS).join(', ');
  const more = keys.length > MAX_KEYS ? ` and ${counted(keys.length - MAX_KEYS, 'more key')}` : '';
  return listed + more;
}

/**
 * What differs between two configurations of a worker, by connection; empty if nothing that a worker uses differs.
 *
 * @param before the configuration in use
 */
export function configChanges(before: Settings, after: Settings): string[] {
  const names = new Set([...before.connections, ...after.connections].map(({ name }) => name));
  return [...names].flatMap((name) => {
    const [old, now] = [before, after].map((one) => one.connections.find((found) => found.name === name));
    if (old === undefined) return [`${name}: new connection`];
    if (now === undefined) return [`${name}: connection removed`];
    const difference = configDifference(configDigest(now), configDigest(old));
    return difference === null ? [] : [`${name}: ${changeText(difference)}`];
  });
}

function changeText({ added, missing, keys }: ConfigDifference): string {
  return [
    ...added.map((name) => `new resource ${name}`),
    ...missing.map((name) => `resource ${name} removed`),
    ...(keys.length === 0 ? [] : [`changed ${keysText(keys)}`]),
  ].join('; ');
}
