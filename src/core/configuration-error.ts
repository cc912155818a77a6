import { WorktrackError, type WorktrackErrorOptions } from './errors.js';

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
