/** Something in the lake is not what was written there, or would not be: another attempt finds the same. */
export class DamagedError extends Error {
  static {
    // On the prototype, so that stack traces carry it and `inspect` does not repeat it.
    DamagedError.prototype.name = 'DamagedError';
  }
}
