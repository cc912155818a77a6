import type { EpochMs } from '../../core/brands.js';
import { shownBatchId } from '../../core/contract/write-back.js';
import { basisText, deletesNote } from '../../core/delete-detection.js';
import { groupBy } from '../../core/group-by.js';
import { STATE_NAMES } from '../../core/resource-state.js';
import { parseRunDate } from '../../core/run-id.js';
import { organizationText } from '../../core/same-organization.js';
import { shellWord } from '../../core/short-text.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import { type AuditStatement, auditText, sumOfAudits } from '../../lake/documents/audit-statement.js';
import { summaryText } from '../../lake/documents/check-record.js';
import type { OpenConfirmation } from '../../temporal/follow/batch-confirmation.js';
import type { NextScheduled } from '../../temporal/schedule/schedule.js';
import { otherQueuesText, queueOption } from '../../temporal/status/silence.js';
import type { ResourceStatus } from '../../temporal/status/status.js';
import type { WorkerDifference } from '../../temporal/status/workers.js';
import { type WaitingWork, waitingTexts } from '../../temporal/versions/stuck-work.js';
import { age, count, named, table } from '../shared/output.js';
import { differenceText } from '../shared/worker-config.js';

export interface ConnectionStatus {
  readonly name: string;
  readonly resources: readonly ResourceStatus[];
  /** The statement of the last audit; `null` or absent: there is none in the lake. */
  readonly audit?: AuditStatement | null;
  /** `null` if Temporal does not answer. */
  readonly schedule: NextScheduled | null;
  /** Whether a worker polls the task queue; `null`: not known. */
  readonly worker?: {
    readonly taskQueue: string;
    readonly hasWorker: boolean | null;
    /** Other task queues that workers poll, if none polls this one. */
    readonly others?: readonly string[];
    /** Workers that poll, but receive no new runs. */
    readonly idle?: readonly { readonly message: string; readonly remedy: string }[];
  };
  /** Runs that wait for a build without workers; absent: none is known. */
  readonly waiting?: WaitingWork | undefined;
  /** Batches whose written rows are still looked for. */
  readonly confirmations?: readonly OpenConfirmation[];
  readonly differences?: readonly WorkerDifference[];
  /** The command's configuration file. */
  readonly source?: string;
}

/** Whether every resource is fresh (docs/reference/commands.md#worktrack-status). */
export function isAllFresh(connections: readonly ConnectionStatus[]): boolean {
  return connections.every(({ resources }) => resources.every(({ fresh }) => fresh));
}

/** The object that `status --json` prints (docs/reference/json-output.md). */
export function statusJson(connections: readonly ConnectionStatus[]): {
  readonly fresh: boolean;
  readonly connections: readonly object[];
} {
  return {
    fresh: isAllFresh(connections),
    connections: connections.map((connection) => ({
      name: connection.name,
      fresh: isAllFresh([connection]),
      resources: connection.resources.map(resourceJson),
      schedule: scheduleJson(connection.schedule),
      audit: auditJson(connection.audit ?? null),
      confirmations: (connection.confirmations ?? []).map(({ startedAt, ...one }) => ({
        ...one,
        startedAt: startedAt.toISOString(),
      })),
      worker: connection.worker?.hasWorker ?? null,
      waiting: (connection.waiting?.first ?? []).map(({ workflowId, silence }) => ({
        workflowId,
        ...silence.version,
      })),
      waitingCount: connection.waiting?.count ?? 0,
      differences: (connection.differences ?? []).map(({ worker, source, version, loadedAt, difference }) => {
        return { worker, source, version, loadedAt: iso(loadedAt), difference };
      }),
    })),
  };
}

/** All fields of a status but those that only lines for people need; times are ISO 8601. */
function resourceJson({
  isProblem,
  cause,
  since,
  snapshotAt,
  owner,
  active,
  ...shown
}: ResourceStatus): object {
  return {
    ...shown,
    active: active && {
      ...active,
      startedAt: iso(active.startedAt),
      waitingUntil: iso(active.waitingUntil),
      storeLimit: active.storeLimit && { ...active.storeLimit, since: iso(active.storeLimit.since) },
      retrying: active.retrying && {
        ...active.retrying,
        since: iso(active.retrying.since),
        nextAttemptAt: iso(active.retrying.nextAttemptAt),
      },
    },
  };
}

function scheduleJson(schedule: NextScheduled | null): object | null {
  if (schedule === null) return null;
  const { state, last } = schedule;
  return {
    state,
    next: schedule.state === 'due' ? schedule.at.toISOString() : null,
    last: last?.toISOString() ?? null,
    note: schedule.state === 'paused' ? schedule.note : null,
  };
}

function auditJson(audit: AuditStatement | null): object | null {
  if (audit === null) return null;
  const { auditedAt, outcome, partial } = audit;
  return { auditedAt, outcome, partial, ...sumOfAudits(audit) };
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

const HEADER = ['RESOURCE', 'ROWS', 'DATA AS OF', 'STATE'];

/** A table per connection, with causes and warnings below it. */
export function statusLines(connections: readonly ConnectionStatus[], now: EpochMs): string[] {
  return connections.flatMap((connection, i) => {
    const { name, resources, schedule } = connection;
    const before = i === 0 ? [] : [''];
    // Nothing else about this connection is of use until a person has decided.
    const owner = resources.find((resource) => resource.owner !== undefined)?.owner;
    if (owner !== undefined) return [...before, `${name}: ${owner}`];
    const lines = table([HEADER, ...resources.map((resource) => cells(resource, now))], [1]);
    const notes = resources.flatMap((resource) => [
      ...resourceNotes(resource, now),
      ...resource.warnings.map((text) => `  warning: ${resource.name}: ${text}`),
    ]);
    return [
      ...before,
      name,
      ...lines,
      ...notes,
      ...deletesLines(resources),
      ...organizationLine(resources),
      ...checksLine(resources),
      ...nightsLines(resources),
      ...auditLine(connection.audit ?? null, now),
      ...confirmationLines(connection.confirmations ?? [], now),
      ...workerLines(connection, now),
      ...waitingLines(connection),
      ...scheduleLine(schedule, now, connections.length > 1 ? ` --connection ${shellWord(name)}` : ''),
    ];
  });
}

/** On what the detection of deletes rests, for all resources in one line, and what limits it. */
function deletesLines(resources: readonly ResourceStatus[]): string[] {
  const bases = groupBy(resources, ({ deletes }) => deletes && basisText(deletes));
  const notes = groupBy(resources, ({ deletes }) => deletes && deletesNote(deletes));
  if (bases.size === 0) return [];
  return [
    `  deletes: ${groupsText(bases)}`,
    ...[...notes].map(([text, same]) => `  note: ${namesOf(same)}: ${text}`),
  ];
}

/** On what the check of the organization rests. */
function organizationLine(resources: readonly ResourceStatus[]): string[] {
  const bases = groupBy(
    resources,
    ({ organization }) => organization && organizationText(organization.basis),
  );
  return bases.size === 0 ? [] : [`  organization: ${groupsText(bases)}`];
}

function groupsText(groups: ReadonlyMap<string, readonly ResourceStatus[]>): string {
  return [...groups].map(([text, same]) => `${namesOf(same)} ${text}`).join('; ');
}

function namesOf(resources: readonly ResourceStatus[]): string {
  return resources.map(({ name }) => name).join(', ');
}

function checksLine(resources: readonly ResourceStatus[]): string[] {
  const texts = resources.flatMap(({ name, checks }) =>
    checks === null ? [] : [`${name} ${summaryText(checks)}`],
  );
  return texts.length === 0 ? [] : [`  checks: ${texts.join('; ')}`];
}

/** `batch 3b860e3713d2 (calendar-entries): written, and not all rows are confirmed after 2 h` */
function confirmationLines(open: readonly OpenConfirmation[], now: number): string[] {
  return open.map(({ batchId, resource, startedAt }) => {
    const since = age(now - startedAt.getTime());
    return `  batch ${shownBatchId(batchId)} (${resource}): written, and not all rows are confirmed after ${since}`;
  });
}

/** `audited 2 d ago: 58,986 cells equal` */
function auditLine(audit: AuditStatement | null, now: number): string[] {
  if (audit === null) return [];
  const text = `  audited ${age(now - Date.parse(audit.auditedAt))} ago: ${auditText(audit)}`;
  return [audit.outcome === 'different' ? `${text}; see the cells with \`worktrack audit --diff\`` : text];
}

/** How many scheduled starts of the last week have no published run. */
function nightsLines(resources: readonly ResourceStatus[]): string[] {
  const counts = groupBy(resources, ({ nights }) =>
    nights === null || nights.unpublished === 0 ? null : `${nights.unpublished} of ${nights.scheduled}`,
  );
  return [...counts].map(
    ([counted, of]) =>
      `  scheduled starts of the last week without a published run: ${counted} (${of.map(({ name }) => name).join(', ')})`,
  );
}

function workerLines(
  { resources, schedule, worker, differences = [], source: file = '' }: ConnectionStatus,
  now: number,
) {
  const silent = resources.filter(({ source }) => source === 'latest.json').map(({ name }) => name);
  const queue = worker?.taskQueue ?? '';
  const lines = (worker?.idle ?? []).map(({ message, remedy }) => `  ${message}. ${remedy}`);
  const isMissing = worker?.hasWorker === false;
  if (isMissing && lines.length === 0)
    lines.push(
      `  no worker polls task queue "${queue}"; start one with \`worktrack worker${queueOption(queue)}\``,
      ...(worker.others?.length ? [`  ${otherQueuesText(worker.others).trimEnd()}`] : []),
    );
  // If Temporal does not answer either, another line says so.
  if (!isMissing && silent.length > 0 && schedule !== null) {
    const [mirrors, verb] = silent.length === 1 ? ['mirror', 'does'] : ['mirrors', 'do'];
    const what = `The ${mirrors} of ${silent.join(', ')} ${verb} not answer.`;
    lines.unshift(`  ${what} The data comes from latest.json.`);
  }
  return [...lines, ...differences.map((found) => `  ${differenceText(found, { source: file, now })}`)];
}

function waitingLines({ waiting }: ConnectionStatus): string[] {
  return waiting === undefined
    ? []
    : waitingTexts(waiting).map(({ message, remedy }) => `  ${message}. ${remedy}`);
}

/** @param option selects the connection, if there are several */
function scheduleLine(schedule: NextScheduled | null, now: number, option: string): string[] {
  switch (schedule?.state) {
    case 'due': {
      const at = schedule.at.getTime();
      return [`  next scheduled run: ${toUtcSeconds(at)}, in ${age(at - now)}`];
    }
    case 'paused': {
      const why = schedule.note === null ? '' : ` (${schedule.note})`;
      return [`  the schedule is paused${why}; resume it with \`worktrack schedule resume${option}\``];
    }
    case 'none':
      return [`  no schedule; create one with \`worktrack schedule apply${option}\``];
    default:
      return [];
  }
}

function cells(resource: ResourceStatus, now: number): string[] {
  const { name, rows, dataAsOf } = resource;
  return [
    name,
    rows === null ? '-' : count(rows),
    dataAsOf === null ? '-' : `${age(now - Date.parse(dataAsOf))} ago`,
    stateText(resource, now),
  ];
}

/** The state of a resource, short enough for a table. */
export function stateText(resource: ResourceStatus, now: EpochMs): string {
  const { state, active, lastRun, snapshotAt } = resource;
  const ago = (ms: number): string => `${age(now - ms)} ago`;
  switch (state) {
    case 'published':
      return snapshotAt === null ? state : `${state} ${ago(Date.parse(snapshotAt))}`;
    case 'stale':
      return snapshotAt === null ? state : `${state}, published ${ago(Date.parse(snapshotAt))}`;
    case 'failed':
    case 'refused':
    case 'cancelled':
      return lastRun?.runId == null ? state : `${state} ${ago(parseRunDate(lastRun.runId))}`;
    case 'running': {
      if (active?.phase == null) return state;
      const rows = active.rows === null ? '' : `, ${count(active.rows)} rows`;
      return `running: ${active.phase}${rows}`;
    }
    case 'retrying':
      return `retrying for ${age(now - (active?.retrying?.since ?? now))}`;
    case 'no-worker':
      return active === null ? STATE_NAMES[state] : `${STATE_NAMES[state]}, run waiting`;
    default:
      return STATE_NAMES[state];
  }
}

/** What a person needs to know about a state: causes, times, and what to do. */
export function resourceNotes(resource: ResourceStatus, now: number): string[] {
  const { name, error, active, silence, rolledBack, behindSince, pageSize } = resource;
  const lines: string[] = [];
  if (active?.retrying) {
    const { since, attempt, nextAttemptAt, error: why } = active.retrying;
    const next = nextAttemptAt === null ? 'the next one is running' : dueText(nextAttemptAt, now);
    lines.push(`${name}: retrying since ${toUtcSeconds(since)}; attempt ${attempt} failed, ${next}`);
    lines.push(`  ${why}`);
  }
  if (active?.waitingUntil != null && active.waitingUntil > now)
    lines.push(`${name}: the service asked for a pause of ${age(active.waitingUntil - now)}`);
  if (active?.storeLimit) {
    const { since, said } = active.storeLimit;
    lines.push(`${name}: the store limits requests since ${toUtcSeconds(since)} (${said})`);
  }
  if (active?.unpause)
    lines.push(`${name}: somebody paused this step in Temporal. To continue it: ${active.unpause}`);
  if (silence !== null) lines.push(named([name], silence));
  if (error !== null) lines.push(named([name], error.message));
  if (rolledBack !== null) {
    const { from, to } = rolledBack;
    lines.push(`${name}: rolled back from run ${from} to run ${to}, until a complete full read is published`);
    lines.push(`  To undo: \`worktrack rollback --resource ${name} --to ${from}\``);
  }
  if (behindSince !== null)
    lines.push(
      `${name}: behind schedule, because the run of ${toUtcSeconds(Date.parse(behindSince))} is not published`,
    );
  if (pageSize !== null)
    lines.push(
      `${name}: pages of ${count(pageSize.learned)} rows, because the service rejects the configured ` +
        `${count(pageSize.configured)} (\`sync.pageSize\`) or fails at them; larger pages are tried from time to time`,
    );
  return lines.map((line) => `  ${line}`);
}

function dueText(at: number, now: number): string {
  return at > now ? `next attempt in ${age(at - now)}` : 'the next one waits for a worker';
}
