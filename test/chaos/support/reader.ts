import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { folderOf, pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../../src/lake/documents/manifest.js';
import { decodePointer } from '../../../src/lake/documents/pointer.js';
import { RowScanner } from '../../../src/lake/rows/csv.js';
import { StoreError } from '../../../src/lake/store/index.js';
import type { World } from './world.js';

/** Store errors while the store is down. They say nothing about the stored objects. */
const AWAY = ['unreachable', 'throttled', 'unclear'];

/** A reader that reads the published snapshots continuously. */
export interface Reader {
  /** The faults that the reader has found. Must stay empty. */
  readonly faults: readonly string[];
  /** Snapshots followed to their last byte. */
  readonly followed: number;
  stop(): Promise<void>;
}

/**
 * Follows `latest.json` of each resource repeatedly. Its snapshot must exist, be complete, belong to one
 * run, and match its manifest byte for byte. A checkpoint must never move back, except by a rollback.
 */
export function startReader({
  store,
  resources,
  purging,
}: Pick<World, 'store' | 'resources' | 'purging'>): Reader {
  const faults: string[] = [];
  const checkpoints = new Map<string, string>();
  const checked = new Set<string>();
  const seen = new Set<string>();
  let followed = 0;
  let going = true;

  async function follow(resource: string): Promise<void> {
    const found = await store.readIfExists(pointerKey(resource));
    if (found === null) {
      if (seen.has(resource)) faults.push(`${resource}: latest.json is gone`);
      return;
    }
    seen.add(resource);
    const pointer = decodePointer(found.body);
    const wrong = (what: string): unknown => faults.push(`${resource} ${pointer.runId}: ${what}`);
    const before = checkpoints.get(resource) ?? '';
    // Only a rollback moves a checkpoint back.
    if (pointer.checkpoint.updatedSince < before && pointer.rolledBack === null)
      wrong(`the checkpoint went back from ${before}`);
    checkpoints.set(resource, pointer.checkpoint.updatedSince);
    const there = await store.readIfExists(pointer.snapshot);
    if (there === null) return void wrong('its manifest is missing');
    const manifest = decodeManifest(there.body, folderOf(pointer.snapshot));
    if (manifest.runId !== pointer.runId) wrong(`its manifest is of ${manifest.runId}`);
    let rows = 0;
    for (const part of manifest.parts) {
      rows += part.rows;
      const head = await store.head(part.key);
      // A purge replaces a part and its manifest, so the reader reads the new manifest.
      if (head === null && !(await store.readIfExists(pointer.snapshot))?.body.equals(there.body)) return;
      if (head?.bytes !== part.bytes) wrong(`${part.key} has ${head?.bytes} bytes and not ${part.bytes}`);
      // Parts never change, so each one is read once.
      if (checked.has(part.key)) continue;
      const body = await store.read(part.key);
      if (createHash('sha256').update(body).digest('hex') !== part.sha256) wrong(`${part.key} is damaged`);
      const text = (part.key.endsWith('.gz') ? gunzipSync(body) : body).toString('latin1');
      if (countRows(text) !== part.rows) wrong(`${part.key} has not ${part.rows} rows`);
      checked.add(part.key);
    }
    // A purge writes the manifest before the pointer.
    if (rows !== pointer.rows && !purging.has(resource))
      wrong(`its parts have ${rows} rows, the pointer says ${pointer.rows}`);
    followed++;
  }

  async function loop(resource: string): Promise<void> {
    while (going) {
      try {
        await follow(resource);
      } catch (error) {
        if (!(error instanceof StoreError && AWAY.includes(error.kind))) faults.push(`${resource}: ${error}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  const loops = resources.map(loop);
  return {
    faults,
    get followed() {
      return followed;
    },
    async stop() {
      going = false;
      await Promise.all(loops);
    },
  };
}

/** Rows without the header. */
function countRows(text: string): number {
  const scanner = new RowScanner(text);
  let rows = -1;
  for (let at = 0; at < text.length; rows++) at = scanner.end(at);
  return rows;
}
