/** The command line itself is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Somebody pressed Ctrl-C: the command ends, what runs in Temporal goes on. */
export class DetachedError extends Error {
  override readonly name = 'DetachedError';
}
