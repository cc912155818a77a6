import { type ChildProcess, fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { duckDbMissing, requireDuckDb } from '../../core/duckdb-library.js';
import { PACKAGE_ROOT } from '../../core/version.js';
import type { EngineAnswer, EngineFailure, EngineOperations, EngineRequest } from './engine-process.js';

const NEED = '`tables.format: delta`';

/**
 * Checks that the package is installed which reads and writes Parquet. Only tables need it, so it is optional.
 *
 * @throws ConfigurationError if it is not
 */
export function requireParquet(): void {
  requireDuckDb(NEED);
}

/** An operation on a file failed. The message has no value. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly kind: EngineFailure['kind'];

  constructor({ kind, text }: EngineFailure) {
    super(kind === 'memory' ? 'it needs more memory than a conversion may use' : `DuckDB failed (${text})`);
    this.kind = kind;
  }
}

/** The process for one use, and a private folder, which is removed after it. */
export interface EngineUse {
  readonly folder: string;
  ask<Name extends keyof EngineOperations>(
    name: Name,
    input: Parameters<EngineOperations[Name]>[0],
  ): Promise<Awaited<ReturnType<EngineOperations[Name]>>>;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Works with Parquet files in a separate process, one use at a time, so that memory is bounded however many resources are exported.
 *
 * @throws ConfigurationError if DuckDB is not installed; EngineError if an operation fails; the signal's reason
 */
export async function useEngine<T>(
  signal: AbortSignal | undefined,
  work: (use: EngineUse) => Promise<T>,
): Promise<T> {
  requireParquet();
  const turn = last.then(() => useNow(signal, work));
  last = turn.catch(() => {});
  return turn;
}

async function useNow<T>(signal: AbortSignal | undefined, work: (use: EngineUse) => Promise<T>): Promise<T> {
  signal?.throwIfAborted();
  const engine = await takeEngine();
  const onAbort = (): void => engine.close();
  signal?.addEventListener('abort', onAbort);
  try {
    const folder = await mkdtemp(join(engine.folder, 'use-'));
    const result = await work({ folder, ask: (name, input) => engine.ask(name, input) });
    await rm(folder, { recursive: true, force: true });
    // Last, because after an error the process is ended.
    idleEngine(engine);
    return result;
  } catch (error) {
    engine.close();
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

/** The module of the process. Tests that run from source use the built one, too. */
const MODULE = fileURLToPath(new URL('dist/src/table/parquet/engine-process.js', PACKAGE_ROOT));
/** How long a process waits for the next use. Then it ends and frees its memory. */
const IDLE_MS = 2000;
/** What the process inherits: where to find its libraries, and nothing secret. */
const ENVIRONMENT = ['PATH', 'LD_LIBRARY_PATH', 'SystemRoot'];

let idle: { readonly engine: Engine; readonly timer: NodeJS.Timeout } | null = null;

/** The process of the last use, or a new one. */
async function takeEngine(): Promise<Engine> {
  const kept = idle;
  idle = null;
  if (kept !== null) clearTimeout(kept.timer);
  const engine = kept?.engine.isAlive ? kept.engine : await Engine.start();
  engine.hold();
  return engine;
}

/** Keeps a process for the next use. Neither it nor its timer keeps this process alive. */
function idleEngine(engine: Engine): void {
  engine.release();
  const timer = setTimeout(() => {
    if (idle?.engine !== engine) return;
    idle = null;
    engine.close();
  }, IDLE_MS);
  idle = { engine, timer: timer.unref() };
}

/** A process that does one operation at a time. */
class Engine {
  readonly folder: string;
  readonly #child: ChildProcess;
  #asked: { resolve: (answer: EngineAnswer) => void; reject: (error: Error) => void } | null = null;
  #failure: Error | null = null;

  static async start(): Promise<Engine> {
    return new Engine(await mkdtemp(join(tmpdir(), 'worktrack-table-')));
  }

  constructor(folder: string) {
    this.folder = folder;
    this.#child = fork(MODULE, [folder], {
      ...{ execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] },
      env: Object.fromEntries(ENVIRONMENT.flatMap((name) => [[name, process.env[name]]])),
    });
    this.#child.on('message', (answer: EngineAnswer) => this.#asked?.resolve(answer));
    this.#child.once('error', (error) => this.#fail(error));
    this.#child.once('exit', (code, signal) =>
      this.#fail(new Error(`the process that converts to Parquet ended (${signal ?? `code ${code}`})`)),
    );
  }

  get isAlive(): boolean {
    return this.#failure === null;
  }

  async ask<Name extends keyof EngineOperations>(
    name: Name,
    input: Parameters<EngineOperations[Name]>[0],
  ): Promise<Awaited<ReturnType<EngineOperations[Name]>>> {
    const request: EngineRequest<Name> = { name, input };
    const answer = await new Promise<EngineAnswer>((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure);
      this.#asked = { resolve, reject };
      this.#child.send(request, (error) => error !== null && this.#fail(error));
    });
    if ('result' in answer) return answer.result as Awaited<ReturnType<EngineOperations[Name]>>;
    if (answer.failure.kind === 'library') throw duckDbMissing(NEED, answer.failure.text);
    throw new EngineError(answer.failure);
  }

  hold(): void {
    this.#child.ref();
    this.#child.channel?.ref();
  }

  release(): void {
    this.#child.unref();
    this.#child.channel?.unref();
  }

  /** Ends the process, and removes its files. */
  close(): void {
    this.#child.kill('SIGKILL');
    this.#fail(new Error('the process that converts to Parquet was ended'));
    rmSync(this.folder, { recursive: true, force: true });
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#asked?.reject(this.#failure);
  }
}
