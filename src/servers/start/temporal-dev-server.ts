import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import type { Environment } from '../../core/home-folder.js';
import { serverSpec } from '../install/known-servers.js';
import {
  checkTimeoutMs,
  freePort,
  loopback,
  type RunningServer,
  type ServerOptions,
  startServer,
} from './start-server.js';

interface TemporalDevServerOptions extends ServerOptions {
  /** SQLite file for the state, which survives a restart, even after kill -9. Default: in memory. */
  readonly dbFile?: string | undefined;
  /** Whether to start without the web UI. */
  readonly headless?: boolean | undefined;
  /** More arguments for `temporal server start-dev`, for example `--search-attribute Name=Keyword`. */
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
 * How often per second a shard polls for due tasks, at most. The default of 20 suits a cluster with hundreds of shards. A dev
 * server has one shard, so every step of a workflow would wait up to 50 ms.
 */
const POLLS_PER_SECOND = 1000;
const QUEUES = ['transfer', 'timer', 'visibility'];
/**
 * How much later than due a timer may fire, which allows for the differences of the clocks of a cluster. The default of a
 * second would make each shorter wait of a workflow, and each retry, take a second.
 */
const TIMER_SHIFT = '1ms';

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
      `history.${queue}ProcessorMaxPollRPS=${POLLS_PER_SECOND}`,
    ]),
    '--dynamic-config-value',
    `history.timerProcessorMaxTimeShift="${TIMER_SHIFT}"`,
    ...options.extraArgs,
  ];
}

/**
 * The environment without `TEMPORAL_*`, which configure clients and would also affect the `temporal` command. The server
 * does not start without a user and a home. It looks for them only in the environment if the system has no entry for the user.
 */
export function temporalEnvironment(env: Environment): Environment {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  return { ...Object.fromEntries(others), USER: env.USER || 'worktrack', HOME: env.HOME || tmpdir() };
}

/**
 * Starts `temporal server start-dev` on loopback and waits until its namespace answers over gRPC. A restart with the
 * same `dbFile` and `port` continues with the previous state.
 *
 * @throws ServerStartError with the last lines of the log
 */
export async function startTemporalDevServer(options: TemporalDevServerOptions): Promise<TemporalDevServer> {
  const { headless, extraArgs = [] } = options;
  const namespace = 'default';
  const dbFile = options.dbFile === undefined ? null : resolve(options.dbFile);
  if (dbFile !== null) await mkdir(dirname(dbFile), { recursive: true });
  return startServer(serverSpec('temporal'), options, async (port) => {
    const uiPort = headless === true ? null : await freePort();
    const address = `${loopback}:${port}`;
    const uiUrl = uiPort === null ? null : `http://${loopback}:${uiPort}`;
    return {
      args: temporalArgs({ port, uiPort, namespace, dbFile, extraArgs }),
      env: temporalEnvironment(process.env),
      checkReady: () => checkNamespace(address, namespace),
      details: { address, port, namespace, uiUrl },
    };
  });
}

/**
 * Checks that a Temporal server serves a namespace: connects (which calls GetSystemInfo), describes the namespace and
 * lists its workflows. The list uses the namespace registry, like a worker's first poll, so that a new namespace is
 * ready for workers when this function resolves.
 */
async function checkNamespace(address: string, namespace: string): Promise<void> {
  // The server is on this machine, where no proxy leads.
  const channelArgs = { 'grpc.enable_http_proxy': 0 };
  const connection = await Connection.connect({ address, connectTimeout: checkTimeoutMs, channelArgs });
  try {
    await connection.withDeadline(Date.now() + checkTimeoutMs, async () => {
      await connection.workflowService.describeNamespace({ namespace });
      await connection.workflowService.listWorkflowExecutions({ namespace, pageSize: 1 });
    });
  } finally {
    await connection.close();
  }
}
