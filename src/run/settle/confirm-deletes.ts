import { Context } from '@temporalio/activity';
import { z } from 'zod';
import { ShownKeys, TransientError } from '../../api/index.js';
import type { ByteString } from '../../core/brands.js';
import { timeGiven } from '../../core/contract/activity-table.js';
import type { PhaseEnded } from '../../core/contract/index.js';
import { inParallel } from '../../core/in-parallel.js';
import { MAX_WORDS_MS } from '../../core/unproven-limits.js';
import { keysOf } from '../../lake/documents/run-file.js';
import type { Stage } from '../../lake/documents/stage-file.js';
import { idOf } from '../../lake/rows/profile.js';
import type { SortKey } from '../../lake/rows/row.js';
import { SHARE_OF_TIME } from '../activity-context.js';
import { withMaskingKey } from '../masking-secret.js';
import type { StoredStage } from '../read/read-stage.js';
import { checkSameService } from '../run-failures.js';
import { nextOf, toNextPhase } from '../run-journal.js';
import { showKey } from '../show-organization.js';
import { documentKind, SORT_KEYS, STAGE } from '../staged-documents.js';
import { type RunAt, readStages, type Staging } from '../staging.js';
import { askById, isWebPage, seemsRefused } from './ask-by-id.js';
import { afterAsking } from './conclude-deletes.js';
import { isEmptyList } from './find-absent.js';
import { ShownRecords, STAGED_SHOWN, type StagedShown } from './shown-records.js';

/** Rounds for records that return a transient status while the service answers for other records. */
const MAX_ROUNDS = 3;

/** Records of the list that are requested until one is found: each may have been deleted since it was listed. */
const MAX_CONTROLS = 3;

/**
 * Servers and proxies may answer 404 to a path with such a sign, or look for another record: a slash may separate, and what follows
 * a dot may be a format.
 */
const SIGNS = /[^A-Za-z0-9_-]/g;
const BEYOND_ASCII = /[^\0-\x7f]/g;

/** The progress of an attempt that did not finish. The next attempt continues from it. */
interface Progress {
  readonly gone: readonly SortKey[];
  readonly unproven: number;
  /** Number of requested records that the service knows. */
  readonly found: number;
  /** Keys that have no answer yet. */
  readonly open: readonly SortKey[];
  readonly rounds: number;
  /** What is staged of the records that were found. Absent: nothing. */
  readonly shown?: StagedShown;
}

const ASKED = documentKind<Progress>('asked', {
  ...{ gone: SORT_KEYS, unproven: z.int(), found: z.int(), open: SORT_KEYS, rounds: z.int() },
  shown: STAGED_SHOWN.optional(),
});

/**
 * Requests each record by its id: 404 and 410 prove that it is deleted (docs/explanation/guarantees.md#deletes), if the endpoint
 * has found a record that exists. A transient failure is retried within `retries.giveUpAfter`. A record without an answer by
 * then counts as not proven, and the run continues.
 */
export async function confirmDeletes({ deps, connection, staging, clock }: RunAt): Promise<PhaseEnded> {
  const journal = await staging.journal();
  const { run } = journal;
  checkSameService(run, connection, deps);
  const { settings } = connection;
  const { resource, before: snapshot, startedAt, giveUpAfterMs } = run;
  const stages = await readStages(staging, journal.stage);
  const { columns } = stages.at(-1)!;
  const { client } = new ShownKeys(connection.client, keysOf(run, stages.at(-1)!), (shown, fingerprint) => {
    const chunks = stages.flatMap((stage) => stage.chunks);
    const known = { resource, before: snapshot, chunks, columns };
    return showKey({ ...connection, store: staging.store }, { client: shown, ...known }, fingerprint);
  });
  const { cancellationSignal: signal, info } = Context.current();
  const givenMs = timeGiven({ startedAt, giveUpAfterMs }, info.scheduledTimestampMs);
  /** Across all attempts. */
  const ageMs = (): number => clock() - info.scheduledTimestampMs;
  const isLate = (waitMs = 0): boolean => ageMs() + waitMs > SHARE_OF_TIME * givenMs;
  const before = (await readProgress(staging)) ?? nothingAsked(journal.absent);
  const gone = [...before.gone];
  let { unproven, found } = before;
  const refused: SortKey[] = [];
  const untried: SortKey[] = [];
  const failures: TransientError[] = [];
  const ask = (key: SortKey, onRecord?: (text: ByteString) => void) => {
    const id = idOf(key, resource.csv);
    const request = { resource: resource.name, path: resource.path, id, signal };
    return askById(client, request, resource.key[0]!, onRecord);
  };
  const signsIn = (key: SortKey): string =>
    [...new Set(idOf(key, resource.csv).replace(BEYOND_ASCII, '\x7f').match(SIGNS))].sort().join('');
  const listed = listedRecords(stages);
  const last = stages.at(-1)!;
  const masked = { ...run, resource: await withMaskingKey(settings, resource) };
  const records = new ShownRecords(
    { client, staging, run: masked, last, now: clock, signal },
    before.shown ?? null,
  );
  const control = await askControls(ask, listed);
  const rest = { unproven: unproven + before.open.length, works: true };
  if (control instanceof TransientError) {
    // A limit ends while words are still believed.
    if (seemsRefused(control) && ageMs() >= MAX_WORDS_MS) return finish([], { unproven: 0, works: false });
    if (!isLate(control.retryAfterMs ?? 0)) throw control;
    return finish(gone, rest);
  }
  if (control === 'not-found') {
    // In an earlier attempt, it may have worked.
    return found > 0 || gone.length > 0 ? finish(gone, rest) : finish([], { unproven: 0, works: false });
  }
  let isOut = false;
  await inParallel(before.open, settings.http.concurrency, async (key) => {
    if (isOut || isLate()) return void untried.push(key);
    try {
      let record: ByteString | null = null;
      let answer = await ask(key, (text) => {
        record = text;
      });
      if (record !== null) answer = await records.add(record);
      if (answer === 'found') found++;
      if (answer === 'gone') gone.push(key);
      if (answer === 'unclear') unproven++;
    } catch (error) {
      if (!(error instanceof TransientError)) throw error;
      // Without a record that was found, there may be no such endpoint.
      if (control === 'none-listed' && isWebPage(error)) return void unproven++;
      failures.push(error);
      isOut ||= isServiceWide(error);
      (isOut ? untried : refused).push(key);
    }
  });
  // While a new version of the service is installed, every path may be unknown for a while.
  const after = gone.length > before.gone.length ? await askControls(ask, listed) : control;
  if (after !== control) {
    for (const key of gone.splice(before.gone.length)) untried.push(key);
    if (after instanceof TransientError) failures.push(after);
    isOut = true;
  }
  const open = [...untried, ...refused];
  const rounds = before.rounds + (isOut ? 0 : 1);
  // Any other failure has already lasted as long as retries can help.
  const failure = failures.findLast((one) => one.retryable);
  const mayRepeat = failure !== undefined && !isLate(failure.retryAfterMs ?? 0);
  if (mayRepeat && (isOut || rounds < MAX_ROUNDS)) {
    const progress = { gone, unproven, found, open, rounds, shown: await records.finish() };
    await staging.write(ASKED, staging.own('asked', 0), progress);
    throw failure;
  }
  // An empty list shows no record to test the endpoint with, but the endpoint may know some of the absent ones. Nor does a sample,
  // whose rows may all exist.
  const trusts = run.allowDeletes && run.audit?.sample === undefined;
  const works = control === 'found' || found > 0 || trusts;
  if (!works) return finish([], { unproven: 0, works });
  return finish(gone, { unproven: unproven + open.length, works });

  async function finish(
    answered: SortKey[],
    { unproven: open, works }: { unproven: number; works: boolean },
  ) {
    const plain = answered.filter((key) => signsIn(key) === '').sort();
    const again = await withSigns(answered.filter((key) => signsIn(key) !== ''));
    const { untaken, differs, ...shown } = await records.finish();
    const read = shown.chunks.length === 0 && shown.thin === last.thin ? null : await stageShown(shown);
    const decided = afterAsking(journal, read?.stage ?? last, {
      ...{ gone: plain, again, works, untaken: { records: untaken, isCompared: differs === true } },
      unproven: open + answered.length - plain.length - again.length,
      listIsEmpty: isEmptyList(stages, nextOf(journal, 'settleById').since),
    });
    const stage = read?.key ?? journal.stage;
    return toNextPhase(await staging.decide({ ...decided, stage, rows: last.fetched + shown.fetched }));
  }

  /**
   * The records that a second pass has to miss, too. Absence cannot tell a deleted record from one that has left the list's window,
   * so with a window, the endpoint must have found a listed record with the same signs.
   */
  async function withSigns(keys: readonly SortKey[]): Promise<SortKey[]> {
    if (resource.windowMs === null) return [...keys].sort();
    const accepted = new Set<string>();
    for (const signs of new Set(keys.map(signsIn))) if (await areAccepted(signs)) accepted.add(signs);
    return keys.filter((key) => accepted.has(signsIn(key))).sort();
  }

  /** Adds the records to what the run has read. */
  async function stageShown(shown: Omit<StagedShown, 'untaken' | 'differs'>): Promise<StoredStage> {
    const stage: Stage = {
      ...last,
      ...{ previous: journal.stage, seen: [], marks: [], kind: 'catch-up', chain: last.chain + 1 },
      isById: true,
      ...shown,
      fetched: last.fetched + shown.fetched,
      duplicates: last.duplicates + shown.duplicates,
    };
    return { key: await staging.write(STAGE, staging.own('by-id', 0), stage), stage };
  }

  /** Whether the endpoint finds a listed record with these signs in its id. */
  async function areAccepted(signs: string): Promise<boolean> {
    const alike = listedRecords(stages, (key) => [...signs].every((sign) => signsIn(key).includes(sign)));
    return (await askControls(ask, alike)) === 'found';
  }
}

/** Keys of records that the list has shown, the newest first. */
function listedRecords(stages: readonly Stage[], isWanted = (_: SortKey): boolean => true): SortKey[] {
  const chunks = stages.flatMap((stage) => stage.chunks);
  const keys = chunks.reverse().flatMap(({ first, last }) => [last, first]);
  return [...new Set(keys)].filter(isWanted).slice(0, MAX_CONTROLS);
}

/**
 * Requests records that the list has just shown. If none of them is found, either because the service has no such endpoint or
 * because the API key may not use it, a 404 of the same endpoint proves nothing.
 *
 * @returns the failure if the service did not answer, so that another attempt may
 */
async function askControls(
  ask: (key: SortKey) => ReturnType<typeof askById>,
  listed: readonly SortKey[],
): Promise<'found' | 'not-found' | 'none-listed' | TransientError> {
  let failure: TransientError | null = null;
  for (const key of listed) {
    try {
      if ((await ask(key)) === 'found') return 'found';
    } catch (error) {
      if (!(error instanceof TransientError)) throw error;
      if (isWebPage(error) || (seemsRefused(error) && error.evidence === 'challenge')) return 'not-found';
      failure = error;
    }
  }
  return failure ?? (listed.length === 0 ? 'none-listed' : 'not-found');
}

/** Whether a failure concerns the service or the connection, and not only the requested record. */
function isServiceWide(error: TransientError): boolean {
  const { reason, status, retryAfterMs } = error;
  return (reason !== 'status' && !isWebPage(error)) || status === 429 || retryAfterMs !== null;
}

/** What earlier attempts have learned; `null`: nothing. */
async function readProgress(staging: Staging): Promise<Progress | null> {
  const last = await staging.last('asked', 'phase');
  return last === null ? null : staging.read(ASKED, last);
}

function nothingAsked(open: readonly SortKey[]): Progress {
  return { gone: [], unproven: 0, found: 0, open, rounds: 0 };
}
