import { goInstaller } from './go-install.js';
import type { BuildInstaller } from './install-context.js';
import type { Release } from './releases.js';

/** The servers of the demo and of `export --local`. */
export type ServerKind = 'temporal' | 'versitygw';

/** How to find, install and probe a server. */
export interface ServerSpec {
  /** Name in progress lines and errors. */
  readonly title: string;
  /** The tested version. */
  readonly version: string;
  /** The environment variable with the path of an executable to use. */
  readonly variable: string;
  /** File name of the executable on PATH and in the cache. */
  readonly command: string;
  /** Arguments that make the executable print something and exit; null if there are none. */
  readonly probeArgs: readonly string[] | null;
  readonly release: Release;
  /** Installs the server if its release cannot be downloaded. */
  readonly installer: BuildInstaller;
}

const specs: Readonly<Record<ServerKind, ServerSpec>> = {
  temporal: {
    title: 'Temporal dev server',
    version: '1.5.1',
    variable: 'WORKTRACK_TEMPORAL_CLI',
    command: 'temporal',
    probeArgs: ['--version'],
    release: {
      repository: 'temporalio/cli',
      file: (version, { platform, cpu }) => `temporal_cli_${version}_${platform}_${cpu}.tar.gz`,
    },
    installer: goInstaller({
      package: 'github.com/temporalio/cli/cmd/temporal',
      // Same as the official builds. Without it, the CLI reports version 0.0.0-DEV.
      versionVariable: 'github.com/temporalio/cli/temporalcli.Version',
      needsGo: '1.25',
    }),
  },
  versitygw: {
    title: 'S3 server versitygw',
    version: '1.8.0',
    variable: 'WORKTRACK_VERSITYGW',
    command: 'versitygw',
    probeArgs: ['--version'],
    release: {
      repository: 'versity/versitygw',
      file: (version, { platform, cpu }) =>
        `versitygw_v${version}_${platform === 'linux' ? 'Linux' : 'Darwin'}_${cpu === 'amd64' ? 'x86_64' : cpu}.tar.gz`,
    },
    installer: goInstaller({
      package: 'github.com/versity/versitygw/cmd/versitygw',
      versionVariable: 'main.Version',
      needsGo: '1.25',
    }),
  },
};

/** All kinds, in the order they are resolved. */
export const serverKinds: readonly ServerKind[] = ['temporal', 'versitygw'];

export function serverSpec(kind: ServerKind): ServerSpec {
  return specs[kind];
}

/** Whether a command-line argument is the name of a server. */
export function isServerKind(word: string): word is ServerKind {
  return Object.hasOwn(specs, word);
}
