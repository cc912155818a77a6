/** An environment variable names an executable that cannot be taken. Nothing else is tried: it was asked for by name. */
export class ServerEnvironmentError extends Error {
  override readonly name = 'ServerEnvironmentError';
  readonly code = 'WORKTRACK_SERVER_ENVIRONMENT';
  readonly variable: string;

  constructor(variable: string, value: string, why: string) {
    super(
      `${variable}=${value}: ${why}. Set it to the path of an executable file, or unset it to let one be found.`,
    );
    this.variable = variable;
  }
}
