import { Connection } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ServerSpec } from '../../src/servers/install/server-spec.js';
import {
  loopback,
  type RunningServer,
  type ServerOptions,
  startServer,
} from '../../src/servers/start/start-server.js';
import { mavenInstaller } from './maven-install.js';

/** The time-skipping server. Only tests use it. */
export const TEST_SERVER: ServerSpec = {
  title: 'Temporal time-skipping test server',
  version: '1.32.1',
  variable: 'WORKTRACK_TEST_SERVER',
  command: 'temporal-test-server',
  probeArgs: null,
  release: {
    repository: 'temporalio/sdk-java',
    file: (version, { platform, cpu }) =>
      `temporal-test-server_${version}_${platform === 'linux' ? 'linux' : 'macOS'}_${cpu}.tar.gz`,
    // The releases have no list of checksums. These are from a public Nix package for the same version.
    digests: {
      'temporal-test-server_1.32.1_linux_amd64.tar.gz':
        '987f375a8d4290a8378a998dccfaba6b31b3b99ad3757af283c6955a6afd829f',
      'temporal-test-server_1.32.1_linux_arm64.tar.gz':
        'd8d56ef74e450f9cdbbfe6570e34b8167651dfdff3590d592619dab446055b17',
      'temporal-test-server_1.32.1_macOS_amd64.tar.gz':
        '26601c8b27c9834cb3ffd17bd63bf90126b38dcf308dbccdfb2667fb92aacaf8',
      'temporal-test-server_1.32.1_macOS_arm64.tar.gz':
        '85edd53045910bec350dd0d9afbffc56797fa33810a5a07763f3a14a8e9300a3',
    },
  },
  installer: mavenInstaller,
};

/** What the SDK starts in place of the server. It gets the port as its argument, and does nothing for so many seconds. */
const STAND_IN = '/bin/sleep';

/**
 * Starts an environment that skips time. The SDK gives a server five seconds to start, which a busy machine exceeds, and an environment
 * created from a running server does not skip time. So the server runs already when the SDK believes that it starts one.
 */
export async function startTimeSkipping(executable: string): Promise<TestWorkflowEnvironment> {
  const server = await startTimeSkippingServer({ executable });
  try {
    const env = await TestWorkflowEnvironment.createTimeSkipping({
      server: {
        executable: { type: 'existing-path', path: STAND_IN },
        port: server.port,
      },
    });
    const teardown = env.teardown.bind(env);
    return Object.assign(env, {
      async teardown() {
        await teardown();
        await server.stop();
      },
    });
  } catch (error) {
    await server.stop();
    throw error;
  }
}

export interface TimeSkippingServer extends RunningServer {
  /** `127.0.0.1:PORT`. */
  readonly address: string;
  readonly port: number;
}

/** Starts the test server of `resolveServer(TEST_SERVER)` and waits until it answers. @throws ServerStartError */
export async function startTimeSkippingServer(options: ServerOptions): Promise<TimeSkippingServer> {
  return startServer(TEST_SERVER, options, (port) => {
    const address = `${loopback}:${port}`;
    return {
      args: [String(port)],
      env: process.env,
      checkReady: () => checkConnection(address),
      details: { address, port },
    };
  });
}

/** Connects, which calls GetSystemInfo. The test server does not implement much more. */
async function checkConnection(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 5_000 });
  await connection.close();
}
