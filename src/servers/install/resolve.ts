import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { MINUTE_MS } from '../../core/duration.js';
import type { Environment } from '../../core/home-folder.js';
import { systemCause } from '../../core/system-error.js';
import { type FailedAttempt, ServerEnvironmentError, ServerInstallError } from '../errors.js';
import { findExecutable, pathFolders, runCommand, whyNotExecutable } from '../run-command.js';
import { cachedExecutable, cacheRoot, usableHome } from './cache.js';
import { install, installers, releaseArchive, whyNotRunning } from './install.js';
import { serverSpec } from './known-servers.js';
import type { ServerKind, ServerSpec } from './server-spec.js';

interface ResolvedServer {
  /** Absolute. */
  readonly path: string;
  /** `environment`, `PATH`, `cache`, an installer, or `another process`, which has just installed it. */
  readonly source: string;
}

interface ResolveOptions {
  /** Default: `process.env`. */
  readonly env?: Environment;
  /** Receives the progress and a line with the result. Default: stderr. */
  readonly output?: ProgressOutput;
}

const INSTALL_TIMEOUT_MS = 20 * MINUTE_MS;

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

/** Finds an existing executable. Adds the reasons why others were not used to `attempts`. */
async function findServer(
  spec: ServerSpec,
  env: Environment,
  root: string,
  attempts: FailedAttempt[],
): Promise<ResolvedServer | null> {
  const named = env[spec.variable];
  if (named) {
    const why = await whyNotExecutable(named);
    if (why !== null) throw new ServerEnvironmentError(spec.variable, named, why);
    return { source: 'environment', path: resolve(named) };
  }
  attempts.push({ what: `environment variable ${spec.variable}`, why: 'is not set' });

  const onPath = await findExecutable(spec.command, [...pathFolders(env), ...(await goFolders(env))]);
  const cached = cachedExecutable(root, spec);
  for (const [source, path] of [
    ['PATH', onPath],
    ['cache', cached],
  ] as const) {
    const why = path === null ? `no \`${spec.command}\` found` : await whyNotRunning(spec, path, env);
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
  const root = cacheRoot(env);
  const started = performance.now();
  const resolved = (source: string, path: string): ResolvedServer => {
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    output.write(`${spec.title}: ${path} (${source}, ${seconds} s)\n`);
    return { source, path };
  };

  const attempts: FailedAttempt[] = [];
  const found = await findServer(spec, env, root, attempts);
  if (found !== null) return resolved(found.source, found.path);
  if (env.WORKTRACK_OFFLINE === '1')
    attempts.push({ what: 'download', why: 'disabled by WORKTRACK_OFFLINE=1' });
  const signal = AbortSignal.timeout(INSTALL_TIMEOUT_MS);
  const progress = startProgress(output, spec.title);
  const report = progress.update;
  const outcome = await install(spec, { env, root, installers: installers(spec, env), signal, report })
    .catch((error: unknown) => {
      const why = signal.aborted
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

/** The output stream for progress, such as `process.stderr`. */
interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Interval of lines without a terminal; a new step is always written. A terminal is redrawn every second. */
const plainIntervalMs = 15_000;

/**
 * Shows the current step with the elapsed seconds until stopped; on a terminal, then clears the line for the result. The timer
 * does not keep the process alive.
 */
export function startProgress(
  output: ProgressOutput,
  title: string,
): { update(step: string): void; stop(): void } {
  const started = performance.now();
  let step = '';
  let lastPlainAt = Number.NEGATIVE_INFINITY;
  const draw = () => {
    const now = performance.now();
    const line = `${title}: ${step}, ${Math.round((now - started) / 1000)} s`;
    if (output.isTTY) output.write(`\r\x1b[2K${line}`);
    else if (now - lastPlainAt >= plainIntervalMs) {
      lastPlainAt = now;
      output.write(`${line}\n`);
    }
  };
  const timer = setInterval(() => {
    if (step !== '') draw();
  }, 1_000);
  timer.unref();
  return {
    update(next) {
      // A changing number within one step (`download 12 MB`) does not count as a new step.
      if (next.replace(/\d+/g, '') !== step.replace(/\d+/g, '')) lastPlainAt = Number.NEGATIVE_INFINITY;
      step = next;
      draw();
    },
    stop() {
      clearInterval(timer);
      if (output.isTTY && step !== '') output.write('\r\x1b[2K');
    },
  };
}
