import { RefusedError } from '../../src/api/index.js';
import { fromByteString } from '../../src/core/brands.js';
import { folderOf, pointerKey } from '../../src/lake/layout.js';
import { decodeManifest, type Manifest, type PublishedPart } from '../../src/lake/manifest.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { decodeIndex, indexKey } from '../../src/lake/part/index-file.js';
import { BlockReader } from '../../src/lake/part/reader.js';
import { decodePointer } from '../../src/lake/pointer.js';
import { hasPlainId } from '../../src/lake/profile.js';
import { rowKeys, type SortKey } from '../../src/lake/row.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import type { OpenConnection } from '../deps.js';
import { finalFailure } from '../failures.js';

/** Known projects that are asked for until one is found. */
const ASKED_FOR = 10;
/** Fewer than this prove nothing: they may all have been deleted. */
const ENOUGH = 5;

/**
 * Notices a key of another organization before anything is merged (DESIGN 3.15): the key decides whose data the
 * service shows, and no answer names it. Several projects of the lake are asked for by id; if the service knows
 * none of them, they are somebody else's.
 */
export async function checkOrganization(
  { settings, client, store }: OpenConnection,
  signal: AbortSignal,
): Promise<void> {
  const projects = settings.resources.find((resource) => resource.fetchById && hasPlainId(resource));
  if (projects === undefined) return;
  const known = await knownIds(store, projects.name);
  if (known.length < ENOUGH) return;
  for (const id of known) {
    try {
      const request = { resource: projects.name, path: projects.path, id, signal };
      if ((await client.fetchById(request, () => true)) !== null) return;
    } catch (error) {
      // A key that may not read projects cannot be told by them.
      if (error instanceof RefusedError && error.scope === 'grant') return;
      throw error;
    }
  }
  throw finalFailure(
    'Refused',
    `the key seems to belong to another organization: the service knows none of ${known.length} ${projects.name} of the ` +
      `lake ${store.url}. Put the right key in place, or, if those ${projects.name} are really gone, go on with ` +
      '`worktrack export --adopt`; nothing was changed.',
    { scope: 'key' },
  );
}

/** Ids of live rows, from the first and the last block of the published snapshot. */
async function knownIds(store: ObjectStore, resource: string): Promise<string[]> {
  const pointer = await store.readIfExists(pointerKey(resource));
  if (pointer === null) return [];
  const { snapshot } = decodePointer(pointer.body);
  const manifest = decodeManifest(await store.read(snapshot), folderOf(snapshot));
  const parts = manifest.parts.filter((part) => part.rows > 0);
  if (parts.length === 0) return [];
  const keys = new Set([
    ...(await keysOfBlock(store, manifest, parts[0]!, 'first')),
    ...(await keysOfBlock(store, manifest, parts.at(-1)!, 'last')),
  ]);
  const all = [...keys];
  const step = Math.max(1, Math.floor(all.length / ASKED_FOR));
  return all
    .filter((_, at) => at % step === 0)
    .slice(0, ASKED_FOR)
    .map(fromByteString);
}

async function keysOfBlock(
  store: ObjectStore,
  { csv }: Manifest,
  { key }: PublishedPart,
  which: 'first' | 'last',
): Promise<SortKey[]> {
  const { blocks } = decodeIndex(await store.read(indexKey(key)));
  const reader = new BlockReader(store, { key, blocks, framing: framingOf(csv) }, 1);
  const text = await reader.rows(which === 'first' ? 0 : blocks.length - 1);
  return rowKeys(text, 1, csv.delimiter, 'live');
}
