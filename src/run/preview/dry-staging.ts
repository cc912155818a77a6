import { Context } from '@temporalio/activity';
import { z } from 'zod';
import { collected } from '../../lake/store/index.js';
import { type ServiceUse, useOf } from '../activity-context.js';
import { removeKeys } from '../remove-folders.js';
import { documentKind } from '../staged-documents.js';
import type { Staging } from '../staging.js';

/** The only object of a dry run that outlives it. */
export const DIFF = 'diff.ndjson';
/** The documents that hold what each activity of a dry run in the lake has used. */
const USE = 'use';
const USED = documentKind<ServiceUse>('use', { requests: z.int(), bytes: z.int() });

/** Removes what the run has staged in the lake, apart from its diff. */
export async function removeStaged(staging: Staging): Promise<void> {
  const { cancellationSignal: signal } = Context.current();
  const all = await collected(staging.store.list(staging.key('')));
  const keys = all.map(({ key }) => key).filter((key) => key !== staging.key(DIFF));
  await removeKeys(staging.store, keys, signal);
}

/** Notes in the lake what this activity has used, for the report of the run. */
export async function saveUse(staging: Staging): Promise<void> {
  await staging.write(USED, staging.own(USE, 0), useOf(Context.current()));
}

/** What the activities of the run have used so far. */
export async function useOfRun(staging: Staging): Promise<ServiceUse> {
  const own = useOf(Context.current());
  if (staging.isPrivate) return own;
  const saved = await collected(staging.store.list(staging.key(`${USE}-`)));
  let { requests, bytes } = own;
  for (const { key } of saved) {
    const use = await staging.read(USED, key);
    requests += use.requests;
    bytes += use.bytes;
  }
  return { requests, bytes };
}
