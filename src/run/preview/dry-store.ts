import { inBackground } from '../../api/index.js';
import type { ObjectKey, RunId } from '../../core/brands.js';
import { inFolder, quarantineKey, stagingFolder } from '../../lake/documents/lake-layout.js';
import type { ObjectStore, WrittenObject } from '../../lake/store/index.js';
import type { OpenConnection } from '../deps.js';

/** A dry run: the id that its objects would have, and that of its staging folder, which differ in memory. */
interface DryRun {
  readonly resource: string;
  readonly runId: RunId;
  readonly staged: RunId;
}

/**
 * The lake as a dry run sees it: what the run would write to its own folders is below its staging folder, which is removed when
 * the run ends. All other keys are as in the lake.
 */
export function dryStore(lake: ObjectStore, run: DryRun): ObjectStore {
  const { to, from } = moves(run);
  const there = (written: WrittenObject): WrittenObject => ({ ...written, key: from(written.key) });
  return {
    ...lake,
    read: (key, options) => lake.read(to(key), options),
    readIfExists: (key, options) => lake.readIfExists(to(key), options),
    stream: (key, options) => lake.stream(to(key), options),
    write: async (key, body, options) => there(await lake.write(to(key), body, options)),
    openWriter(key, options) {
      const writer = lake.openWriter(to(key), options);
      return {
        get bytes() {
          return writer.bytes;
        },
        write: (chunk, crc32) => writer.write(chunk, crc32),
        finish: async () => there(await writer.finish()),
        abort: () => writer.abort(),
      };
    },
    swap: (key, body, expected) => lake.swap(to(key), body, expected),
    async head(key) {
      const found = await lake.head(to(key));
      return found === null ? null : { ...found, key };
    },
    async *list(prefix, options) {
      for await (const found of lake.list(to(prefix as ObjectKey), options))
        yield { ...found, key: from(found.key) };
    },
    copy: (source, target, bytes) => lake.copy(to(source), to(target), bytes),
    remove: (keys) => lake.remove(keys.map(to)),
    abortUploads: (prefix, isAbandoned) => lake.abortUploads(to(prefix as ObjectKey), isAbandoned),
  };
}

/** The connection of a dry run or an audit: its requests to the service come after all others. */
export function dryConnection({ settings, store, client }: OpenConnection): OpenConnection {
  return { settings, store, client: inBackground(client) };
}

/** Translates keys of the run's own folders to keys below its staging folder, and back. */
function moves({ resource, runId, staged }: DryRun) {
  const base = stagingFolder(resource, staged);
  const aside = quarantineKey(resource, runId, '').slice(0, -'.csv'.length);
  const trees = [`${resource}/snapshots/`, `${resource}/changes/`];
  const isOwn = (key: string): boolean =>
    key.startsWith(aside) || (trees.some((tree) => key.startsWith(tree)) && key.includes(`/run=${runId}/`));
  return {
    to: (key: ObjectKey): ObjectKey => (isOwn(key) ? inFolder(base, key) : key),
    from(key: ObjectKey): ObjectKey {
      const rest = key.slice(base.length + 1);
      return key.startsWith(`${base}/`) && isOwn(rest) ? (rest as ObjectKey) : key;
    },
  };
}
