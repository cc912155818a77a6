import { Connection } from '@temporalio/client';
import { serverSpec } from '../../src/servers/index.js';
import { freePort, loopback } from '../../src/servers/start/ports.js';
import {
  logFileOr,
  type RunningServer,
  type ServerOptions,
  startServer,
} from '../../src/servers/start/start-server.js';

/**
 * The options with which `TestWorkflowEnvironment.createTimeSkipping` starts and stops an installed executable. An
 * environment created from a running server does not skip time.
 */
export function timeSkippingOptions(executable: string): {
  readonly server: { readonly executable: { readonly type: 'existing-path'; readonly path: string } };
} {
  return { server: { executable: { type: 'existing-path', path: executable } } };
}

export interface TimeSkippingServer extends RunningServer {
  /** `127.0.0.1:PORT`. */
  readonly address: string;
}

/** Starts the test server of `resolveServer('test-server')` and waits until it answers. @throws ServerStartError */
export async function startTimeSkippingServer(options: ServerOptions): Promise<TimeSkippingServer> {
  const logFile = logFileOr(options.logFile, 'test-server');
  return startServer<TimeSkippingServer>({
    title: serverSpec('test-server').title,
    fixedPort: options.port,
    signal: options.signal,
    logFile,
    async plan() {
      const port = options.port ?? (await freePort());
      const address = `${loopback}:${port}`;
      return {
        command: { executable: options.executable, args: [String(port)], env: process.env, logFile },
        checkReady: () => checkConnection(address),
        result: ({ pid, stop, kill }) => ({ address, pid, logFile, stop, kill }),
      };
    },
  });
}

/** Connects, which calls GetSystemInfo. The test server does not implement much more. */
async function checkConnection(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 5_000 });
  await connection.close();
}
