import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { RowScanner } from '../../../src/lake/csv.js';
import { folderOf, pointerKey } from '../../../src/lake/layout.js';
import { decodeManifest } from '../../../src/lake/manifest.js';
import { decodePointer } from '../../../src/lake/pointer.js';
import { type ObjectStore, StoreError } from '../../../src/lake/store/index.js';

/** Trouble of the store that a reader meets while the store is away: it says nothing of what is stored. */
const AWAY = ['unreachable', 'throttled', 'unclear'];

/** Somebody who reads what is published all the time. */
export interface Reader {
  /** What was wrong with what it saw. Must stay empty. */
  readonly faults: readonly string[];
  /** Snapshots followed to their last byte. */
  readonly followed: number;
  stop(): Promise<void>;
}

/**
 * Follows `latest.json` of each resource again and again: the snapshot that it names must be there, whole, of one run,
 * and every byte as its manifest promises; and a checkpoint never goes back.
 */
export function startReader(store: ObjectStore, resources: readonly string[]): Reader {
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
    if (pointer.checkpoint.updatedSince < before) wrong(`the checkpoint went back from ${before}`);
    checkpoints.set(resource, pointer.checkpoint.updatedSince);
    const there = await store.readIfExists(pointer.snapshot);
    if (there === null) return void wrong('its manifest is missing');
    const manifest = decodeManifest(there.body, folderOf(pointer.snapshot));
    if (manifest.runId !== pointer.runId) wrong(`its manifest is of ${manifest.runId}`);
    let rows = 0;
    for (const part of manifest.parts) {
      rows += part.rows;
      const head = await store.head(part.key);
      if (head?.bytes !== part.bytes) wrong(`${part.key} has ${head?.bytes} bytes and not ${part.bytes}`);
      // Parts never change their bytes: once is enough for those.
      if (checked.has(part.key)) continue;
      const body = await store.read(part.key);
      if (createHash('sha256').update(body).digest('hex') !== part.sha256) wrong(`${part.key} is damaged`);
      const text = (part.key.endsWith('.gz') ? gunzipSync(body) : body).toString('latin1');
      if (countRows(text) !== part.rows) wrong(`${part.key} has not ${part.rows} rows`);
      checked.add(part.key);
    }
    if (rows !== pointer.rows) wrong(`its parts have ${rows} rows, the pointer says ${pointer.rows}`);
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
