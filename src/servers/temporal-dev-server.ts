import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Environment } from './cache.js';
import { serverSpec } from './kinds.js';
import { logFileOr } from './log-file.js';
import { freePort, loopback } from './ports.js';
import { type RunningServer, type ServerOptions, startServer } from './start-server.js';
import { askNamespace } from './temporal-client.js';

/** The executable is the one of `resolveServer('temporal')`. */
export interface TemporalDevServerOptions extends ServerOptions {
  /** SQLite file for state that survives a restart, even after kill -9; without it everything is kept in memory. */
  readonly dbFile?: string | undefined;
  /** Created at start. Default: `default`. */
  readonly namespace?: string | undefined;
  /** Port of the web UI. Default: a free one. */
  readonly uiPort?: number | undefined;
  /** `true` leaves the web UI out. */
  readonly headless?: boolean | undefined;
  /** More arguments for `temporal server start-dev`, for instance `--search-attribute Name=Keyword`. */
  readonly extraArgs?: readonly string[] | undefined;
}

export interface TemporalDevServer extends RunningServer {
  /** `127.0.0.1:PORT`, for `Connection.connect`. */
  readonly address: string;
  readonly port: number;
  readonly namespace: string;
  readonly uiUrl: string | null;
}

/**
 * How often a shard looks for tasks that are due, times a second at most. The default is 20, which suits a cluster with
 * hundreds of shards; a dev server has one, where each step of a workflow would wait for a tick of 50 ms.
 */
const POLLS_A_SECOND = 1000;
const QUEUES = ['transfer', 'timer', 'visibility'];

/** The arguments of `temporal` for one start. */
export function temporalArgs(options: {
  readonly port: number;
  readonly uiPort: number | null;
  readonly namespace: string;
  readonly dbFile: string | null;
  readonly extraArgs: readonly string[];
}): string[] {
  return [
    'server',
    'start-dev',
    '--ip',
    loopback,
    '--port',
    String(options.port),
    ...(options.uiPort === null ? ['--headless'] : ['--ui-port', String(options.uiPort)]),
    '--namespace',
    options.namespace,
    ...(options.dbFile === null ? [] : ['--db-filename', options.dbFile]),
    '--log-level',
    'warn',
    ...QUEUES.flatMap((queue) => [
      '--dynamic-config-value',
      `history.${queue}ProcessorMaxPollRPS=${POLLS_A_SECOND}`,
    ]),
    ...options.extraArgs,
  ];
}

/** The host's environment without `TEMPORAL_*`: those settings are for its clients and would bend the server's command. */
export function temporalEnvironment(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

/**
 * Starts `temporal server start-dev` on loopback and waits until its namespace answers over gRPC. A restart with the
 * same `dbFile` and `port` goes on where the last one ended.
 *
 * @throws ServerStartError with the last lines of the log
 */
export async function startTemporalDevServer(options: TemporalDevServerOptions): Promise<TemporalDevServer> {
  const { title } = serverSpec('temporal');
  const namespace = options.namespace ?? 'default';
  const logFile = logFileOr(options.logFile, 'temporal');
  const dbFile = options.dbFile === undefined ? null : resolve(options.dbFile);
  if (dbFile !== null) await mkdir(dirname(dbFile), { recursive: true });
  return startServer<TemporalDevServer>({
    title,
    fixedPort: options.port,
    signal: options.signal,
    logFile,
    async plan() {
      const port = options.port ?? (await freePort());
      const uiPort = options.headless === true ? null : (options.uiPort ?? (await freePort()));
      const address = `${loopback}:${port}`;
      const args = temporalArgs({ port, uiPort, namespace, dbFile, extraArgs: options.extraArgs ?? [] });
      return {
        command: { executable: options.executable, args, env: temporalEnvironment(process.env), logFile },
        ask: () => askNamespace(address, namespace),
        result: ({ pid, stop, kill }) => ({
          address,
          port,
          namespace,
          uiUrl: uiPort === null ? null : `http://${loopback}:${uiPort}`,
          pid,
          logFile,
          stop,
          kill,
        }),
      };
    },
  });
}
