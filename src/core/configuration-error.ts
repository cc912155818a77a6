export interface ConfigurationErrorOptions {
  /** Where in the configuration file, `connections.acme.apiKey`, or as much of that as is known. */
  readonly path?: string | null | undefined;
  /** What to do about it, one sentence. */
  readonly remedy?: string | null | undefined;
  readonly cause?: unknown;
}

/**
 * Something that only a person can put right by changing the configuration or the worker's environment (DESIGN 3.12,
 * exit code 2). The message never holds the value of a secret.
 */
export class ConfigurationError extends Error {
  static {
    // On the prototype, so that stack traces carry it and `inspect` does not repeat it.
    ConfigurationError.prototype.name = 'ConfigurationError';
  }
  readonly code = 'CONFIGURATION';
  readonly path: string | null;
  readonly remedy: string | null;

  constructor(message: string, options: ConfigurationErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.path = options.path ?? null;
    this.remedy = options.remedy ?? null;
  }
}
