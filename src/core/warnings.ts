/**
 * The warnings of a run or a batch (docs/how-to/monitor.md#warnings). Inside the program, a warning is its kind and facts: it
 * is compared, counted and kept as such, and only `warningText` makes English of it, where it is shown or written. Facts are
 * part of histories, so they hold no key and no value of a record. Pure: the workflow sandbox imports this file.
 */
import type { RunId } from './brands.js';
import { MINUTE_MS } from './duration.js';
import { isIncomplete, type ListDoubt, lacksRecords, shortfall } from './list-evidence.js';
import type { Removal } from './removal.js';

/** A doubt about a list that a run publishes. An audit has limits instead. */
export type PublishedDoubt = Exclude<ListDoubt, { kind: 'cut' }>;
/** Why a run that looked for deletes could not conclude some of them. Part of a history, so it holds no record content. */
export type DeletesProblem =
  /** `form`: the form of a value that is no date, as `formOf` gives it. */
  | { readonly kind: 'not-dates'; readonly form: string }
  | { readonly kind: 'no-dates' }
  | { readonly kind: 'endpoint' }
  /**
   * The list was empty although the snapshot has this many rows that it should list. `next`: the run did not look for deletes, and the
   * next one does (`looks`), or rows are always kept. Absent: it did.
   */
  | { readonly kind: 'empty-list'; readonly rows: number; readonly next?: 'looks' | 'kept' }
  /** So many records had no key (`badRecords: quarantine`): they may be those that seem to be absent. */
  | { readonly kind: 'keyless'; readonly records: number }
  /**
   * So many records are not listed but exist, and their values by id were not taken: a listed record differs by id, or none could be
   * compared.
   */
  | { readonly kind: 'by-id-untaken'; readonly records: number; readonly isCompared: boolean };

/** A clock of `RunClocks`. */
export type ClockName = 'temporal' | 'worker' | 'store';

/** Why an increment that a batch requested did not read its rows. */
export interface IncrementProblem {
  /** Of the run, or `unanswered`, or `late`: it took longer than `waitMs`. */
  readonly outcome: string;
  readonly waitMs?: number;
  /** `null`: it has no error. */
  readonly message: string | null;
}

/**
 * The sentence of each kind of warning. A kind exists as soon as its sentence does, and its facts are those that the sentence
 * takes. Sentences name their subject first.
 */
const SENTENCES = {
  /** `target`: the run that a rollback went back to. */
  gap: (of: {
    readonly resource: string;
    readonly from: string;
    readonly to: string;
    readonly target: RunId | null;
  }) => {
    const what = of.target === null ? 'the last run was' : `run ${of.target}, the target of a rollback, was`;
    return (
      `gap: the service no longer lists changes from ${of.from} to ${of.to}, because ${what} longer ago than the window of ` +
      of.resource
    );
  },
  'rollback-not-listed': (of: {
    readonly resource: string;
    readonly records: number;
    readonly to: RunId;
    readonly head: RunId;
    readonly rollbacks: number;
  }) => {
    const [is, stays] = of.records === 1 ? ['is', 'stays'] : ['are', 'stay'];
    const [by, as] =
      of.rollbacks === 1
        ? [`the rollback to run ${of.to}`, 'as in that run']
        : [`${of.rollbacks} rollbacks, the last one to run ${of.to},`, 'as they left them'];
    return (
      `rollback: ${count(of.records, 'record')} that ${by} changed ${is} not listed any more and ${stays} ${as}; their newer ` +
      `versions are in run ${of.head}: worktrack cat ${of.resource} --run ${of.head}`
    );
  },
  'no-deletes-after-rollback': ({ resource }: { readonly resource: string }) =>
    'rollback: this run reads everything after the rollback and marks no deletes; to detect deletes, run ' +
    `\`worktrack backfill --resource ${resource} --reconcile\` after it`,
  /** `damaged`: number of parts; `null`: the manifest. */
  'left-out': (of: {
    readonly resource: string;
    readonly runId: RunId;
    readonly parts: { readonly damaged: number; readonly of: number } | null;
  }) => {
    const what =
      of.parts === null ? 'the snapshot' : `${of.parts.damaged} of ${of.parts.of} parts of the snapshot`;
    return (
      `rollback: ${what} of run ${of.runId} could not be read and was left out; records that were added there are missing until a ` +
      `run lists them, and ${of.resource}_newest still shows them`
    );
  },
  /** `readFrom`: `null`: everything was read. */
  'since-refused': (of: { readonly since: string; readonly readFrom: string | null }) =>
    `updatedSince: the service refused the time ${of.since}, so ` +
    (of.readFrom === null ? 'this run read everything' : `changes were read from ${of.readFrom}`),
  'time-unknown': ({ since }: { readonly since: string }) =>
    "clock: it is not known how much time has passed since the previous run, because Temporal's clock went back or the " +
    `service sent no Date; this run read everything instead of the changes since ${since}`,
  'clock-set-back': (of: { readonly since: string; readonly readFrom: string }) =>
    `clock: the service's clock seems to have been set back; changes were read from ${of.readFrom} instead of ${of.since}`,
  'clocks-differ': (of: { readonly hours: number; readonly ahead: ClockName; readonly behind: ClockName }) =>
    `clock: the service sends no Date, and ${CLOCKS[of.ahead]} is ${of.hours} h ahead of ${CLOCKS[of.behind]}; the next run ` +
    'reads the changes since the earliest of all clocks. Synchronize the clocks (NTP)',
  resumed: (of: { readonly runId: RunId; readonly since: string }) =>
    `resumed: this run reused pages of failed run ${of.runId}, read from ${of.since} on, and read the changes since then itself`,
  /** `object`: a document that the run staged; `layout`: `null`: it is damaged, or has none. */
  'not-continued': (of: { readonly runId: RunId; readonly object: string; readonly layout: number | null }) =>
    `not continued: run ${of.runId} could not be continued, because ${of.object} ` +
    `${of.layout === null ? 'is damaged' : `has layout ${of.layout}, which this version does not read`}, so this run began again. ` +
    'Give all workers of the connection the same version',
  'pages-of-other-key': ({ runId }: { readonly runId: RunId }) =>
    `organization: the pages of failed run ${runId} were read with another API key, and it is not shown that both keys belong ` +
    'to the same organization, so this run read everything itself',
  'organization-no-endpoint': ({ resource }: { readonly resource: string }) =>
    `organization check: skipped, because GET ${resource}/<id> does not find a record that the list shows; ` +
    'set `fetchById: false` for this resource if the service has no such endpoint',
  'organization-no-answer': (of: { readonly resource: string; readonly requests: number }) =>
    `organization check: skipped, because the service ` +
    `${of.requests === 1 ? 'did not answer a request' : `answered none of ${of.requests} requests`} for known ` +
    `${of.resource}; if you have changed the API key, run \`worktrack doctor\``,
  moved: (of: { readonly from: string; readonly to: string }) =>
    `moved: the service was at ${of.from} and is now at ${of.to}; the lake was adopted with --adopt, and this run read everything`,
  renamed: (of: { readonly from: string; readonly to: string }) =>
    `renamed: the lake belonged to connection "${of.from}" and now belongs to "${of.to}"; it was adopted with --adopt, and ` +
    `write-back batches keep the name that they began with. The Schedule of "${of.from}", if there is one, still starts ` +
    `runs of that name: temporal schedule delete --schedule-id worktrack/${of.from}/nightly`,
  'list-shifted': ({ readings }: { readonly readings: number }) =>
    `list shifted: records moved between pages in ${readings} consecutive readings of the list; rows that did not ` +
    'change may be missing or out of date. The next run reads everything',
  'list-not-checked': ({ why }: { readonly why: string }) =>
    `list check: pages of the list could not be requested again (${why}), so it is not known whether records moved ` +
    'between pages while they were read',
  'list-doubt': listDoubt,
  /** `before`, `now`: the lists without the values of their parameters. */
  'list-replaced': (of: {
    readonly resource: string;
    readonly before: string;
    readonly now: string;
    readonly rows: number;
  }) =>
    `list: ${of.resource} was read from ${of.before} before and is now read from ${of.now}; ${count(of.rows, 'row')} of the ` +
    `earlier list ${of.rows === 1 ? 'is' : 'are'} not in it and ${of.rows === 1 ? 'stays' : 'stay'} in the lake. If they are gone, run ` +
    `\`worktrack export --resource ${of.resource} --allow-deletes\``,
  'deletes-not-concluded': (of: {
    readonly resource: string;
    readonly problem: DeletesProblem;
    readonly windowField: string | null;
    readonly hasWindow: boolean;
  }) => `deletes: ${deletesProblem(of)}`,
  'deletes-unproven': ({ records }: { readonly records: number }) =>
    `deletes: ${count(records, 'record')} no longer listed, but the service confirmed neither that ` +
    `${records === 1 ? 'it exists nor that it is' : 'they exist nor that they are'} deleted; the rows are kept`,
  'deletion-marks': (of: {
    readonly resource: string;
    readonly records: number;
    readonly rule: { readonly field: string; readonly values: readonly string[] | null };
  }) => {
    const { field, values } = of.rule;
    const rule = values === null ? `{ field: ${field} }` : `{ field: ${field}, values: [${values}] }`;
    return (
      `deletes: ${count(of.records, 'record')} with a mark of deletion set aside, so their rows stay as they are; to delete ` +
      `these rows, set \`deleted: ${rule}\` for ${of.resource}`
    );
  },
  'no-key': ({ records }: { readonly records: number }) =>
    `${count(records, 'record')} without a key written to _quarantine/`,
  'key-not-unique': ({ records }: { readonly records: number }) =>
    `key: ${count(records, 'record')} whose key is not unique written to _quarantine/; the rows of their keys stay as they ` +
    'were. `worktrack doctor --try-service` proposes a key',
  missed: (of: { readonly resource: string; readonly rows: number; readonly since: string | null }) =>
    `missed: ${count(of.rows, 'row')} of ${of.resource} differ${of.rows === 1 ? 's' : ''}, although the changes since ` +
    `${of.since} do not show ${of.rows === 1 ? 'it' : 'them'}. If the service lists changes late, set a larger ` +
    '`sync.overlap`; if records change without a new time, a shorter `sync.reconcileEvery` finds them sooner',
  'went-back': (of: { readonly records: number; readonly field: string | null }) =>
    `updatedAt: ${count(of.records, 'record')} came with an earlier "${of.field}" than before; ` +
    `${of.records === 1 ? 'its row stays' : 'their rows stay'} as ${of.records === 1 ? 'it is' : 'they are'}. Perhaps a copy of the ` +
    "service's database lags",
  announced: (of: { readonly resource: string; readonly says: string }) =>
    `announced: ${of.resource}: ${of.says}`,
  'replaced-characters': ({ characters }: { readonly characters: number }) =>
    `${count(characters, 'character')} that UTF-8 cannot represent (lone surrogates, invalid bytes) became U+FFFD`,
  'lenient-json': ({ deviations }: { readonly deviations: number }) =>
    `json: ${count(deviations, 'deviation')} from JSON accepted (raw control characters in strings, NaN or Infinity as null), ` +
    'because of `json: lenient`',
  /** `names`: the settings that changed; `unrestored`: rows that keep cells of earlier settings. */
  'settings-changed': (of: {
    readonly names: readonly string[];
    readonly isOtherSecret: boolean;
    readonly isRollback: boolean;
    readonly unrestored: number;
  }) => {
    const why = of.isOtherSecret
      ? 'the masking secret differs from the one of the base snapshot'
      : `${of.names.join(', ')} changed`;
    const restored = of.unrestored === 0 ? 'all rows were restored' : keepsCells(of.unrestored);
    // A rollback does not read the service.
    const done = of.isRollback
      ? 'so the next run restores the rows that the service lists'
      : `so everything was read again; ${restored}`;
    return `settings: ${why}, ${done}`;
  },
  /** `isKnown`: the settings changed in this run. Otherwise they may have changed before, and the rows may be as they should be. */
  'earlier-cells': (of: { readonly rows: number; readonly isKnown: boolean }) =>
    `settings: ${of.isKnown ? keepsCells(of.rows) : `${unlistedRows(of.rows)} may keep ${EARLIER_CELLS}`}`,
  'hidden-columns': (of: {
    readonly resource: string;
    readonly names: readonly string[];
    readonly days: number;
    readonly hasTable: boolean;
  }) =>
    `settings: ${of.resource} hides ${of.names.join(', ')} from now on, but earlier ` +
    `snapshots${of.hasTable ? ', change logs and versions of the table' : ' and change logs'} still hold the clear values; ` +
    `snapshots are removed after ${count(of.days, 'day')}, change logs are kept`,
  /** A check that has failed; `acceptedBy`: who published the run in spite of it. */
  check: (of: {
    readonly name: string;
    readonly allowed: string;
    readonly found: string;
    readonly acceptedBy: string | null;
  }) =>
    `check: ${of.name}: allowed ${of.allowed}; found ${of.found}` +
    (of.acceptedBy === null ? '' : `; accepted by ${of.acceptedBy}`),
  'not-removed': (of: Removal & { readonly from: 'lake' | 'table' }) => {
    const objects = of.refused === 1 ? '1 object that is' : `${of.refused} objects that are`;
    const text =
      `clean-up: the store refused to remove ${objects} no longer needed (${of.said}), so the lake grows. The published data is ` +
      'complete. Allow s3:DeleteObject, or end the lock or retention of the bucket; the next clean-up tries again.';
    return of.from === 'table' ? `table: ${text}` : text;
  },
  'sweep-failed': ({ message }: { readonly message: string }) =>
    `sweep: what earlier runs left could not be removed; a later run does it. ${message}`,
  'table-behind': ({ message }: { readonly message: string }) =>
    `table: it does not show the published run yet; the next run catches up. ${message}`,
  'table-unchecked': ({ message }: { readonly message: string }) =>
    `table: the values were published without a comparison with tables.types, which the next run repeats. ${message}`,
  'table-clean-up-failed': ({ message }: { readonly message: string }) =>
    `table: it shows the published run, but its clean-up failed: ${message}. The next run repeats it`,
  'table-run-skipped': (of: { readonly runId: RunId; readonly reason: string }) =>
    `table: the earlier run ${of.runId} gets no version: ${of.reason}`,
  'table-rewritten': (of: { readonly damage: string; readonly version: number }) =>
    `table: ${of.damage}. The table was written again as version ${of.version}, and its earlier versions cannot be read any more`,
  'table-nulls': (of: { readonly name: string; readonly type: string; readonly count: number }) =>
    `table: ${of.count} values of "${of.name}" are NULL, because they do not fit ${of.type}`,
  /** `target`: `null`: the workflow that announces the run. */
  'hook-not-started': (of: { readonly target: HookTarget | null; readonly message: string }) => {
    const what = of.target === null ? 'the announcement' : hookText(of.target);
    return `onPublished: ${what} could not be started; the next published run starts it. ${of.message}`;
  },
  'hook-skipped': (of: {
    readonly runId: RunId;
    readonly target: HookTarget | null;
    readonly message: string;
  }) => {
    const what = of.target === null ? 'announceWorkflow' : hookOf(of.target);
    return `onPublished: the workflow for run ${of.runId} can never be started, so it is skipped: ${what}. ${of.message}`;
  },
  'snapshot-missing': ({ key }: { readonly key: string }) =>
    `${key} is missing, although latest.json names it`,
  'rows-not-compared': (of: IncrementProblem) =>
    `no row was left out as unchanged, because ${incrementText('the increment before it', of)}`,
  'undo-not-sent': (of: IncrementProblem) =>
    `the records were not compared again, because ${incrementText('the increment before the undo', of)}`,
  'batch-not-undoable': (of: IncrementProblem) =>
    `the batch cannot be undone, because ${incrementText('the increment before it', of)}`,
  'rows-not-in-lake': ({ resource, ...of }: IncrementProblem & { readonly resource: string }) =>
    `the written rows are not in the lake yet, because ${incrementText('the read-back', of)}. Run \`worktrack export --resource ` +
    `${resource}\``,
  /** `message`: `null`: the batch was cancelled. */
  'rows-not-looked-for': ({ message }: { readonly message: string | null }) =>
    `the written rows are not looked for, because ${message ?? 'the batch was cancelled'}`,
  'same-id': (of: { readonly resource: string; readonly rows: number }) =>
    `the service gave ${count(of.rows, 'row')} the id of another row of the batch, so it may have merged them into one record. ` +
    `Look for these ids in results.csv and in the service, or correct writeBack.${of.resource}.idField`,
  'look-failed': ({ message }: { readonly message: string }) => `a look for the rows failed: ${message}`,
  'increment-not-published': (of: IncrementProblem) => incrementText('the increment', of),
  /** Warnings that a history leaves out. */
  more: ({ count: more }: { readonly count: number }) => `and ${more} more, in the manifest`,
  /** A sentence of an earlier build, which kept warnings as texts. */
  text: ({ text }: { readonly text: string }) => text,
} as const;

type Sentences = typeof SENTENCES;
export type WarningKind = keyof Sentences;
/** A warning of one kind, with the facts of its sentence. */
export type WarningOf<Kind extends WarningKind> = { readonly kind: Kind } & Parameters<Sentences[Kind]>[0];
export type Warning = { [Kind in WarningKind]: WarningOf<Kind> }[WarningKind];
/** A warning as a history or a document of any build may have it: a text, or a kind that this build does not know. */
export type StoredWarning = Warning | string | { readonly kind: string };

/** A warning in English, for people. One of another build shows its kind and facts. */
export function warningText(warning: StoredWarning): string {
  if (typeof warning === 'string') return warning;
  const { kind, ...facts } = warning;
  const sentence = sentenceOf(kind, facts);
  if (sentence !== null) return sentence;
  const named = Object.entries(facts).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return [kind, ...(named.length === 0 ? [] : [named.join(', ')])].join(': ');
}

/** The sentence of this build; `null`: it has none for such a kind or such facts, which another build may have written. */
function sentenceOf(kind: string, facts: object): string | null {
  if (!Object.hasOwn(SENTENCES, kind)) return null;
  try {
    const sentence: unknown = (SENTENCES[kind as WarningKind] as (of: unknown) => unknown)(facts);
    return typeof sentence === 'string' ? sentence : null;
  } catch {
    return null;
  }
}

/** A warning of any build, as a warning of this one. */
export function toWarning(stored: StoredWarning): Warning {
  // `warningText` shows unknown kinds, and nothing else looks at them.
  return typeof stored === 'string' ? { kind: 'text', text: stored } : (stored as Warning);
}

/** The warning about objects that a store refused to remove; none if there are none. */
export function removalWarnings(removal: Removal, from: 'lake' | 'table' = 'lake'): readonly Warning[] {
  return removal.refused === 0 ? [] : [{ kind: 'not-removed', ...removal, from }];
}

/** A workflow of `onPublished`. */
interface HookTarget {
  readonly workflow: string;
  readonly taskQueue: string;
}

const CLOCKS = {
  temporal: "Temporal's clock",
  worker: "the worker's clock",
  store: "the store's clock",
} as const satisfies Record<ClockName, string>;

const IGNORE_TOTAL = 'If this total counts something else, set `sync.total: ignore`';

/** `field`: the one that has the time of a change; `isFirst`: nothing was published before. */
function listDoubt({
  resource,
  doubt,
  field,
  isFirst,
}: {
  readonly resource: string;
  readonly doubt: PublishedDoubt;
  readonly field: string | null;
  readonly isFirst: boolean;
}): string {
  const held = 'the checkpoint stays where it was, and this run does not count as a full read';
  const effect = isFirst
    ? 'so rows may be missing; the next run reads everything'
    : `so no deletes were concluded, ${held}`;
  switch (doubt.kind) {
    case 'total':
      return (
        `list: ${shortfall(resource, doubt)}, so no deletes were concluded from absence` +
        `${doubt.isProven && !isFirst ? `, ${held}` : ''}. ${IGNORE_TOTAL}`
      );
    case 'in-parts': {
      const { total = 0, read = 0 } = doubt;
      const missing = `${shortfall(resource, { total, read })}: records without "${field}" are in no part, ${effect}. ${IGNORE_TOTAL}`;
      return (
        `list: the cursors of ${resource} end before the list does, so it was read in ${doubt.parts} parts, by "${field}"; ` +
        (!isIncomplete(doubt)
          ? 'no deletes were concluded, and it is not known whether records moved between its pages'
          : lacksRecords(doubt)
            ? missing
            : `not all of it was in that order, ${effect}`)
      );
    }
    case 'said':
      return `list: the service says that the list is incomplete (${doubt.words}), ${effect}`;
    case 'full-end':
      return `list: the list ends in an unusual way, on a page that is as full as the one before (${doubt.words}), ${effect}`;
  }
}

function deletesProblem({
  resource,
  problem,
  windowField,
  hasWindow,
}: {
  readonly resource: string;
  readonly problem: DeletesProblem;
  readonly windowField: string | null;
  readonly hasWindow: boolean;
}): string {
  switch (problem.kind) {
    case 'not-dates':
      return (
        `\`windowField\` "${windowField}" has a value of the form "${problem.form}" (0 for a digit, x for a letter), which is ` +
        'neither ISO 8601 nor an epoch number, so no deletes were concluded; name a field that has only such dates'
      );
    case 'no-dates':
      return (
        `no row has a value in \`windowField\` "${windowField}", so no deletes were concluded; ` +
        '`worktrack doctor --try-service` finds the field that dates the window'
      );
    case 'endpoint':
      return (
        `GET ${resource}/<id> did not find a record that the list had just shown, so its 404 proves nothing; ` +
        (hasWindow
          ? 'no deletes were concluded. Set `fetchById: false` to conclude them from the dates'
          : 'deletes were concluded from a second reading instead; set `fetchById: false`')
      );
    case 'keyless':
      return (
        `${count(problem.records, 'record')} without a key may be rows that seem to be gone, so no deletes were concluded; to ` +
        `conclude them, run \`worktrack export --resource ${resource} --allow-deletes\``
      );
    case 'by-id-untaken':
      return (
        `${count(problem.records, 'row')} ${problem.records === 1 ? 'is' : 'are'} no longer listed but ${problem.records === 1 ? 'exists' : 'exist'}, and may be out of date: ` +
        (problem.isCompared
          ? `GET ${resource}/<id> shows other fields or values of a listed record than the list`
          : `no listed record could be compared with GET ${resource}/<id>`) +
        ', so nothing was taken from it. If the service has a parameter that lists them, set `params`'
      );
    case 'empty-list': {
      const kept = `the list is empty, but ${count(problem.rows, 'row')} of the snapshot should be in it; the rows are kept`;
      if (problem.next === 'kept') return `${kept}. Check whether the API key may still read these records`;
      const again = problem.next === 'looks' ? ', and the next run reads everything again' : '';
      return (
        `${kept}${again}. If they have really been deleted, run \`worktrack export --resource ${resource} --allow-deletes\`; ` +
        'otherwise, check whether the API key may still read them'
      );
    }
  }
}

const EARLIER_CELLS = 'cells of earlier settings: empty, masked or clear ones';

function unlistedRows(rows: number): string {
  return `${count(rows, 'row')} that the service no longer lists`;
}

function keepsCells(rows: number): string {
  return `${unlistedRows(rows)} ${rows === 1 ? 'keeps' : 'keep'} ${EARLIER_CELLS}`;
}

function hookOf({ workflow, taskQueue }: HookTarget): string {
  return `${workflow} on task queue ${taskQueue}`;
}

function hookText(target: HookTarget): string {
  return `workflow ${hookOf(target)}`;
}

function incrementText(what: string, { outcome, message, waitMs = 0 }: IncrementProblem): string {
  if (outcome === 'late') return `${what} took longer than ${waitMs / MINUTE_MS} minutes`;
  const how = outcome === 'unanswered' ? 'failed' : `was ${outcome}`;
  return `${what} ${how}${message === null ? '' : `: ${message}`}`;
}

function count(n: number, thing: string): string {
  return `${n} ${thing}${n === 1 ? '' : 's'}`;
}
