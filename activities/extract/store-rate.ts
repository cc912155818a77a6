/** The rate of a near store, in bytes per second. */
const NEAR_BYTES_PER_SECOND = 8 * 1024 * 1024;
/** A smaller chunk does not show the rate of a store: its upload ends before the store has answered once. */
const RATED_BYTES = 2 * 1024 * 1024;

/**
 * Whether a store took an uncompressed chunk so slowly that the next ones are to be compressed. Their merge compresses the
 * rows once more, so with a near store, compressing them before would only cost CPU time.
 */
export function isFar(bytes: number, ms: number): boolean {
  return bytes >= RATED_BYTES && (1000 * bytes) / ms < NEAR_BYTES_PER_SECOND;
}
