interface ConfigurationErrorOptions {
  /** Path in the configuration file, such as `connections.acme.apiKey`, as far as it is known. */
  readonly path?: string | null | undefined;
  /** How to fix it, in one sentence. */
  readonly remedy?: string | null | undefined;
  readonly cause?: unknown;
}

/**
 * An error in the configuration or in the worker's environment, which only a person can fix
 * (docs/explanation/semantics.md#errors, exit code 2). The message never contains the value of a secret.
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
