import { errorMessage, WorktrackError } from '../../core/errors.js';
import { systemCause, systemCode } from '../../core/system-error.js';

/**
 * Why an operation failed. `library`: DuckDB cannot be loaded. `ended`: the process died or could not be started. `disk`: the temporary
 * folder. `memory`: DuckDB's limit. `rows`: the text does not have the columns. `other`: anything else, which the file explains.
 * DuckDB's messages contain values, so `text` has their kind or the system's reason only.
 */
export interface EngineFailure {
  readonly kind: 'library' | 'ended' | 'disk' | 'memory' | 'rows' | 'other';
  readonly text: string;
}

/** An operation on a file failed. The message has no value. */
export class EngineError extends WorktrackError {
  readonly code = 'SYSTEM';
  readonly kind: EngineFailure['kind'];

  /** @param folder the temporary folder, for messages */
  constructor({ kind, text }: EngineFailure, folder: string, cause?: unknown) {
    super(messageOf({ kind, text }, folder), {
      remedy: kind === 'disk' ? 'Free some space there, or set tables.tempFolder.' : null,
      cause,
    });
    this.kind = kind;
  }

  /** Whether the file explains the failure, so that it cannot be read anywhere. */
  get isOfFile(): boolean {
    return this.kind === 'rows' || this.kind === 'other';
  }
}

function messageOf({ kind, text }: EngineFailure, folder: string): string {
  switch (kind) {
    case 'memory':
      return 'DuckDB needs more memory than it may use';
    case 'ended':
      return `The process that reads and writes Parquet ended (${text}).`;
    case 'disk':
      return `The temporary folder ${folder} cannot be used: ${text}.`;
    default:
      return `DuckDB failed (${text})`;
  }
}

/** DuckDB could not be loaded. */
export class LibraryError extends Error {}

/** What leaves the process of an error in it. */
export function failureOf(error: unknown): EngineFailure {
  const message = errorMessage(error);
  if (error instanceof LibraryError) return { kind: 'library', text: message };
  const reason = diskReason(error);
  if (reason !== null) return { kind: 'disk', text: reason };
  // DuckDB's messages begin with their kind.
  const text = /^([A-Z][A-Za-z-]+(?: [A-Za-z-]+){0,4}) Error:/.exec(message)?.[1] ?? 'Internal';
  if (isMemoryError(error)) return { kind: 'memory', text };
  return { kind: isRowError(error) ? 'rows' : 'other', text };
}

export function isMemoryError(error: unknown): boolean {
  return error instanceof Error && /^Out of Memory Error|std::bad_alloc/.test(error.message);
}

/** Whether DuckDB could not read the rows of a text. */
export function isRowError(error: unknown): boolean {
  return error instanceof Error && /^Invalid Input Error: CSV Error|Maximum line size/.test(error.message);
}

/** What a disk or its settings answer. */
const DISK_CODES = /^E(NOSPC|DQUOT|ROFS|ACCES|PERM|NOENT|NOTDIR|IO|FBIG|MFILE|NFILE|STALE|XDEV)$/;
/**
 * The calls of the system in DuckDB's messages. "Could not read enough bytes" is not among them: the file is too short for what it
 * says of itself.
 */
const DISK_CALLS =
  /^IO Error: (Could not (write|read from|fsync|truncate|remove|rename)|Cannot open file|No files found)/;

/** Why the temporary folder cannot be used, in words; `null`: the error is another one. */
export function diskReason(error: unknown): string | null {
  if (DISK_CODES.test(systemCode(error) ?? '')) return systemCause(error);
  const [line = ''] = errorMessage(error).split('\n');
  if (!DISK_CALLS.test(line)) return null;
  // The system's reason comes after the path.
  return line.includes('": ') ? line.slice(line.lastIndexOf('": ') + 3) : 'a file is missing';
}
