import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../../core/process-identity.js';
import type { Settings } from '../../core/settings.js';
import { resolveServer, startTemporalDevServer } from '../../servers/index.js';
import { connectTemporal, type TemporalClient } from '../../temporal/client/connect.js';
import type { Traces } from '../../temporal/worker/traces.js';
import { createWorker } from '../../temporal/worker/worker.js';
import { output } from '../shared/output.js';
import { clientInterceptors } from '../shared/traces.js';
import { installRuntime } from '../worker/runtime.js';
import { startOnDatabase } from './local-database.js';

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
