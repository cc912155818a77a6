import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { MINUTE_MS } from '../../core/duration.js';
import { systemCause } from '../../core/system-error.js';
import { findExecutable, pathFolders, whyNotExecutable } from '../commands/executables.js';
import { runCommand } from '../commands/run-command.js';
import { ServerEnvironmentError } from '../environment-error.js';
import { cachedExecutable, cacheRoot, type Environment, usableHome } from './cache.js';
import { install, installers } from './install.js';
import { type FailedAttempt, ServerInstallError } from './install-error.js';
import { type ServerKind, type ServerSpec, serverSpec } from './kinds.js';
import { whyNotRunning } from './probe-executable.js';
import { type ProgressOutput, startProgress } from './progress.js';
import { releaseArchive } from './releases.js';

interface ResolvedServer {
  /** The absolute path of the executable. */
  readonly path: string;
  /** `environment`, `PATH`, `cache`, an installer, or `another process`, which has just installed it. */
  readonly source: string;
}

export interface ResolveOptions {
  /** Default: `process.env`. */
  readonly env?: Environment;
  /** Receives the progress and a line with the result. Default: stderr. */
  readonly output?: ProgressOutput;
  readonly signal?: AbortSignal;
  /** Time limit of the installation, in milliseconds. Default: 20 minutes. */
  readonly timeoutMs?: number;
  /** Replaces steps of the resolution in tests. */
  readonly probes?: Partial<ResolveProbes>;
}

/** The steps of the resolution that access the machine. */
export interface ResolveProbes {
  readonly whyNotExecutable: typeof whyNotExecutable;
  readonly whyNotRunning: typeof whyNotRunning;
  readonly find: typeof findExecutable;
  readonly goFolders: (env: Environment) => Promise<string[]>;
  readonly install: typeof install;
}

const defaultTimeoutMs = 20 * MINUTE_MS;

/** The folders of `go install`: GOBIN, or the bin folder of each GOPATH entry. Asks Go for its defaults if it is installed. */
async function goFolders(env: Environment): Promise<string[]> {
  const go = await findExecutable('go', pathFolders(env));
  let [goBin, goPath] = [env.GOBIN, env.GOPATH];
  if (go !== null && (!goBin || !goPath)) {
    const asked = runCommand(go, ['env', 'GOBIN', 'GOPATH'], { env, signal: AbortSignal.timeout(10_000) });
    const lines = (await asked.catch(() => '')).split('\n');
    goBin ||= lines[0];
    goPath ||= lines[1];
  }
  const home = usableHome(env);
  const paths = goPath ? goPath.split(':') : home === null ? [] : [join(home, 'go')];
  return [...(goBin ? [goBin] : []), ...paths.filter(Boolean).map((path) => join(path, 'bin'))];
}

const defaultProbes: ResolveProbes = {
  whyNotExecutable,
  whyNotRunning,
  find: findExecutable,
  goFolders,
  install,
};

/** Finds an existing executable. Adds the reasons why others were not used to `attempts`. */
async function findServer(
  spec: ServerSpec,
  env: Environment,
  root: string,
  probes: ResolveProbes,
  attempts: FailedAttempt[],
): Promise<{ source: string; path: string } | null> {
  const named = env[spec.variable];
  if (named) {
    const why = await probes.whyNotExecutable(named);
    if (why !== null) throw new ServerEnvironmentError(spec.variable, named, why);
    return { source: 'environment', path: resolve(named) };
  }
  attempts.push({ what: `environment variable ${spec.variable}`, why: 'is not set' });

  const onPath = await probes.find(spec.command, [...pathFolders(env), ...(await probes.goFolders(env))]);
  const cached = cachedExecutable(root, spec);
  for (const [source, path] of [
    ['PATH', onPath],
    ['cache', cached],
  ] as const) {
    const why = path === null ? `no \`${spec.command}\` found` : await probes.whyNotRunning(spec, path, env);
    if (path !== null && why === null) return { source, path };
    attempts.push({ what: source, why: path === null ? String(why) : `${path}: ${why}` });
  }
  return null;
}

/**
 * Finds the executable of a server: named in the environment, on PATH (or in the folders of `go install`), in the cache,
 * else installs it into the cache by download or package manager. Writes one line with the result.
 *
 * @throws ServerEnvironmentError if the server's variable names a file that cannot be executed
 * @throws ServerInstallError with all attempts and what to do, if none succeeded
 */
export async function resolveServer(
  server: ServerKind | ServerSpec,
  options: ResolveOptions = {},
): Promise<ResolvedServer> {
  const spec = typeof server === 'string' ? serverSpec(server) : server;
  const env = options.env ?? process.env;
  const output = options.output ?? process.stderr;
  const probes = { ...defaultProbes, ...options.probes };
  const root = cacheRoot(env);
  const started = performance.now();
  const resolved = (source: string, path: string): ResolvedServer => {
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    output.write(`${spec.title}: ${path} (${source}, ${seconds} s)\n`);
    return { source, path };
  };

  const attempts: FailedAttempt[] = [];
  const found = await findServer(spec, env, root, probes, attempts);
  if (found !== null) return resolved(found.source, found.path);

  if (env.WORKTRACK_OFFLINE === '1')
    attempts.push({ what: 'download', why: 'disabled by WORKTRACK_OFFLINE=1' });
  const timeout = AbortSignal.timeout(options.timeoutMs ?? defaultTimeoutMs);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
  const progress = startProgress(output, spec.title);
  const outcome = await probes
    .install(spec, { env, root, installers: installers(spec, env), signal, report: progress.update })
    .catch((error: unknown) => {
      options.signal?.throwIfAborted();
      const why = timeout.aborted
        ? 'exceeded the time limit'
        : `${systemCause(error)} (set WORKTRACK_CACHE to use another folder)`;
      return { source: null, attempts: [{ what: `installation into ${root}`, why }] };
    })
    .finally(progress.stop);
  if (outcome.source !== null) {
    if (dirname(root) === tmpdir())
      output.write(
        `${root} is a temporary folder, because HOME cannot be used. To keep the server, set WORKTRACK_CACHE.\n`,
      );
    return resolved(outcome.source, outcome.path);
  }
  throw new ServerInstallError(spec, [...attempts, ...outcome.attempts], remedies(spec, env));
}

/** What the user can do if all attempts failed. */
function remedies(spec: ServerSpec, env: Environment): string[] {
  const archive = releaseArchive(spec);
  return [
    ...(archive === null
      ? []
      : [
          `download and unpack ${archive.url}, and set ${spec.variable} to the path of its \`${spec.command}\``,
        ]),
    spec.installer.remedy,
    ...(env.WORKTRACK_OFFLINE === '1' ? ['unset WORKTRACK_OFFLINE to allow the download'] : []),
    `set ${spec.variable} to the path of an existing executable`,
  ];
}
