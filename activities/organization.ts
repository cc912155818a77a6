import { RefusedError } from '../src/api/index.js';
import { type ByteString, fromByteString } from '../src/core/brands.js';
import { folderOf, pointerKey } from '../src/lake/layout.js';
import { decodeManifest } from '../src/lake/manifest.js';
import { decodeIndex, indexKey } from '../src/lake/part/index-file.js';
import { decodePointer } from '../src/lake/pointer.js';
import type { ObjectStore } from '../src/lake/store/index.js';
import type { OpenConnection } from './deps.js';
import { finalFailure } from './failures.js';

/** Known projects that are asked for until one is found. */
const ASKED_FOR = 5;

/**
 * Notices a key of another organization before anything is merged (DESIGN 3.15): the key decides whose data the
 * service shows, and no answer names it. Several projects of the lake are asked for by id; if the service knows
 * none of them, they are somebody else's. One alone proves nothing, for it may have been deleted.
 */
export async function checkOrganization({ settings, client, store }: OpenConnection): Promise<void> {
  const projects = settings.resources.find((resource) => resource.fetchById && resource.key.length === 1);
  if (projects === undefined || projects.columns.mask[projects.key[0]!] !== undefined) return;
  const known = await knownIds(store, projects.name);
  if (known.length < 2) return;
  for (const id of known) {
    try {
      const found = await client.fetchById({ resource: projects.name, path: projects.path, id }, () => true);
      if (found !== null) return;
    } catch (error) {
      // A key that may not read projects cannot be told by them.
      if (error instanceof RefusedError && error.scope === 'grant') return;
      throw error;
    }
  }
  throw finalFailure(
    'Refused',
    `the key seems to belong to another organization: the service knows none of ${known.length} ${projects.name} of the ` +
      `lake ${store.url}. Put the right key in place; nothing was changed.`,
    { scope: 'key' },
  );
}

/** Ids spread over the published snapshot, from its block indexes; no row is read. */
async function knownIds(store: ObjectStore, resource: string): Promise<string[]> {
  const pointer = await store.readIfExists(pointerKey(resource));
  if (pointer === null) return [];
  const { snapshot } = decodePointer(pointer.body);
  const { parts } = decodeManifest(await store.read(snapshot), folderOf(snapshot));
  const ids = new Set<string>();
  for (const part of [parts.at(-1), parts[0]]) {
    if (part === undefined || part.rows === 0) continue;
    const { blocks } = decodeIndex(await store.read(indexKey(part.key)));
    for (const key of blocks.flatMap((block) => [block.last, block.first]))
      ids.add(fromByteString(key as ByteString));
  }
  return [...ids].slice(-ASKED_FOR);
}
