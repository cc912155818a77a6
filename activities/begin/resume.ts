import type { ObjectKey, RunId } from '../../src/core/brands.js';
import { stagingFolder } from '../../src/lake/layout.js';
import type { RunFile } from '../../src/lake/run-file.js';
import type { Stage } from '../../src/lake/stage.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { readDocument, readRunIfThere } from '../documents.js';

/** Pages that were read longer ago are read anew: the list may have changed too much. */
const YOUNG_ENOUGH_MS = 24 * 60 * 60_000;

/** What decides whether pages that were read for one run are of use to another. */
type Question = Pick<
  RunFile,
  'connection' | 'baseUrl' | 'resource' | 'mode' | 'updatedSince' | 'checkpoint' | 'before' | 'leftBehind'
>;

/** A failed run's pages and what they say of time. */
export interface Resumable {
  readonly resumed: NonNullable<RunFile['resumed']>;
  readonly readSince: number;
}

/**
 * What a failed run had staged, if it asked the same of the same list, on the same snapshot, less than a day ago. The
 * checkpoint that comes of it is the failed run's: nothing that changed since is missed.
 *
 * @param now milliseconds since 1970
 */
export async function findResumable(
  store: ObjectStore,
  question: Question,
  { failed, now }: { readonly failed: RunId; readonly now: number },
): Promise<Resumable | null> {
  const { connection, resource } = question;
  const ref = { connection, resource: resource.name, runId: failed };
  const run = await readRunIfThere(store, ref);
  if (run === null || now - run.readSince > YOUNG_ENOUGH_MS) return null;
  if (asked(run) !== asked(question)) return null;
  const key = (await lastStage(store, resource.name, failed)) ?? run.resumed?.extracted.stage ?? null;
  const found = key === null ? null : await firstReading(store, key);
  if (found === null) return null;
  const { stage } = found;
  const { done, cursor, pages, fetched, pageSize } = stage;
  const extracted = { stage: found.key, done, cursor, pages, rows: fetched, pageSize };
  return { resumed: { runId: failed, extracted }, readSince: run.readSince };
}

function asked({
  connection,
  baseUrl,
  resource,
  mode,
  updatedSince,
  checkpoint,
  before,
  leftBehind,
}: Question): string {
  const snapshot = before === null ? null : [before.runId, before.etag];
  return JSON.stringify([
    connection,
    baseUrl,
    resource,
    mode,
    updatedSince,
    checkpoint,
    snapshot,
    leftBehind,
  ]);
}

/** Names sort by call and attempt, and each goes on from the one before. */
async function lastStage(store: ObjectStore, resource: string, runId: RunId): Promise<ObjectKey | null> {
  let last: ObjectKey | null = null;
  for await (const { key } of store.list(`${stagingFolder(resource, runId)}/stage-`)) last = key;
  return last;
}

/** The end of the first reading: later ones prove deletes, and start anew. */
async function firstReading(
  store: ObjectStore,
  last: ObjectKey,
): Promise<{ key: ObjectKey; stage: Stage } | null> {
  for (let key: ObjectKey | null = last; key !== null; ) {
    const stage: Stage = await readDocument<Stage>(store, key);
    if (stage.read === 0) return { key, stage };
    key = stage.previous;
  }
  return null;
}
