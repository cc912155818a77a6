import { WorktrackError } from '../core/errors.js';

/** An environment variable names a file that cannot be executed. No other source is tried, because the user chose this one. */
export class ServerEnvironmentError extends WorktrackError {
  readonly code = 'SERVER_ENVIRONMENT';
  readonly variable: string;

  constructor(variable: string, value: string, why: string) {
    super(
      `${variable}=${value}: ${why}. Set it to the path of an executable file, or unset it to find one automatically.`,
    );
    this.variable = variable;
  }
}
