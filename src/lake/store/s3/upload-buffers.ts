/** Size of an upload part. At most two are in memory for each writer. With 10,000 parts, an object can have 78 GiB. */
export const PART_BYTES = 8 * 1024 * 1024;
/** As many as one writer uses. */
const KEPT = 2;
const KEPT_MS = 5_000;

const kept: Buffer[] = [];
let timer: NodeJS.Timeout | null = null;

/** A buffer of `PART_BYTES`. */
export function takeBuffer(): Buffer {
  return kept.pop() ?? Buffer.allocUnsafeSlow(PART_BYTES);
}

/**
 * Keeps a buffer for the next part, for some seconds. A new one costs thousands of page faults, and it makes V8 collect garbage
 * earlier. No request may use the buffer any more.
 */
export function giveBack(buffer: Buffer): void {
  if (kept.length < KEPT && !kept.includes(buffer)) kept.push(buffer);
  if (timer !== null) clearTimeout(timer);
  timer = setTimeout(() => kept.splice(0), KEPT_MS);
  timer.unref();
}
