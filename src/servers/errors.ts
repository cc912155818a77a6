import { WorktrackError } from '../core/errors.js';

/** An environment variable names a file that cannot be executed. No other source is tried, because the user chose this one. */
export class ServerEnvironmentError extends WorktrackError {
  readonly code = 'SERVER_ENVIRONMENT';

  constructor(variable: string, value: string, why: string) {
    super(
      `${variable}=${value}: ${why}. Set it to the path of an executable file, or unset it to find one automatically.`,
    );
  }
}

/** A failed attempt to find or install a server. */
export interface FailedAttempt {
  /** The source: `PATH`, `download`, `go install` and so on. */
  readonly what: string;
  readonly why: string;
}

/** A server could not be found or installed. The message lists all attempts and what to do. */
export class ServerInstallError extends WorktrackError {
  readonly code = 'SERVER_INSTALL';
  readonly attempts: readonly FailedAttempt[];

  constructor(
    spec: { readonly title: string; readonly version: string },
    attempts: readonly FailedAttempt[],
    remedies: readonly string[],
  ) {
    super(
      [
        `Could not find or install ${spec.title} ${spec.version}. Attempts:`,
        ...attempts.map(
          (attempt) => `  - ${attempt.what}: ${attempt.why.trim().replaceAll('\n', '\n      ')}`,
        ),
        'To fix this, do one of the following:',
        ...remedies.map((remedy) => `  - ${remedy}`),
      ].join('\n'),
    );
    this.attempts = attempts;
  }
}

interface StartErrorOptions extends ErrorOptions {
  readonly hasEnded?: boolean;
  /** More of the log, where the cause may be. Default: the last lines. */
  readonly log?: string;
}

/** A server did not start. The message ends with the last lines of its log. */
export class ServerStartError extends WorktrackError {
  readonly code = 'SERVER_START';
  /** Whether the server ended by itself, and did not only give no answer in time. */
  readonly hasEnded: boolean;
  /** Whether the log shows that the machine is the reason: a full disk, a permission, a limit. */
  readonly isByMachine: boolean;

  constructor(
    title: string,
    why: string,
    logFile: string,
    lastLines: string,
    options: StartErrorOptions = {},
  ) {
    const known = machineCause(`${why}\n${options.log ?? lastLines}`);
    const log = lastLines === '' ? 'Its log is empty' : `The last lines of its log:\n${lastLines}\n`;
    if (known === null) super(`${title} did not start: ${why}. ${log} (log: ${logFile})`, options);
    else super(`${title} did not start: ${known[0]} (log: ${logFile}).`, { ...options, remedy: known[1] });
    this.hasEnded = options.hasEnded ?? false;
    this.isByMachine = known !== null;
  }
}

/** What a server's log says when the machine is the reason, what it means, and what to do. */
const MACHINE_CAUSES: readonly (readonly [RegExp, string, string])[] = [
  [
    /no space left on device|(?:database or )?disk is full/i,
    'the disk is full',
    'Free some space, then run the command again.',
  ],
  [/disk quota exceeded/i, "the user's quota is used up", 'Free some space, then run the command again.'],
  [
    /read-only file system|attempt to write a readonly database/i,
    'its files are on a read-only file system',
    'Choose a writable folder.',
  ],
  [
    /permission denied|unable to open database file/i,
    'it may not read or write its files',
    'Let this user read and write the folder, or choose another one.',
  ],
  [
    /127\.0\.0\.1:\d{1,5}: (?:bind|connect): (?:network is unre|cannot assign requested add)/i,
    'the address 127.0.0.1 of this machine does not work',
    'Turn on the loopback interface: ip link set lo up.',
  ],
  [/too many open files/i, 'too many files are open', 'Raise the limit of open files (ulimit -n).'],
  [
    /cannot allocate memory|out of memory/i,
    'there is too little memory',
    'Give it more memory, or run it on a larger machine.',
  ],
];

function machineCause(log: string): readonly [string, string] | null {
  const found = MACHINE_CAUSES.find(([pattern]) => pattern.test(log));
  return found === undefined ? null : [found[1], found[2]];
}
