import { WorktrackError } from '../../core/errors.js';

/** The command line is not valid. A message that ends with a period says what to do; to any other, a hint is added. */
export class UsageError extends WorktrackError {
  readonly code = 'USAGE';

  constructor(message: string) {
    const remedy = message.endsWith('.') ? null : 'Add --help to the command to see its options.';
    super(message, { remedy });
  }
}

/** The user pressed Ctrl-C: the command ends, but the run in Temporal continues. */
export class DetachedError extends WorktrackError {
  readonly code = 'DETACHED';
}

/** Runs a rule whose RangeError is the user's mistake, such as a lake that an engine cannot read. @throws UsageError */
export function orUsageError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(error.message);
  }
}
