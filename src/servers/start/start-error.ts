import { WorktrackError } from '../../core/errors.js';

/** A server did not start. The message ends with the last lines of its log. */
export class ServerStartError extends WorktrackError {
  readonly code = 'SERVER_START';
  readonly logFile: string;

  constructor(title: string, why: string, logFile: string, lastLines: string, options?: ErrorOptions) {
    const log = lastLines === '' ? 'Its log is empty' : `The last lines of its log:\n${lastLines}\n`;
    super(`${title} did not start: ${why}. ${log} (log: ${logFile})`, options);
    this.logFile = logFile;
  }
}
