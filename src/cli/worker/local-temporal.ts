import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../../core/process-identity.js';
import type { Settings } from '../../core/settings.js';
import {
  resolveServer,
  ServerStartError,
  startTemporalDevServer,
  type TemporalDevServer,
} from '../../servers/index.js';
import { connectTemporal, type TemporalClient } from '../../temporal/client/connect.js';
import type { Traces } from '../../temporal/worker/open-telemetry.js';
import { createWorker } from '../../temporal/worker/worker.js';
import { clientInterceptors } from '../shared/context.js';
import { output } from '../shared/output.js';
import { installRuntime } from './runtime.js';

interface LocalTemporalOptions {
  /** For logs and, with `keepState`, the state. */
  readonly folder: string;
  /** Keep the server's state in `temporal.db`, so that the next start continues from it. */
  readonly keepState: boolean;
  readonly settings: Settings;
  readonly taskQueue: string;
  readonly traces?: Traces | null;
}

export interface LocalTemporal {
  readonly temporal: TemporalClient;
  readonly uiUrl: string | null;
  /** Rejects if the worker fails; never resolves. */
  readonly failed: Promise<never>;
  /** Drains the worker, then stops the server. */
  stop(): Promise<void>;
}

/** How long a request in flight may take to finish. Then its activity is cancelled and saves its position. */
const GRACE_MS = 5_000;
/** Longest drain of the worker. It is short if the server has ended, because no result can be reported then. */
const DRAIN_MS = 15_000;
const SERVER_GONE_DRAIN_MS = 2_000;

/**
 * Starts a Temporal server and a worker for this command.
 *
 * @throws ServerInstallError, ServerStartError
 */
export async function startLocalTemporal(options: LocalTemporalOptions): Promise<LocalTemporal> {
  const { folder, keepState, settings, taskQueue, traces = null } = options;
  ignoreConfiguredTemporal(folder);
  const { path: executable } = await resolveServer('temporal');
  const start = (database: { readonly dbFile?: string }) =>
    startTemporalDevServer({ executable, logFile: join(folder, 'temporal.log'), ...database });
  const server = keepState
    ? await startOnDatabase(folder, (dbFile) => start({ dbFile }), output.note)
    : await start({});
  try {
    installRuntime({ format: 'text', level: 'warn', file: join(folder, 'worker.log') });
    const target = { address: server.address, namespace: server.namespace };
    const worker = await createWorker({
      ...{ ...target, settings, taskQueue },
      worker: { shutdownGraceTime: GRACE_MS, ...traces?.worker },
    });
    const done = worker.run();
    const temporal = await connectTemporal({ ...target, interceptors: clientInterceptors(traces) });
    const failed = new Promise<never>((_, reject) => void done.catch(reject));
    failed.catch(() => {});
    return {
      temporal,
      uiUrl: server.uiUrl,
      failed,
      async stop() {
        worker.stop();
        await Promise.race([
          done.catch(() => {}),
          delay(isAlive(server.pid) ? DRAIN_MS : SERVER_GONE_DRAIN_MS),
        ]);
        await temporal.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Ignores the environment's address, TLS settings and API key, which are for the user's cluster and not for this server. */
function ignoreConfiguredTemporal(folder: string): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('TEMPORAL_')) delete process.env[name];
  // The SDK reads `~/.config/temporalio/temporal.toml` unless another file is set, and it cannot parse an empty one.
  const file = join(folder, 'temporal.toml');
  writeFileSync(file, '[profile.default]\n');
  process.env.TEMPORAL_CONFIG_FILE = file;
}

/** The files that SQLite keeps next to a database. */
const PARTS = ['', '-wal', '-shm', '-journal'];

/**
 * Starts a Temporal server on the database of a folder. A new database is created under another name and gets its own when
 * it is complete, so that an interrupted start leaves none that a later one cannot use. A database that the server cannot
 * use is set aside, and the server starts with a new one: the lake has the checkpoints.
 *
 * @param start starts the server on a file
 * @param note tells the user that a database was set aside
 * @throws ServerStartError
 */
export async function startOnDatabase(
  folder: string,
  start: (file: string) => Promise<TemporalDevServer>,
  note: (message: string) => void,
): Promise<TemporalDevServer> {
  const file = join(folder, 'temporal.db');
  if (!existsSync(file)) await create(file, start);
  try {
    return await start(file);
  } catch (error) {
    if (!(error instanceof ServerStartError) || error.isByMachine || !error.hasEnded) throw error;
    const aside = `${file}.unusable`;
    move(file, aside);
    try {
      await create(file, start);
    } catch (other) {
      // The database was not the reason.
      move(aside, file);
      throw other;
    }
    note(
      `Temporal could not use the state in ${file}. It was set aside as ${aside}, and the export starts with new state: the checkpoints are in the lake.`,
    );
    return start(file);
  }
}

async function create(file: string, start: (file: string) => Promise<TemporalDevServer>): Promise<void> {
  const draft = `${file}.new`;
  remove(draft);
  try {
    const server = await start(draft);
    await server.stop();
    move(draft, file);
  } finally {
    remove(draft);
  }
}

function move(from: string, to: string): void {
  remove(to);
  for (const part of PARTS) if (existsSync(from + part)) renameSync(from + part, to + part);
}

function remove(file: string): void {
  for (const part of PARTS) rmSync(file + part, { force: true });
}
