import { displayQuery, listName } from '../../api/index.js';
import type { DeletesProblem, PublishInput } from '../../core/contract/index.js';
import { DAY_MS } from '../../core/duration.js';
import { isIncomplete, type ListDoubt, lacksRecords, shortfall } from '../../core/list-evidence.js';
import { MAX_REREADS } from '../../core/mirror-requests.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import { countsUnlisted, type RunFile } from '../../lake/documents/run-file.js';
import type { Stage } from '../../lake/documents/stage-file.js';
import type { FixedTypes } from '../../table/index.js';
import { canDetectDeletes } from '../delete-rules.js';
import type { MergePlan } from '../merge/merge-plan.js';
import type { AddedUp } from '../merge/merge-result.js';
import { clockProblem, type windowGap } from '../read/watermark.js';
import type { CheckedCandidate } from './check-candidate.js';

/** What a run has read and merged, as far as its manifests say it. */
export interface RunFindings extends Pick<PublishInput, 'shifted' | 'unproven'> {
  /** `null`: the run did not look for deletes. */
  readonly deletesProblems: readonly DeletesProblem[] | null;
  /** The last stage. */
  readonly stage: Stage;
  /** The end of the last reading of the list. Its `updatedSince` is earlier than planned if the service's clock was set back. */
  readonly list: Stage;
  readonly plan: MergePlan;
  readonly sum: AddedUp;
  /** Types of the table that the values were checked against. */
  readonly checkedTypes: FixedTypes | null;
  /** `null`: the resource has no checks. */
  readonly checked: CheckedCandidate | null;
}

/**
 * The warnings in the manifest of a published run, as text for users.
 *
 * @param gap the time whose changes the service no longer lists
 * @param notListed records that a rollback changed and that the full read after it did not list; `null`: not counted
 */
export function warningsOf(
  run: RunFile,
  { stage, list, shifted, unproven, deletesProblems, sum: { counts } }: RunFindings,
  gap: ReturnType<typeof windowGap>,
  notListed: number | null,
): string[] {
  const { resource } = run;
  const { updatedSince: asked } = list;
  const warnings = [...settingsWarnings(run, counts.unrestored), ...listWarnings(run, counts.unlisted)];
  if (gap !== null) {
    const rolledBack = run.before?.rolledBack ?? null;
    const what =
      rolledBack === null ? 'the last run was' : `run ${rolledBack.to}, the target of a rollback, was`;
    warnings.push(
      `gap: the service no longer lists changes from ${gap.from} to ${gap.to}, because ${what} longer ago than the window of ` +
        resource.name,
    );
  }
  if (notListed !== null && notListed > 0) {
    const { to, head, rollbacks } = run.before!.rolledBack!;
    const [is, stays] = notListed === 1 ? ['is', 'stays'] : ['are', 'stay'];
    const [by, as] =
      rollbacks.length === 1
        ? [`the rollback to run ${to}`, 'as in that run']
        : [`${rollbacks.length} rollbacks, the last one to run ${to},`, 'as they left them'];
    warnings.push(
      `rollback: ${count(notListed, 'record')} that ${by} changed ${is} not listed any more and ${stays} ${as}; their newer ` +
        `versions are in run ${head}: worktrack cat ${resource.name} --run ${head}`,
    );
  }
  if (list.refusedSince !== undefined && run.updatedSince !== null) {
    warnings.push(
      `updatedSince: the service refused the time ${run.updatedSince}, so ` +
        (asked === null ? 'this run read everything' : `changes were read from ${asked}`),
    );
  } else if (isSetBack(run.updatedSince, asked)) {
    warnings.push(
      asked === null
        ? `clock: it is not known how much time has passed since the previous run, because Temporal's clock went back or the ` +
            `service sent no Date; this run read everything instead of the changes since ${run.updatedSince}`
        : `clock: the service's clock seems to have been set back; changes were read from ${asked} ` +
            `instead of ${run.updatedSince}`,
    );
  }
  const isOff = run.rollback === null && stage.serviceStart === null && run.clocks !== undefined;
  const problem = isOff ? clockProblem(run.clocks) : null;
  if (problem !== null) warnings.push(`clock: ${problem}`);
  if (run.resumed !== null) {
    warnings.push(
      `resumed: this run reused pages of failed run ${run.resumed.runId}, read from ${toUtcSeconds(run.readSince)} on, and ` +
        'read the changes since then itself',
    );
  }
  if (shifted) {
    warnings.push(
      `list shifted: records moved between pages in ${1 + MAX_REREADS} consecutive readings of the list; rows that did not ` +
        'change may be missing or out of date. The next run reads everything',
    );
  }
  if (list.notChecked !== undefined)
    warnings.push(
      `list check: pages of the list could not be requested again (${list.notChecked}), so it is not known whether records moved ` +
        'between pages while they were read',
    );
  warnings.push(...doubtWarnings(run, stage.doubts));
  for (const problem of deletesProblems ?? []) warnings.push(`deletes: ${problemText(problem, resource)}`);
  if (unproven > 0) {
    warnings.push(
      `deletes: ${count(unproven, 'record')} no longer listed, but the service confirmed neither that ` +
        `${unproven === 1 ? 'it exists nor that it is' : 'they exist nor that they are'} deleted; the rows are kept`,
    );
  }
  if (stage.quarantined > 0)
    warnings.push(`${count(stage.quarantined, 'record')} without a key written to _quarantine/`);
  if (stage.thin.rule !== null) {
    const { field, values } = stage.thin.rule;
    const rule = values === null ? `{ field: ${field} }` : `{ field: ${field}, values: [${values}] }`;
    warnings.push(
      `deletes: ${count(stage.thin.records, 'record')} with a mark of deletion set aside, so their rows stay as they are; to delete ` +
        `these rows, set \`deleted: ${rule}\` for ${resource.name}`,
    );
  }
  if (counts.setAside > 0)
    warnings.push(
      `key: ${count(counts.setAside, 'record')} whose key is not unique written to _quarantine/; the rows of their keys stay as they ` +
        'were. `worktrack doctor --try-service` proposes a key',
    );
  if (counts.missed > 0)
    warnings.push(
      `missed: ${count(counts.missed, 'row')} of ${resource.name} differ${counts.missed === 1 ? 's' : ''}, although the changes since ` +
        `${run.checkpoint} do not show ${counts.missed === 1 ? 'it' : 'them'}. If the service lists changes late, set a larger ` +
        '`sync.overlap`; if records change without a new time, a shorter `sync.reconcileEvery` finds them sooner',
    );
  if (counts.wentBack > 0)
    warnings.push(
      `updatedAt: ${count(counts.wentBack, 'record')} came with an earlier "${resource.updatedAtField}" than before; ` +
        `${counts.wentBack === 1 ? 'its row stays' : 'their rows stay'} as ${counts.wentBack === 1 ? 'it is' : 'they are'}. Perhaps a copy of the service's database lags`,
    );
  if (stage.announced !== null) warnings.push(`announced: ${resource.name}: ${stage.announced}`);
  if (stage.replaced > 0)
    warnings.push(
      `${count(stage.replaced, 'character')} that UTF-8 cannot represent (lone surrogates, invalid bytes) became U+FFFD`,
    );
  if (stage.repaired > 0)
    warnings.push(
      `json: ${count(stage.repaired, 'deviation')} from JSON accepted (raw control characters in strings, NaN or Infinity as null), ` +
        'because of `json: lenient`',
    );
  return warnings;
}

/** The doubts about the lists of a run: one line for each kind, because each of its readings may have the same. */
function doubtWarnings(
  { resource: { name, updatedAtField }, before }: RunFile,
  doubts: readonly ListDoubt[],
): string[] {
  const held = 'the checkpoint stays where it was, and this run does not count as a full read';
  const isFirst = before === null;
  const effect = isFirst
    ? 'so rows may be missing; the next run reads everything'
    : `so no deletes were concluded, ${held}`;
  const first = new Map(doubts.map((doubt) => [doubt.kind, doubt] as const).reverse());
  return [...first.values()].flatMap((doubt) => {
    // An audit has limits instead of warnings.
    if (doubt.kind === 'cut') return [];
    if (doubt.kind === 'total') {
      return (
        `list: ${shortfall(name, doubt)}, so no deletes were concluded from absence` +
        `${doubt.isProven && !isFirst ? `, ${held}` : ''}. ${IGNORE_TOTAL}`
      );
    }
    if (doubt.kind === 'in-parts') {
      const { total = 0, read = 0 } = doubt;
      const missing = `${shortfall(name, { total, read })}: records without "${updatedAtField}" are in no part, ${effect}. ${IGNORE_TOTAL}`;
      return (
        `list: the cursors of ${name} end before the list does, so it was read in ${doubt.parts} parts, by "${updatedAtField}"; ` +
        (!isIncomplete(doubt)
          ? 'no deletes were concluded, and it is not known whether records moved between its pages'
          : lacksRecords(doubt)
            ? missing
            : `not all of it was in that order, ${effect}`)
      );
    }
    const what =
      doubt.kind === 'said'
        ? 'the service says that the list is incomplete'
        : 'the list ends in an unusual way, on a page that is as full as the one before';
    return `list: ${what} (${doubt.words}), ${effect}`;
  });
}

const IGNORE_TOTAL = 'If this total counts something else, set `sync.total: ignore`';

/** Differences up to this are normal without an overlap, because responses take time and clocks are compared in seconds. */
const CLOCK_NOISE_MS = 2000;

function isSetBack(planned: RunFile['updatedSince'], asked: RunFile['updatedSince']): boolean {
  if (planned === null || planned === asked) return false;
  return asked === null || Date.parse(planned) - Date.parse(asked) > CLOCK_NOISE_MS;
}

function problemText(problem: DeletesProblem, { name, windowField, windowMs }: RunFile['resource']): string {
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
        `GET ${name}/<id> did not find a record that the list had just shown, so its 404 proves nothing; ` +
        (windowMs === null
          ? 'deletes were concluded from a second reading instead; set `fetchById: false`'
          : 'no deletes were concluded. Set `fetchById: false` to conclude them from the dates')
      );
    case 'keyless':
      return (
        `${count(problem.records, 'record')} without a key may be rows that seem to be gone, so no deletes were concluded; to ` +
        `conclude them, run \`worktrack export --resource ${name} --allow-deletes\``
      );
    case 'by-id-differs':
      return (
        `${count(problem.records, 'row')} ${problem.records === 1 ? 'is' : 'are'} no longer listed but ${problem.records === 1 ? 'exists' : 'exist'}, and may be out of date: ` +
        `GET ${name}/<id> shows other fields or values of a listed record than the list, so nothing was taken from it. If the ` +
        'service has a parameter that lists them, set `params`'
      );
    case 'empty-list':
      return (
        `the list is empty, but ${count(problem.rows, 'row')} of the snapshot should be in it; the rows are kept. If they have ` +
        `really been deleted, run \`worktrack export --resource ${name} --allow-deletes\``
      );
  }
}

/** The most names in a warning, and the characters of each. */
const NAMED = { most: 8, length: 60 };

/** @param unrestored rows that keep cells of earlier settings */
function settingsWarnings(
  { settingsChange: change, resource, rollback, retention, tables }: RunFile,
  unrestored: number,
): string[] {
  const rows = `${count(unrestored, 'row')} that the service no longer lists`;
  const ofEarlier = 'cells of earlier settings: empty, masked or clear ones';
  if (change === null) return unrestored === 0 ? [] : [`settings: ${rows} may keep ${ofEarlier}`];
  const warnings: string[] = [];
  const kept = `${rows} ${unrestored === 1 ? 'keeps' : 'keep'} ${ofEarlier}`;
  if (change.mustRead) {
    const why = change.changed.includes('masking.secret')
      ? 'the masking secret differs from the one of the base snapshot'
      : `${listed(change.changed)} changed`;
    const restored = unrestored === 0 ? 'all rows were restored' : kept;
    // A rollback does not read the service.
    const done =
      rollback === null
        ? `so everything was read again; ${restored}`
        : 'so the next run restores the rows that the service lists';
    warnings.push(`settings: ${why}, ${done}`);
  } else if (unrestored > 0) warnings.push(`settings: ${kept}`);
  if (change.hidden.length > 0) {
    const days = Math.ceil(retention.snapshotsMs / DAY_MS);
    const table = tables ? ', change logs and versions of the table' : ' and change logs';
    warnings.push(
      `settings: ${resource.name} hides ${listed(change.hidden.map((name) => JSON.stringify(name)))} from now on, but earlier ` +
        `snapshots${table} still hold the clear values; snapshots are removed after ${count(days, 'day')}, change logs are kept`,
    );
  }
  return warnings;
}

/** @param unlisted live rows of the base snapshot that were not in the list */
function listWarnings(run: RunFile, unlisted: number): string[] {
  const { earlierList, resource, before } = run;
  if (!countsUnlisted(run)) return [];
  const isNew = before!.list.path !== listName(resource);
  if (unlisted === 0 || !(isNew || canDetectDeletes(resource))) return [];
  return [
    `list: ${resource.name} was read from ${shortList(earlierList!)} before and is now read from ${shortList(listName(resource))}; ${count(unlisted, 'row')} of the ` +
      `earlier list ${unlisted === 1 ? 'is' : 'are'} not in it and ${unlisted === 1 ? 'stays' : 'stay'} in the lake. If they are gone, run \`worktrack export --resource ` +
      `${resource.name} --allow-deletes\``,
  ];
}

function listed(names: readonly string[]): string {
  const more = names.length - NAMED.most;
  return [...names.slice(0, NAMED.most).map(short), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

/** Without the values of its parameters, which may be keys of records. */
function shortList(name: string): string {
  return short(displayQuery(name));
}

function short(text: string): string {
  return text.length > NAMED.length ? `${text.slice(0, NAMED.length)}…` : text;
}

function count(n: number, thing: string): string {
  return `${n} ${thing}${n === 1 ? '' : 's'}`;
}
