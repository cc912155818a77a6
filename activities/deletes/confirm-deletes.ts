import { Context } from '@temporalio/activity';
import { TransientError } from '../../src/api/index.js';
import { type ByteString, fromByteString, type ObjectKey } from '../../src/core/brands.js';
import type { Activities, ConfirmDeletesInput } from '../../src/core/contract/index.js';
import { inParallel } from '../../src/core/in-parallel.js';
import { parseStored } from '../../src/core/stored-json.js';
import type { SortKey } from '../../src/lake/rows/row.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { ActivityAge, SHARE_OF_TIME, withHeartbeat } from '../shared/activity-context.js';
import { askById } from '../shared/ask-by-id.js';
import type { ActivityDeps } from '../shared/deps.js';
import { readDocument, readRun, stagedKey, writeDocument } from '../shared/documents.js';

/** Rounds for records that return a transient status while the service answers for other records. */
const MAX_ROUNDS = 3;

/** The progress of an attempt that did not finish. The next attempt continues from it. */
interface Progress {
  readonly gone: readonly SortKey[];
  readonly unproven: number;
  /** Keys that have no answer yet. */
  readonly open: readonly SortKey[];
  readonly rounds: number;
}

/**
 * Requests each record by its id: 404 and 410 prove that it is deleted (docs/explanation/semantics.md#deletes). A
 * transient failure is retried within `retries.giveUpAfter`. A record without an answer by then counts as not proven,
 * and the run continues.
 */
export function createConfirmDeletes(deps: ActivityDeps): Activities['worktrack.confirmDeletes'] {
  return (input) =>
    withHeartbeat(async () => {
      const age = new ActivityAge();
      const { client, store, settings } = deps.connection(input.connection);
      const { resource, giveUpAfterMs } = await readRun(store, input);
      const { info, cancellationSignal: signal } = Context.current();
      const before = await readProgress(store, input, info.attempt);
      const gone = [...before.gone];
      let { unproven } = before;
      const refused: SortKey[] = [];
      const untried: SortKey[] = [];
      const failures: TransientError[] = [];
      const isLate = (): boolean => age.ms > SHARE_OF_TIME * giveUpAfterMs;
      let isOut = false;
      await inParallel(before.open, settings.http.concurrency, async (key) => {
        if (isOut || isLate()) return void untried.push(key);
        try {
          const id = fromByteString(key as ByteString);
          const answer = await askById(client, { resource: resource.name, path: resource.path, id, signal });
          if (answer === 'gone') gone.push(key);
          if (answer === 'unclear') unproven++;
        } catch (error) {
          if (!(error instanceof TransientError)) throw error;
          failures.push(error);
          isOut ||= isServiceWide(error);
          (isOut ? untried : refused).push(key);
        }
      });
      const open = [...untried, ...refused];
      const rounds = before.rounds + (isOut ? 0 : 1);
      const failure = failures.at(-1);
      const next = age.ms + (failure?.retryAfterMs ?? 0);
      if (failure !== undefined && next < SHARE_OF_TIME * giveUpAfterMs && (isOut || rounds < MAX_ROUNDS)) {
        await writeDocument(store, progressKey(input, info.attempt), { gone, unproven, open, rounds });
        throw failure;
      }
      gone.sort();
      const keys = stagedKey(input, `gone-${info.attempt}.json`);
      await writeDocument(store, keys, gone);
      return { keys, count: gone.length, unproven: unproven + open.length };
    });
}

/** Whether a failure concerns the service or the connection, and not only the requested record. */
function isServiceWide({ reason, status, retryAfterMs }: TransientError): boolean {
  return reason !== 'status' || status === 429 || retryAfterMs !== null;
}

function progressKey(input: ConfirmDeletesInput, attempt: number): ObjectKey {
  return stagedKey(input, `asked-${attempt}.json`);
}

async function readProgress(
  store: ObjectStore,
  input: ConfirmDeletesInput,
  attempt: number,
): Promise<Progress> {
  for (let earlier = attempt - 1; earlier > 0; earlier--) {
    const found = await store.readIfExists(progressKey(input, earlier));
    if (found !== null) return parseStored(found.body) as Progress;
  }
  return { gone: [], unproven: 0, open: await readDocument<SortKey[]>(store, input.among), rounds: 0 };
}
