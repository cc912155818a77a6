import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type ConfigDigest, configDigest } from '../../config/index.js';
import type { Settings } from '../../core/settings.js';
import { parseStored } from '../../core/stored-json.js';
import { VERSION } from '../../core/version.js';

/** What a worker publishes about its configuration: hashes and names, no values and no secrets. */
export interface ConfigRecord {
  readonly version: string;
  /** The worker's configuration file. */
  readonly source: string;
  /** When the worker read it, milliseconds since 1970. */
  readonly loadedAt: number;
  /** By connection. */
  readonly connections: Readonly<Record<string, ConfigDigest>>;
}

/** The record as an argument of a workflow. Compressed, because hundreds of connections share most of their hashes. */
export interface EncodedRecord {
  readonly gzip: string;
}

/** The type of the workflow that holds a record. No worker runs it. */
export const CONFIG_RECORD_WORKFLOW = 'worktrackWorkerConfiguration';

/** The workflow that holds the record of a worker. */
export function configRecordId(taskQueue: string, identity: string): string {
  return `worktrack-worker/${taskQueue}/${identity}`;
}

export function configRecord(settings: Settings, loadedAt: number): ConfigRecord {
  const path = resolve(settings.source);
  return {
    version: VERSION,
    source: existsSync(path) ? path : settings.source,
    loadedAt,
    connections: Object.fromEntries(settings.connections.map((one) => [one.name, configDigest(one)])),
  };
}

export function encodeRecord(record: ConfigRecord): EncodedRecord {
  return { gzip: gzipSync(JSON.stringify(record)).toString('base64') };
}

/** @throws Error if it is not a record */
export function decodeRecord({ gzip }: EncodedRecord): ConfigRecord {
  return parseStored(gunzipSync(Buffer.from(gzip, 'base64'))) as ConfigRecord;
}
