import { closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';

/** What an idempotency key was answered with, as it is remembered. */
export interface RememberedResult {
  readonly key: string;
  /** SHA-256 of the request's body, hex. */
  readonly bodyHash: string;
  /** The body of the original response. */
  readonly body: string;
  /** Service clock, ms since 1970. */
  readonly at: number;
}

/** One line of the state file. */
export type JournalEntry =
  | { readonly op: 'start'; readonly epoch: number; readonly seed: number }
  | {
      readonly op: 'put';
      readonly organization: string;
      readonly resource: string;
      readonly id: string;
      readonly text: string;
      readonly updatedAt: number;
      readonly deleted: boolean;
      /** In the same line as the record, so that a kill never parts the two. */
      readonly idempotency?: RememberedResult;
    };

/**
 * The append-only log that lets the simulator outlive `kill -9`: each write is in the file before it is answered. A killed
 * process loses nothing that it handed to the system, so there is no fsync per write.
 */
export class Journal {
  readonly #file: number;

  /** Opens or makes `path`; call `readJournal` before. */
  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  append(entry: JournalEntry): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
  }

  close(): void {
    fsyncSync(this.#file);
    closeSync(this.#file);
  }
}

/** The entries of a state file; a torn last line is cut off, as its write was never answered. */
export function readJournal(path: string): JournalEntry[] {
  if (!existsSync(path)) return [];
  const bytes = readFileSync(path);
  const whole = bytes.lastIndexOf(0x0a) + 1;
  if (whole < bytes.length) truncateSync(path, whole);
  const lines = bytes.toString('utf8', 0, whole).split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as JournalEntry);
}
