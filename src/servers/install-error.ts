import type { ServerSpec } from './kinds.js';

/** One way of having a server that was tried, and why it gave none. */
export interface FailedAttempt {
  /** What was tried: `PATH`, `download`, `go install` and so on. */
  readonly what: string;
  readonly why: string;
}

/** No way of having the server worked. The message lists every attempt and ends with the remedies. */
export class ServerInstallError extends Error {
  override readonly name = 'ServerInstallError';
  readonly code = 'WORKTRACK_SERVER_INSTALL';
  readonly attempts: readonly FailedAttempt[];

  constructor(spec: ServerSpec, attempts: readonly FailedAttempt[], remedies: readonly string[]) {
    super(
      [
        `${spec.title} ${spec.version} could not be found or installed. Tried, in this order:`,
        ...attempts.map(
          (attempt) => `  - ${attempt.what}: ${attempt.why.trim().replaceAll('\n', '\n      ')}`,
        ),
        'To mend it, do one of these:',
        ...remedies.map((remedy) => `  - ${remedy}`),
      ].join('\n'),
    );
    this.attempts = attempts;
  }
}
