import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Settings } from '../core/settings.js';
import { resolveServer, startTemporalDevServer } from '../servers/index.js';
import { connectTemporal, type TemporalClient } from '../temporal/connect.js';
import type { Traces } from '../temporal/traces.js';
import { createWorker } from '../temporal/worker.js';
import { installRuntime } from './runtime.js';
import { clientInterceptors } from './traces.js';

export interface LocalTemporalOptions {
  /** For logs and, where it is kept, the state. */
  readonly folder: string;
  /** Keep the server's state in `temporal.db`, so that the next start goes on where this one ended. */
  readonly keepState: boolean;
  readonly settings: Settings;
  readonly taskQueue: string;
  readonly traces?: Traces | null;
}

export interface LocalTemporal {
  readonly temporal: TemporalClient;
  readonly uiUrl: string | null;
  /** Rejects when the worker fails; never resolves before `stop`. */
  readonly failed: Promise<never>;
  /** Drains the worker, then ends the server. */
  stop(): Promise<void>;
}

/** Longest drain of the worker; short where the server is gone, to which it could tell nothing any more. */
const DRAIN_MS = 15_000;
const LOST_DRAIN_MS = 2_000;

/**
 * A Temporal server and a worker of this command's own.
 *
 * @throws ServerInstallError, ServerStartError
 */
export async function startLocalTemporal(options: LocalTemporalOptions): Promise<LocalTemporal> {
  const { folder, keepState, settings, taskQueue, traces = null } = options;
  leaveConfiguredTemporal(folder);
  const { path: executable } = await resolveServer('temporal');
  const server = await startTemporalDevServer({
    executable,
    logFile: join(folder, 'temporal.log'),
    ...(keepState ? { dbFile: join(folder, 'temporal.db') } : {}),
  });
  try {
    installRuntime({ format: 'text', level: 'warn', file: join(folder, 'worker.log') });
    const place = { address: server.address, namespace: server.namespace };
    const worker = await createWorker({
      ...{ ...place, settings, taskQueue },
      ...(traces === null ? {} : { worker: traces.worker }),
    });
    const done = worker.run();
    const temporal = await connectTemporal({ ...place, interceptors: clientInterceptors(traces) });
    const failed = new Promise<never>((_, reject) => void done.catch(reject));
    failed.catch(() => {});
    return {
      temporal,
      uiUrl: server.uiUrl,
      failed,
      async stop() {
        worker.stop();
        await Promise.race([done.catch(() => {}), delay(isAlive(server.pid) ? DRAIN_MS : LOST_DRAIN_MS)]);
        await temporal.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** A terminal's Ctrl-C goes to the server as well as to us. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The user's own cluster has its address, TLS and API key in the environment; none of them fits our server. */
function leaveConfiguredTemporal(folder: string): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('TEMPORAL_')) delete process.env[name];
  // The SDK reads `~/.config/temporalio/temporal.toml` unless it is named another file, and stumbles over an empty one.
  const file = join(folder, 'temporal.toml');
  writeFileSync(file, '[profile.default]\n');
  process.env.TEMPORAL_CONFIG_FILE = file;
}
