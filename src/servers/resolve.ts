import { join, resolve } from 'node:path';
import { cachedExecutable, cacheRoot, type Environment, usableHome } from './cache.js';
import { runCommand } from './command.js';
import { ServerEnvironmentError } from './environment-error.js';
import { findExecutable, pathFolders, whyNotExecutable } from './executables.js';
import { type InstallSource, install, installers } from './install.js';
import { type FailedAttempt, ServerInstallError } from './install-error.js';
import { type ServerKind, type ServerSpec, serverSpec } from './kinds.js';
import { whyNotRunning } from './probe.js';
import { type ProgressOutput, startProgress } from './progress.js';
import { remedies } from './remedies.js';

/** Where an executable was taken from. */
export type ServerSource = 'environment' | 'PATH' | 'cache' | InstallSource;

export interface ResolvedServer {
  readonly kind: ServerKind;
  /** The absolute path of the executable. */
  readonly path: string;
  readonly source: ServerSource;
  /** How long it took to have it, in milliseconds. */
  readonly elapsedMs: number;
}

export interface ResolveOptions {
  /** Default: `process.env`. */
  readonly env?: Environment;
  /** Where the line that says what was taken goes, and the progress before it. Default: stderr. */
  readonly output?: ProgressOutput;
  readonly signal?: AbortSignal;
  /** Bounds the installation, in milliseconds. Default: 20 minutes. */
  readonly timeoutMs?: number;
  /** What finds and installs; tests pass their own. */
  readonly probes?: Partial<ResolveProbes>;
}

/** The steps of the resolution that touch the machine. */
export interface ResolveProbes {
  readonly whyNotExecutable: typeof whyNotExecutable;
  readonly whyNotRunning: typeof whyNotRunning;
  readonly find: typeof findExecutable;
  readonly goFolders: (env: Environment) => Promise<string[]>;
  readonly install: typeof install;
}

const defaultTimeoutMs = 20 * 60_000;

/** Where `go install` puts commands: GOBIN, else the bin folder of each GOPATH; asked of Go itself where it is there. */
async function goFolders(env: Environment): Promise<string[]> {
  const go = await findExecutable('go', pathFolders(env));
  let [goBin, goPath] = [env.GOBIN, env.GOPATH];
  if (go !== null && (!goBin || !goPath)) {
    const asked = runCommand(go, ['env', 'GOBIN', 'GOPATH'], { env, signal: AbortSignal.timeout(10_000) });
    const lines = (await asked.catch(() => '')).split('\n');
    goBin ||= lines[0];
    goPath ||= lines[1];
  }
  const home = await usableHome(env);
  const paths = goPath ? goPath.split(':') : home === null ? [] : [join(home, 'go')];
  return [...(goBin ? [goBin] : []), ...paths.filter(Boolean).map((path) => join(path, 'bin'))];
}

const machine: ResolveProbes = { whyNotExecutable, whyNotRunning, find: findExecutable, goFolders, install };

/** Steps 1 to 3: what is there already. Reasons for what was passed over are added to `attempts`. */
async function findServer(
  spec: ServerSpec,
  env: Environment,
  root: string,
  probes: ResolveProbes,
  attempts: FailedAttempt[],
): Promise<{ source: ServerSource; path: string } | null> {
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
    const why = path === null ? `no \`${spec.command}\` there` : await probes.whyNotRunning(spec, path, env);
    if (path !== null && why === null) return { source, path };
    attempts.push({ what: source, why: path === null ? String(why) : `${path}: ${why}` });
  }
  return null;
}

/**
 * Gives the executable of a server: named in the environment, on PATH (or where Go installs), in our cache, else
 * installed into the cache by download or by the package manager at hand. Says in one line which was taken.
 *
 * @throws ServerEnvironmentError when the server's variable names something that cannot be executed
 * @throws ServerInstallError when nothing worked, with every attempt and the remedies
 */
export async function resolveServer(kind: ServerKind, options: ResolveOptions = {}): Promise<ResolvedServer> {
  const spec = serverSpec(kind);
  const env = options.env ?? process.env;
  const output = options.output ?? process.stderr;
  const probes = { ...machine, ...options.probes };
  const root = cacheRoot(env);
  const started = performance.now();
  const taken = (source: ServerSource, path: string): ResolvedServer => {
    const elapsedMs = performance.now() - started;
    const seconds = (elapsedMs / 1000).toFixed(1);
    output.write(`${spec.title}: ${path} (${source}, ${seconds} s)\n`);
    return { kind, source, path, elapsedMs };
  };

  const attempts: FailedAttempt[] = [];
  const found = await findServer(spec, env, root, probes, attempts);
  if (found !== null) return taken(found.source, found.path);

  if (env.WORKTRACK_OFFLINE === '1')
    attempts.push({ what: 'download', why: 'WORKTRACK_OFFLINE=1 forbids it' });
  const timeout = AbortSignal.timeout(options.timeoutMs ?? defaultTimeoutMs);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
  const progress = startProgress(output, spec.title);
  const outcome = await probes
    .install(spec, { env, root, installers: installers(spec, env), signal, say: progress.update })
    .catch((error: unknown) => {
      options.signal?.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      const why = timeout.aborted
        ? 'took too long and was ended'
        : `${reason} (WORKTRACK_CACHE chooses another folder)`;
      return { source: null, attempts: [{ what: `installation into ${root}`, why }] };
    })
    .finally(progress.stop);
  if (outcome.source !== null) return taken(outcome.source, outcome.path);
  throw new ServerInstallError(spec, [...attempts, ...outcome.attempts], remedies(spec, env));
}
