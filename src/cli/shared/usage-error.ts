/** The command line is not valid. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The user pressed Ctrl-C: the command ends, but the run in Temporal continues. */
export class DetachedError extends Error {
  override readonly name = 'DetachedError';
}
