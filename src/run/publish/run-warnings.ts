import { displayQuery, listName } from '../../api/index.js';
import { DAY_MS } from '../../core/duration.js';
import type { ListDoubt } from '../../core/list-evidence.js';
import { MAX_REREADS } from '../../core/mirror-requests.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import type { Warning } from '../../core/warnings.js';
import { countsUnlisted, type RunFile } from '../../lake/documents/run-file.js';
import type { Stage } from '../../lake/documents/stage-file.js';
import { canDetectDeletes } from '../delete-rules.js';
import type { AddedUp } from '../merge-result.js';
import { clockDifference, type windowGap } from '../read/watermark.js';
import type { Journal, MergePlan } from '../run-journal.js';
import type { CheckedCandidate } from './check-candidate.js';
import type { CheckedTypes } from './delta-table.js';

/** What a run has read and merged, as far as its manifests say it. */
export interface RunFindings extends Pick<Journal, 'deletes' | 'emptied'>, CheckedTypes {
  /** Whether the list has also shifted during the last reread, so that rows may be missing. */
  readonly shifted: boolean;
  /** The last stage. */
  readonly stage: Stage;
  /** The end of the last reading of the list. Its `updatedSince` is earlier than planned if the service's clock was set back. */
  readonly list: Stage;
  readonly plan: MergePlan;
  readonly sum: AddedUp;
  /** `null`: the resource has no checks. */
  readonly checked: CheckedCandidate | null;
}

/**
 * The warnings of a published run.
 *
 * @param gap the time whose changes the service no longer lists
 * @param notListed records that a rollback changed and that the full read after it did not list; `null`: not counted
 */
export function warningsOf(
  run: RunFile,
  found: RunFindings,
  gap: ReturnType<typeof windowGap>,
  notListed: number | null,
): Warning[] {
  const { stage, list, shifted, sum } = found;
  const { name: resource } = run.resource;
  const { resumed } = run;
  return [
    ...settingsWarnings(run, sum.counts.unrestored),
    ...listWarnings(run, sum.counts.unlisted),
    ...when(gap, ({ from, to }) => {
      return { kind: 'gap', resource, from, to, target: run.before?.rolledBack?.to ?? null };
    }),
    ...rollbackWarnings(run, notListed ?? 0),
    ...timeWarnings(run, list),
    ...clockWarnings(run, stage),
    ...when(resumed, ({ runId }) => ({ kind: 'resumed', runId, since: toUtcSeconds(run.readSince) })),
    ...some(shifted ? 1 + MAX_REREADS : 0, (readings) => ({ kind: 'list-shifted', readings })),
    ...when(list.notChecked, (why) => ({ kind: 'list-not-checked', why })),
    ...doubtWarnings(run, stage.doubts),
    ...deletesWarnings(run, found),
    ...recordWarnings(run, found),
    ...when(found.typesProblem, (message) => ({ kind: 'table-unchecked', message })),
  ];
}

/** A warning about something that there may be. */
function when<T>(found: T | null | undefined, warning: (of: T) => Warning): Warning[] {
  return found === null || found === undefined ? [] : [warning(found)];
}

/** A warning about a number of things; none if there are none. */
function some(number: number, warning: (of: number) => Warning): Warning[] {
  return number > 0 ? [warning(number)] : [];
}

function rollbackWarnings({ before, resource }: RunFile, records: number): Warning[] {
  return some(records, () => {
    const { to, head, rollbacks } = before!.rolledBack!;
    const kind = 'rollback-not-listed';
    return { kind, resource: resource.name, records, to, head, rollbacks: rollbacks.length };
  });
}

function timeWarnings(
  { updatedSince: since }: RunFile,
  { refusedSince, updatedSince: readFrom }: Stage,
): Warning[] {
  if (since === null) return [];
  if (refusedSince !== undefined) return [{ kind: 'since-refused', since, readFrom }];
  if (!isSetBack(since, readFrom)) return [];
  return [readFrom === null ? { kind: 'time-unknown', since } : { kind: 'clock-set-back', since, readFrom }];
}

function clockWarnings({ rollback, clocks }: RunFile, { serviceStart }: Stage): Warning[] {
  if (rollback !== null || serviceStart !== null || clocks === undefined) return [];
  return when(clockDifference(clocks), (found) => ({ kind: 'clocks-differ', ...found }));
}

/** The doubts about the lists of a run: one warning for each kind, because each of its readings may have the same. */
function doubtWarnings({ resource, before }: RunFile, doubts: readonly ListDoubt[]): Warning[] {
  const { name, updatedAtField: field } = resource;
  const first = new Map(doubts.map((doubt) => [doubt.kind, doubt] as const).reverse());
  return [...first.values()].flatMap((doubt): Warning[] => {
    // An audit has limits instead of warnings.
    if (doubt.kind === 'cut') return [];
    return [{ kind: 'list-doubt', resource: name, doubt, field, isFirst: before === null }];
  });
}

function deletesWarnings({ resource }: RunFile, { deletes, emptied }: RunFindings): Warning[] {
  const { name, windowField, windowMs } = resource;
  const of = { resource: name, windowField, hasWindow: windowMs !== null };
  const next = canDetectDeletes(resource) ? 'looks' : 'kept';
  return [
    ...(deletes?.problems ?? []).map(
      (problem): Warning => ({ kind: 'deletes-not-concluded', ...of, problem }),
    ),
    ...some(emptied, (rows) => {
      return { kind: 'deletes-not-concluded', ...of, problem: { kind: 'empty-list', rows, next } };
    }),
    ...some(deletes?.unproven ?? 0, (records) => ({ kind: 'deletes-unproven', records })),
  ];
}

/** What was odd about records that were read. */
function recordWarnings({ resource, checkpoint }: RunFile, { stage, sum }: RunFindings): Warning[] {
  const { counts } = sum;
  const { name, updatedAtField: field } = resource;
  const { records, rule } = stage.thin;
  return [
    ...some(stage.quarantined, (records) => ({ kind: 'no-key', records })),
    ...when(rule, (rule) => ({ kind: 'deletion-marks', resource: name, records, rule })),
    ...some(counts.setAside, (records) => ({ kind: 'key-not-unique', records })),
    ...some(counts.missed, (rows) => ({ kind: 'missed', resource: name, rows, since: checkpoint })),
    ...some(counts.wentBack, (records) => ({ kind: 'went-back', records, field })),
    ...when(stage.announced, (says) => ({ kind: 'announced', resource: name, says })),
    ...some(stage.replaced, (characters) => ({ kind: 'replaced-characters', characters })),
    ...some(stage.repaired, (deviations) => ({ kind: 'lenient-json', deviations })),
  ];
}

/** Differences up to this are normal without an overlap, because responses take time and clocks are compared in seconds. */
const CLOCK_NOISE_MS = 2000;

function isSetBack(planned: RunFile['updatedSince'], asked: RunFile['updatedSince']): boolean {
  if (planned === null || planned === asked) return false;
  return asked === null || Date.parse(planned) - Date.parse(asked) > CLOCK_NOISE_MS;
}

/** The most names in a warning, and the characters of each. */
const NAMED = { most: 8, length: 60 };

/** @param unrestored rows that keep cells of earlier settings */
function settingsWarnings(
  { settingsChange: change, resource, rollback, retention, tables }: RunFile,
  unrestored: number,
): Warning[] {
  const earlier = (): Warning[] =>
    some(unrestored, (rows) => ({ kind: 'earlier-cells', rows, isKnown: change !== null }));
  if (change === null) return earlier();
  const changed = {
    names: short(change.changed),
    isOtherSecret: change.changed.includes('masking.secret'),
    ...{ isRollback: rollback !== null, unrestored },
  };
  return [
    ...(change.mustRead ? [{ kind: 'settings-changed', ...changed } as const] : earlier()),
    ...some(change.hidden.length, () => ({
      ...{ kind: 'hidden-columns', resource: resource.name },
      names: short(change.hidden.map((name) => JSON.stringify(name))),
      ...{ days: Math.ceil(retention.snapshotsMs / DAY_MS), hasTable: tables !== null },
    })),
  ];
}

/** @param unlisted live rows of the base snapshot that were not in the list */
function listWarnings(run: RunFile, unlisted: number): Warning[] {
  const { earlierList, resource, before } = run;
  if (!countsUnlisted(run)) return [];
  const isNew = before!.list.path !== listName(resource);
  if (!isNew && !canDetectDeletes(resource)) return [];
  const lists = { before: shortList(earlierList!), now: shortList(listName(resource)) };
  return some(unlisted, (rows) => ({ kind: 'list-replaced', resource: resource.name, ...lists, rows }));
}

/** The first names, each cut. */
function short(names: readonly string[]): string[] {
  const more = names.length - NAMED.most;
  return [...names.slice(0, NAMED.most).map(cut), ...(more > 0 ? [`${more} more`] : [])];
}

/** Without the values of its parameters, which may be keys of records. */
function shortList(name: string): string {
  return cut(displayQuery(name));
}

function cut(text: string): string {
  return text.length > NAMED.length ? `${text.slice(0, NAMED.length)}…` : text;
}
