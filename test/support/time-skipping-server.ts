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

/**
 * The options for `TestWorkflowEnvironment.createTimeSkipping` to start and stop an installed executable. An
 * environment created from a running server does not skip time.
 */
export function timeSkippingOptions(executable: string): {
  readonly server: { readonly executable: { readonly type: 'existing-path'; readonly path: string } };
} {
  return { server: { executable: { type: 'existing-path', path: executable } } };
}

/** How often an environment is started. Each time, the SDK waits five seconds for its server. */
const STARTS = 6;

/** Starts an environment that skips time. On a busy machine, its server may need more time than the SDK gives it. */
export async function startTimeSkipping(executable: string): Promise<TestWorkflowEnvironment> {
  for (let start = 1; ; start++) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping(timeSkippingOptions(executable));
    } catch (error) {
      if (start === STARTS || !String(error).includes('did not start within')) throw error;
    }
  }
}

export interface TimeSkippingServer extends RunningServer {
  /** `127.0.0.1:PORT`. */
  readonly address: string;
}

/** Starts the test server of `resolveServer(TEST_SERVER)` and waits until it answers. @throws ServerStartError */
export async function startTimeSkippingServer(options: ServerOptions): Promise<TimeSkippingServer> {
  return startServer(TEST_SERVER, options, (port) => {
    const address = `${loopback}:${port}`;
    return {
      args: [String(port)],
      env: process.env,
      checkReady: () => checkConnection(address),
      details: { address },
    };
  });
}

/** Connects, which calls GetSystemInfo. The test server does not implement much more. */
async function checkConnection(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 5_000 });
  await connection.close();
}
