/** The servers that this project uses. */
export type ServerKind = 'temporal' | 'test-server' | 'versitygw';

export interface ServerSpec {
  readonly kind: ServerKind;
  /** Name in progress lines and errors. */
  readonly title: string;
  /** The tested version. */
  readonly version: string;
  /** The environment variable with the path of an executable to use. */
  readonly variable: string;
  /** File name of the executable on PATH and in the cache. */
  readonly command: string;
  /** Arguments with which the executable prints something and exits; null if there are none. */
  readonly probeArgs: readonly string[] | null;
}

const specs: Readonly<Record<ServerKind, ServerSpec>> = {
  temporal: {
    kind: 'temporal',
    title: 'Temporal dev server',
    version: '1.5.1',
    variable: 'WORKTRACK_TEMPORAL_CLI',
    command: 'temporal',
    probeArgs: ['--version'],
  },
  'test-server': {
    kind: 'test-server',
    title: 'Temporal time-skipping test server',
    version: '1.32.1',
    variable: 'WORKTRACK_TEST_SERVER',
    command: 'temporal-test-server',
    probeArgs: null,
  },
  versitygw: {
    kind: 'versitygw',
    title: 'S3 server versitygw',
    version: '1.8.0',
    variable: 'WORKTRACK_VERSITYGW',
    command: 'versitygw',
    probeArgs: ['--version'],
  },
};

/** All kinds, in the order in which they are resolved. */
export const serverKinds: readonly ServerKind[] = ['temporal', 'test-server', 'versitygw'];

export function serverSpec(kind: ServerKind): ServerSpec {
  return specs[kind];
}

/** Whether a command-line argument is the name of a server. */
export function isServerKind(word: string): word is ServerKind {
  return Object.hasOwn(specs, word);
}
