import { WorktrackError } from '../../core/errors.js';
import type { ServerSpec } from './kinds.js';

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

  constructor(spec: ServerSpec, attempts: readonly FailedAttempt[], remedies: readonly string[]) {
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
