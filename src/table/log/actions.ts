import type { EpochMs } from '../../core/brands.js';
import { parseStored } from '../../core/stored-json.js';

/** The actions of a Delta log that the connector reads and writes (PROTOCOL.md, "Actions"). */

export interface Protocol {
  readonly minReaderVersion: number;
  readonly minWriterVersion: number;
}

export interface MetaData {
  readonly id: string;
  readonly name?: string;
  readonly format: { readonly provider: string; readonly options: Readonly<Record<string, string>> };
  readonly schemaString: string;
  readonly partitionColumns: readonly string[];
  readonly configuration: Readonly<Record<string, string>>;
  readonly createdTime?: EpochMs;
}

export interface AddFile {
  /** Relative to the table, URI-encoded. Our names need no encoding. */
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string>>;
  readonly size: number;
  readonly modificationTime: number;
  readonly dataChange: boolean;
  /** JSON. Only `numRecords`, because statistics of values would survive a purge. */
  readonly stats?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

export interface RemoveFile {
  readonly path: string;
  readonly deletionTimestamp: number;
  readonly dataChange: boolean;
  readonly extendedFileMetadata?: boolean;
  readonly partitionValues?: Readonly<Record<string, string>>;
  readonly size?: number;
}

export interface Action {
  readonly commitInfo?: {
    readonly timestamp?: number;
    readonly operation?: string;
    readonly operationParameters?: Readonly<Record<string, string>>;
    readonly engineInfo?: string;
    readonly userMetadata?: string;
  };
  readonly protocol?: Protocol;
  readonly metaData?: MetaData;
  /**
   * Records the state of the pointer that a version shows, so that a repeated commit is detected. `version`: start of the run,
   * rollback or purge that wrote the pointer.
   */
  readonly txn?: { readonly appId: string; readonly version: EpochMs; readonly lastUpdated?: EpochMs };
  readonly add?: AddFile;
  readonly remove?: RemoveFile;
}

export const APP_ID = 'temporal-worktrack';
/** Tag of a data file: SHA-256 of the part of the snapshot that it holds. */
export const PART_TAG = 'worktrack.part';
/** Tag of a data file: its own SHA-256. */
export const FILE_TAG = 'worktrack.sha256';
/** The table needs no feature, so every reader can open it. */
export const PROTOCOL: Protocol = { minReaderVersion: 1, minWriterVersion: 2 };

export function encodeCommit(actions: readonly Action[]): Buffer {
  return Buffer.from(actions.map((action) => `${JSON.stringify(action)}\n`).join(''));
}

/** @throws SyntaxError if a line is not JSON */
export function decodeCommit(body: Buffer): Action[] {
  const lines = body.toString('utf8').split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => parseStored(line) as Action);
}

export function rowsOfFile({ stats }: AddFile): number | null {
  if (stats === undefined) return null;
  const { numRecords } = parseStored(stats) as { readonly numRecords?: number };
  return numRecords ?? null;
}

/** Whether another program has upgraded a table beyond what the connector can write. */
export function isUpgraded({ minWriterVersion }: Protocol): boolean {
  return minWriterVersion > PROTOCOL.minWriterVersion;
}

export function upgradedText({ minWriterVersion }: Protocol): string {
  return `was upgraded by another program to writer version ${minWriterVersion}, which is not supported`;
}
