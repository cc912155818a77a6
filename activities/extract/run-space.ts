/**
 * The memory that long runs of unordered rows may take in this process, whatever the number of extractions. An extraction
 * that gets none stages smaller chunks, which costs a merge more time but changes no result.
 */
export class RunSpace {
  #left: number;

  /** @param bytes for all runs together */
  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Takes space for one run. Returns false if not enough is left. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}

/** Two runs of two extractions: one run fills while the other is staged. */
const PROCESS_BYTES = 64 * 1024 * 1024;

/** The space of this process: all its workers share it. */
export const runSpace = new RunSpace(PROCESS_BYTES);
