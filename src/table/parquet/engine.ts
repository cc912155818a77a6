import { type ChildProcess, fork } from 'node:child_process';
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EpochMs } from '../../core/brands.js';
import { duckDbMissing, requireDuckDb } from '../../core/duckdb-library.js';
import { DAY_MS } from '../../core/duration.js';
import { systemCause, systemCode } from '../../core/system-error.js';
import { PACKAGE_ROOT } from '../../core/version.js';
import { diskReason, EngineError } from './engine-failure.js';
import type { EngineAnswer, EngineOperations, EngineRequest } from './engine-process.js';
import type { EngineScope } from './engine-scope.js';

const NEED = '`tables.format: delta`';

/** What one use has: the process, which does one operation at a time, and a private folder, which is removed after the use. */
export interface EngineUse {
  readonly folder: string;
  ask<Name extends keyof EngineOperations>(
    name: Name,
    input: Parameters<EngineOperations[Name]>[0],
  ): Promise<Awaited<ReturnType<EngineOperations[Name]>>>;
}

/**
 * Checks that Parquet files can be read and written here. Only tables need the package, so it is optional.
 *
 * @throws as `useEngine`
 */
export async function requireParquet(scope: EngineScope): Promise<void> {
  await useEngine(scope, ({ ask }) => ask('version', null));
}

/**
 * Works with Parquet files in a separate process. It does one operation at a time, so that memory is bounded however many resources
 * are exported. What a use does before and after its operations, such as an upload, holds up no other one.
 *
 * @throws ConfigurationError if DuckDB cannot be loaded; EngineError if an operation fails; the signal's reason
 */
export async function useEngine<T>(scope: EngineScope, work: (use: EngineUse) => Promise<T>): Promise<T> {
  requireDuckDb(NEED);
  const { signal } = scope;
  signal?.throwIfAborted();
  const root = scope.tempFolder ?? tmpdir();
  const engine = Engine.in(root);
  try {
    return await engine.use(async (folder) =>
      work({ folder, ask: (name, input) => engine.ask(name, input, signal) }),
    );
  } catch (error) {
    signal?.throwIfAborted();
    const reason = error instanceof EngineError ? null : diskReason(error);
    throw reason === null ? error : new EngineError({ kind: 'disk', text: reason }, root, error);
  }
}

/** The end of the operation before, of any engine. */
let last: Promise<unknown> = Promise.resolve();
/** How long a process waits for the next operation. Then it ends and frees its memory. */
const IDLE_MS = 2000;

/** The files in one temporary folder, and the process that may read and write them, while there are any. */
class Engine {
  static readonly #all = new Map<string, Engine>();
  #folder: Promise<string> | null = null;
  #uses = 0;
  #process: EngineProcess | null = null;
  #idle: NodeJS.Timeout | undefined;

  static in(root: string): Engine {
    const engine = Engine.#all.get(root) ?? new Engine(root);
    Engine.#all.set(root, engine);
    return engine;
  }

  private constructor(private readonly root: string) {}

  /** @param work receives a private folder */
  async use<T>(work: (folder: string) => Promise<T>): Promise<T> {
    this.#uses++;
    try {
      this.#folder ??= createFolder(this.root);
      const folder = await mkdtemp(join(await this.#folder, 'use-'));
      try {
        return await work(folder);
      } finally {
        await remove(folder);
      }
    } finally {
      this.#uses--;
      this.#tidy();
    }
  }

  /** Does an operation when those before it have ended. */
  ask<Name extends keyof EngineOperations>(
    name: Name,
    input: Parameters<EngineOperations[Name]>[0],
    signal: AbortSignal | undefined,
  ): Promise<Awaited<ReturnType<EngineOperations[Name]>>> {
    const turn = last.then(() => this.#answer({ name, input }, signal));
    last = turn.catch(() => {});
    return untilAborted(turn, signal) as Promise<Awaited<ReturnType<EngineOperations[Name]>>>;
  }

  async #answer(request: EngineRequest, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted();
    clearTimeout(this.#idle);
    if (this.#process?.isAlive !== true) this.#process = new EngineProcess((await this.#folder)!, this.root);
    const used = this.#process;
    const end = (): void => this.#end(used);
    signal?.addEventListener('abort', end);
    try {
      signal?.throwIfAborted();
      const result = await used.answer(request);
      used.release();
      this.#idle = setTimeout(end, IDLE_MS).unref();
      return result;
    } catch (error) {
      end();
      throw error;
    } finally {
      signal?.removeEventListener('abort', end);
    }
  }

  #end(used: EngineProcess): void {
    used.end();
    if (this.#process !== used) return;
    this.#process = null;
    this.#tidy();
  }

  /** Removes the folder when nothing needs it. While the process lives, it does so if this process ends. */
  #tidy(): void {
    if (this.#uses > 0 || this.#process?.isAlive === true) return;
    this.#process = null;
    const folder = this.#folder;
    this.#folder = null;
    // One that could not be created has thrown already.
    folder?.then(remove, () => {});
  }
}

/** Settles as the work does, or rejects with the signal's reason before. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** The bundle of `engine-process.ts`, which loads faster than its modules. Tests that run from source use it, too. */
const MODULE = fileURLToPath(new URL('dist/cli/engine.cjs', PACKAGE_ROOT));
/** What the process inherits: where to find its libraries, and nothing secret. */
const ENVIRONMENT = ['PATH', 'LD_LIBRARY_PATH', 'SystemRoot'];
/** One query runs at a time. More threads, each with its own memory, would do nothing. */
const ONE_THREAD = { UV_THREADPOOL_SIZE: '1', MALLOC_ARENA_MAX: '1' };

class EngineProcess {
  readonly #child: ChildProcess;
  #asked: { resolve: (answer: EngineAnswer) => void; reject: (error: Error) => void } | null = null;
  #failure: Error | null = null;

  /** @param folder the only one that it may use @param root for messages */
  constructor(
    folder: string,
    private readonly root: string,
  ) {
    try {
      this.#child = fork(MODULE, [folder], {
        ...{ execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] },
        env: { ...Object.fromEntries(ENVIRONMENT.map((name) => [name, process.env[name]])), ...ONE_THREAD },
      });
    } catch (error) {
      throw new EngineError({ kind: 'ended', text: systemCause(error) }, root, error);
    }
    this.#child.on('message', (answer: EngineAnswer) => this.#asked?.resolve(answer));
    this.#child.on('error', (error) => this.#fail(systemCause(error), error));
    this.#child.once('exit', (code, signal) => this.#fail(signal ?? `code ${code}`));
  }

  get isAlive(): boolean {
    return this.#failure === null;
  }

  async answer(request: EngineRequest): Promise<unknown> {
    this.#child.ref();
    this.#child.channel?.ref();
    const answer = await new Promise<EngineAnswer>((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure);
      this.#asked = { resolve, reject };
      this.#child.send(request, (error) => error !== null && this.#fail(systemCause(error), error));
    });
    if ('result' in answer) return answer.result;
    if (answer.failure.kind === 'library') throw duckDbMissing(NEED, answer.failure.text);
    throw new EngineError(answer.failure, this.root);
  }

  /** Neither it nor its channel keeps this process alive. */
  release(): void {
    this.#child.unref();
    this.#child.channel?.unref();
  }

  end(): void {
    this.#child.kill('SIGKILL');
    this.#fail('it was stopped');
  }

  #fail(text: string, cause?: unknown): void {
    this.#failure ??= new EngineError({ kind: 'ended', text }, this.root, cause);
    this.#asked?.reject(this.#failure);
  }
}

/** Removes a folder. A process that was just ended may still write to it. What is left is removed at a later start. */
async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
}

const PREFIX = 'worktrack-table-';
/** Containers can share a temporary folder, but not the numbers of their processes. */
const HOST = hostname().replace(/[^\w.-]/g, '_');
const swept = new Map<string, Promise<void>>();

/** Creates a private folder, after those of ended processes have been removed. */
async function createFolder(root: string): Promise<string> {
  const sweep = swept.get(root) ?? removeLeft(root).catch(() => {});
  swept.set(root, sweep);
  await sweep;
  return mkdtemp(join(root, `${PREFIX}${HOST}-${process.pid}-`));
}

/** Removes the folders of this user whose process has ended, and could not remove them itself. */
export async function removeLeft(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    const [, host, pid] = /^worktrack-table-(.+)-(\d+)-\w{6}$/.exec(name) ?? [];
    if (pid === undefined) continue;
    const path = join(root, name);
    const found = await lstat(path).catch(() => null);
    if (found?.isDirectory() !== true || found.uid !== process.getuid?.()) continue;
    const isLeft = host === HOST ? hasEnded(Number(pid), found.mtimeMs) : found.mtimeMs < Date.now() - DAY_MS;
    if (isLeft) await remove(path);
  }
}

/** @param usedAt In a container, the next process often has the same number */
function hasEnded(pid: number, usedAt: EpochMs): boolean {
  if (pid === process.pid) return usedAt < Date.now() - process.uptime() * 1000;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return systemCode(error) === 'ESRCH';
  }
}
