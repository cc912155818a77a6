import { closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';

/** The stored response to a request with an idempotency key. */
export interface StoredResponse {
  readonly key: string;
  /** SHA-256 of the request body, hex. */
  readonly bodyHash: string;
  /** The body of the original response. */
  readonly body: string;
  /** Service clock, ms since 1970. */
  readonly at: number;
}

/** One line of the state file. */
export type JournalEntry =
  | { readonly op: 'start'; readonly epoch: number; readonly seed: number }
  | JournaledChange;

/** The new state of one record. */
export interface JournaledChange {
  readonly op: 'put';
  readonly organization: string;
  readonly resource: string;
  readonly id: string;
  readonly text: string;
  readonly updatedAt: number;
  readonly deleted: boolean;
  /** In the same line as the record, so that a crash cannot separate the two. */
  readonly idempotency?: StoredResponse | undefined;
}

/**
 * The append-only log that keeps the data after `kill -9`: each write is in the file before its response is sent. The
 * operating system keeps the written data of a killed process, so there is no fsync per write.
 */
export class Journal {
  readonly #file: number;

  /** Opens or creates `path`. Call `readJournal` first. */
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

/** Reads the entries of a state file. Removes an incomplete last line, whose write had no response. */
export function readJournal(path: string): JournalEntry[] {
  if (!existsSync(path)) return [];
  const bytes = readFileSync(path);
  const complete = bytes.lastIndexOf(0x0a) + 1;
  if (complete < bytes.length) truncateSync(path, complete);
  const lines = bytes.toString('utf8', 0, complete).split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as JournalEntry);
}

/** Stores the responses to creates with an Idempotency-Key, per organization (docs/service-api.md#requests). */
export class IdempotencyStore {
  #results = new Map<string, StoredResponse>();

  add(organization: string, result: StoredResponse): void {
    this.#results.set(JSON.stringify([organization, result.key]), result);
  }

  /** The original response, unless it is older than `retentionMs` at `now` (service clock, ms). */
  find(organization: string, key: string, now: number, retentionMs: number): StoredResponse | undefined {
    const result = this.#results.get(JSON.stringify([organization, key]));
    return result !== undefined && now - result.at <= retentionMs ? result : undefined;
  }
}
