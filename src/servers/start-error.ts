/** A server was started and never answered. The message ends with the last lines of its log. */
export class ServerStartError extends Error {
  override readonly name = 'ServerStartError';
  readonly code = 'WORKTRACK_SERVER_START';
  readonly logFile: string;

  constructor(title: string, why: string, logFile: string, lastLines: string, options?: ErrorOptions) {
    const log =
      lastLines === '' ? 'It wrote nothing to its log' : `The last lines of its log:\n${lastLines}\n`;
    super(`${title} did not start: ${why}. ${log} (log: ${logFile})`, options);
    this.logFile = logFile;
  }
}
