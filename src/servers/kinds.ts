/** The three servers that this project runs beside itself, with the versions it was tried with. */
export type ServerKind = 'temporal' | 'test-server' | 'versitygw';

export interface ServerSpec {
  readonly kind: ServerKind;
  /** How people call it, for progress lines and errors. */
  readonly title: string;
  readonly version: string;
  /** The environment variable that names an executable to be taken as it is. */
  readonly variable: string;
  /** The executable's file name, on PATH and in the cache. */
  readonly command: string;
  /** Arguments that make the executable answer and leave; null where it knows none. */
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

/** Every kind, in the order in which they are resolved. */
export const serverKinds: readonly ServerKind[] = ['temporal', 'test-server', 'versitygw'];

/** What is known of a server before it is looked for. */
export function serverSpec(kind: ServerKind): ServerSpec {
  return specs[kind];
}

/** Narrows a word from a command line to a server's name. */
export function isServerKind(word: string): word is ServerKind {
  return Object.hasOwn(specs, word);
}
