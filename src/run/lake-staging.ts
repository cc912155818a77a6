import type { ObjectKey } from '../core/brands.js';
import type { RunRef } from '../core/contract/index.js';
import { inFolder, stagingFolder } from '../lake/documents/lake-layout.js';
import { RUN_FILE, type RunFile } from '../lake/documents/run-file.js';
import { encodeWithin } from '../lake/size-limits.js';
import { collected, type ObjectStore } from '../lake/store/index.js';
import { finalFailure } from './failures.js';
import { type DocumentKind, decodeDocument, encodeDocument, RUN } from './staged-documents.js';
import type { Staging } from './staging.js';

type StagedRun = Pick<RunRef, 'resource' | 'runId'>;

/** A run's staging folder in the lake. Any worker can continue from it. */
export class LakeStaging implements Staging {
  readonly isPrivate = false;

  /** @param attempt of the activity, from 1 */
  constructor(
    readonly store: ObjectStore,
    readonly ref: StagedRun,
    readonly attempt: number,
  ) {}

  async run(): Promise<RunFile> {
    const run = await this.readIfExists(RUN, RUN_FILE);
    if (run !== null) return run;
    const { resource, runId } = this.ref;
    throw finalFailure(
      'Lake',
      `${resource}: the staging folder of run ${runId} is missing from the lake. The next run starts from the beginning. ` +
        'Check whether a lifecycle rule of the bucket removes objects under `_staging/` too early, or whether another worker of ' +
        'the connection has another `lake.url`.',
    );
  }

  key(name: string): ObjectKey {
    return stagedKey(this.ref, name);
  }

  async write<T>(kind: DocumentKind<T>, name: string, document: T): Promise<ObjectKey> {
    const key = this.key(name);
    await writeStaged(this.store, kind, key, document);
    return key;
  }

  async read<T>(kind: DocumentKind<T>, key: ObjectKey): Promise<T> {
    return decodeDocument(kind, await this.store.read(key), key);
  }

  async readIfExists<T>(kind: DocumentKind<T>, name: string): Promise<T | null> {
    const key = this.key(name);
    const found = await this.store.readIfExists(key);
    return found === null ? null : decodeDocument(kind, found.body, key);
  }

  async last(prefix: string): Promise<ObjectKey | null> {
    // The store lists keys in their order.
    return (await collected(this.store.list(this.key(prefix)))).at(-1)?.key ?? null;
  }

  isFull(): boolean {
    return false;
  }

  async save(): Promise<'saved'> {
    return 'saved';
  }

  isTooLong(): boolean {
    return false;
  }
}

/** The key of an object in a run's staging folder. */
export function stagedKey({ resource, runId }: StagedRun, name: string): ObjectKey {
  return inFolder(stagingFolder(resource, runId), name);
}

/** Writes a document to the lake. */
export async function writeStaged<T>(
  store: ObjectStore,
  kind: DocumentKind<T>,
  key: ObjectKey,
  document: T,
): Promise<void> {
  await store.write(
    key,
    encodeWithin(key, () => encodeDocument(kind, document)),
  );
}

/**
 * Fixes a run in the lake: its settings are written once, and if several attempts write them, the first one counts.
 *
 * @returns whether this attempt was the first
 */
export async function fixRun(store: ObjectStore, run: RunFile): Promise<boolean> {
  const key = stagedKey({ resource: run.resource.name, runId: run.runId }, RUN_FILE);
  return (await store.swap(key, encodeDocument(RUN, run), 'absent')).outcome === 'written';
}

/**
 * The run's settings in the lake; `null`: it has staged nothing there.
 *
 * @throws UnreadDocumentError
 */
export function readRunIfThere(store: ObjectStore, ref: StagedRun): Promise<RunFile | null> {
  return new LakeStaging(store, ref, 1).readIfExists(RUN, RUN_FILE);
}
