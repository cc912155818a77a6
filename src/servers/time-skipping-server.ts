import { serverSpec } from './kinds.js';
import { logFileOr } from './log-file.js';
import { freePort, loopback } from './ports.js';
import { type RunningServer, type ServerOptions, startServer } from './start-server.js';
import { askSystemInfo } from './temporal-client.js';

/**
 * The options with which `TestWorkflowEnvironment.createTimeSkipping` starts and stops an executable found here. This
 * is the way to skip time: an environment made from a running server does not skip.
 */
export function timeSkippingOptions(executable: string): {
  readonly server: { readonly executable: { readonly type: 'existing-path'; readonly path: string } };
} {
  return { server: { executable: { type: 'existing-path', path: executable } } };
}

/** The executable is the one of `resolveServer('test-server')`. */
export type TimeSkippingServerOptions = ServerOptions;

export interface TimeSkippingServer extends RunningServer {
  /** `127.0.0.1:PORT`. */
  readonly address: string;
}

/**
 * Starts the test server by itself and waits until it answers over gRPC, for those who bring their own client.
 *
 * @throws ServerStartError with the last lines of the log
 */
export async function startTimeSkippingServer(
  options: TimeSkippingServerOptions,
): Promise<TimeSkippingServer> {
  const { title } = serverSpec('test-server');
  const logFile = logFileOr(options.logFile, 'test-server');
  return startServer<TimeSkippingServer>({
    title,
    fixedPort: options.port,
    signal: options.signal,
    logFile,
    async plan() {
      const port = options.port ?? (await freePort());
      const address = `${loopback}:${port}`;
      return {
        command: { executable: options.executable, args: [String(port)], env: process.env, logFile },
        ask: () => askSystemInfo(address),
        result: ({ pid, stop, kill }) => ({ address, pid, logFile, stop, kill }),
      };
    },
  });
}
