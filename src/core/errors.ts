import type { FailureType } from './contract/index.js';
import { EXIT, type ExitCode } from './exit-code.js';
import { redactKnown } from './known-secrets.js';

/**
 * The codes of all errors (docs/reference/exit-codes.md#error-codes). `exitCode`: of a command that ends with the error.
 * `failureType`: of the failure that an activity reports to Temporal; `null` for errors that only commands throw.
 */
export const ERROR_CODES = {
  CONFIGURATION: { exitCode: EXIT.usage, failureType: 'Configuration' },
  INVALID_ARGUMENT: { exitCode: EXIT.usage, failureType: 'Configuration' },
  USAGE: { exitCode: EXIT.usage, failureType: null },
  DETACHED: { exitCode: EXIT.detached, failureType: null },
  OUT_OF_REACH: { exitCode: EXIT.outOfReach, failureType: 'Transient' },
  SERVICE_REFUSED: { exitCode: EXIT.refused, failureType: 'Refused' },
  SERVICE_TRANSIENT: { exitCode: EXIT.failed, failureType: 'Transient' },
  SERVICE_BROKEN_PROMISE: { exitCode: EXIT.failed, failureType: 'BrokenPromise' },
  SERVICE_BODY_TOO_LARGE: { exitCode: EXIT.failed, failureType: 'BrokenPromise' },
  SERVICE_NOT_FOUND: { exitCode: EXIT.failed, failureType: 'BrokenPromise' },
  SERVICE_REJECTED: { exitCode: EXIT.failed, failureType: 'BrokenPromise' },
  STORE_ACCESS_DENIED: { exitCode: EXIT.usage, failureType: 'Lake' },
  STORE_MISSING_BUCKET: { exitCode: EXIT.usage, failureType: 'Lake' },
  STORE_BAD_CREDENTIALS: { exitCode: EXIT.usage, failureType: 'Lake' },
  STORE_INVALID_KEY: { exitCode: EXIT.usage, failureType: 'Lake' },
  // A retry can succeed: the AWS SDK learns the clock difference from the response and uses it for the next request.
  STORE_CLOCK_SKEW: { exitCode: EXIT.usage, failureType: 'Transient' },
  // A retry can succeed: the credentials are read again.
  STORE_EXPIRED_CREDENTIALS: { exitCode: EXIT.usage, failureType: 'Transient' },
  STORE_UNREACHABLE: { exitCode: EXIT.failed, failureType: 'Transient' },
  STORE_THROTTLED: { exitCode: EXIT.failed, failureType: 'Transient' },
  // A retry succeeds once there is space.
  STORE_FULL: { exitCode: EXIT.failed, failureType: 'Transient' },
  STORE_CHECKSUM: { exitCode: EXIT.failed, failureType: 'Transient' },
  STORE_UNCLEAR: { exitCode: EXIT.failed, failureType: 'Transient' },
  STORE_UPLOAD_GONE: { exitCode: EXIT.failed, failureType: 'Transient' },
  STORE_DAMAGED: { exitCode: EXIT.failed, failureType: 'Lake' },
  STORE_ARCHIVED: { exitCode: EXIT.failed, failureType: 'Lake' },
  STORE_NOT_FOUND: { exitCode: EXIT.failed, failureType: 'Lake' },
  STORE_OTHER: { exitCode: EXIT.failed, failureType: 'Lake' },
  LAKE_LAYOUT: { exitCode: EXIT.usage, failureType: 'Configuration' },
  LAKE_DAMAGED: { exitCode: EXIT.failed, failureType: 'Lake' },
  LAKE_TOO_LARGE: { exitCode: EXIT.failed, failureType: 'Lake' },
  LAKE_WRITE_TOO_LARGE: { exitCode: EXIT.failed, failureType: 'Check' },
  RUN_FAILED: { exitCode: EXIT.failed, failureType: null },
  RUN_REFUSED: { exitCode: EXIT.refused, failureType: null },
  RUN_CANCELLED: { exitCode: EXIT.failed, failureType: null },
  WRITE_BACK_INCOMPLETE: { exitCode: EXIT.failed, failureType: null },
  SNAPSHOT_NOT_FOUND: { exitCode: EXIT.usage, failureType: null },
  QUERY: { exitCode: EXIT.usage, failureType: null },
  SYSTEM: { exitCode: EXIT.failed, failureType: null },
  SERVER_ENVIRONMENT: { exitCode: EXIT.usage, failureType: null },
  SERVER_INSTALL: { exitCode: EXIT.failed, failureType: null },
  SERVER_START: { exitCode: EXIT.failed, failureType: null },
} as const satisfies Record<string, { exitCode: ExitCode; failureType: FailureType | null }>;

export type ErrorCode = keyof typeof ERROR_CODES;

interface WorktrackErrorOptions {
  /** What to do next, as a sentence, if the message does not say it. */
  readonly remedy?: string | null | undefined;
  readonly cause?: unknown;
}

/**
 * Base of the errors of this package. `code` is stable; the message is not.
 *
 * @example
 * try {
 *   await readPublished(store, 'tasks');
 * } catch (error) {
 *   if (!(error instanceof WorktrackError)) throw error;
 *   if (error.code === 'SNAPSHOT_NOT_FOUND') return null;
 *   console.error(error.code, error.describe());
 *   process.exitCode = error.exitCode;
 * }
 */
export abstract class WorktrackError extends Error {
  abstract readonly code: ErrorCode;
  readonly remedy: string | null;

  constructor(message: string, { remedy, cause }: WorktrackErrorOptions = {}) {
    // The words of a service or library may repeat a secret.
    super(redactKnown(message), cause === undefined ? undefined : { cause });
    this.remedy = remedy === undefined || remedy === null ? null : redactKnown(remedy);
  }

  /** The name of the class. A getter of the prototype, so that stack traces show it and `inspect` does not repeat it. */
  override get name(): string {
    return this.constructor.name;
  }

  /** The exit code of a command that ends with this error (docs/reference/exit-codes.md). */
  get exitCode(): ExitCode {
    return ERROR_CODES[this.code].exitCode;
  }

  /** The type of the failure that an activity reports to Temporal; `null` for an error that only commands throw. */
  get failureType(): FailureType | null {
    return ERROR_CODES[this.code].failureType;
  }

  /** Whether the same call can succeed later without action by a person. */
  get retryable(): boolean {
    return this.failureType === 'Transient';
  }

  /** The message and what to do next. */
  describe(separator = ' '): string {
    return this.remedy === null ? this.message : `${this.message}${separator}${this.remedy}`;
  }
}

/** The message of anything that can be thrown, without the secrets that this process has read. */
export function errorMessage(error: unknown): string {
  return redactKnown(error instanceof Error ? error.message : String(error));
}

/** Whether an abort signal has ended a call of Node. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/**
 * An argument of a function of this package is not valid. Nothing was started or changed.
 *
 * @example
 * try {
 *   await startBackfill(temporal, { connection: 'acme', since: 'yesterday' });
 * } catch (error) {
 *   if (error instanceof InvalidArgumentError) console.error(error.argument, error.message);
 * }
 */
export class InvalidArgumentError extends WorktrackError {
  readonly code = 'INVALID_ARGUMENT';
  /** The name of the argument or field. */
  readonly argument: string;

  constructor(argument: string, problem: string, remedy: string | null = null) {
    super(`${argument} ${problem}.`, { remedy });
    this.argument = argument;
  }
}

interface ConfigurationErrorOptions extends WorktrackErrorOptions {
  /** Path in the configuration file, such as `connections.acme.apiKey`, as far as it is known. */
  readonly path?: string | null | undefined;
}

/**
 * An error in the configuration or in the worker's environment, which only a person can fix
 * (docs/explanation/guarantees.md#errors, exit code 2). The message never contains the value of a secret.
 */
export class ConfigurationError extends WorktrackError {
  readonly code = 'CONFIGURATION';
  readonly path: string | null;

  constructor(message: string, options: ConfigurationErrorOptions = {}) {
    super(message, options);
    this.path = options.path ?? null;
  }
}
