/** The words of alerts, the same in every format (docs/how-to/alerts.md#what-the-messages-say). */

import type { AlertEvent } from '../alert-events.js';
import type { EpochMs } from '../brands.js';
import type { AlertGroup, AlertGroups, AlertMessage } from '../contract/alerts.js';
import { DEFAULT_TASK_QUEUE } from '../contract/workflow-ids.js';
import { HOUR_MS } from '../duration.js';
import { shellWord, time } from '../short-text.js';
import { NO_GROUPS } from './groups.js';

/** What is said of an event: what has happened to what, after what it is well again, and an example. */
interface EventWords {
  readonly happened: (what: string, count: number) => string;
  readonly after: string;
  readonly example: (resource: string) => string;
  /** The color of a card in Teams. */
  readonly color: 'Attention' | 'Warning' | 'Good';
  /** The severity in PagerDuty. */
  readonly severity: 'error' | 'warning' | 'info';
}

const SERIOUS = { color: 'Attention', severity: 'error' } as const;

export const EVENTS: Readonly<Record<AlertEvent, EventWords>> = {
  failure: {
    ...{ ...SERIOUS, happened: (what) => `the run of ${what} failed`, after: 'a failure' },
    example: (name) => `GET ${name}: status 503. The service did not answer for 6h; gave up.`,
  },
  check: {
    ...{ ...SERIOUS, happened: (what) => `a check stopped ${what}`, after: 'a failed check' },
    example: () => 'rows: allowed at least 1000, found 12',
  },
  'deletes-held': {
    ...{
      ...SERIOUS,
      happened: (what) => `the delete limit stopped ${what}`,
      after: 'a stop by the delete limit',
    },
    example: (name) =>
      `212 of 900 rows, more than 10%, have been deleted in the service. Nothing was published. If this is correct, run \`worktrack export --resource ${shellWord(name)} --allow-deletes\`.`,
  },
  behind: {
    ...{ ...SERIOUS, happened: () => 'the scheduled run did not start', after: 'a missed start' },
    example: () => 'no run has started since 2026-11-21 02:00 UTC, when one was due',
  },
  stale: {
    ...{ ...SERIOUS, happened: (what) => `the data of ${what} are too old`, after: 'old data' },
    example: () => 'nothing newer than 2026-11-19 01:55 UTC is published',
  },
  audit: {
    ...{ ...SERIOUS, happened: (what) => `an audit found differences in ${what}`, after: 'differences' },
    example: () => '2 different, 1 missing rows in the snapshot',
  },
  'rows-not-written': {
    ...{
      ...SERIOUS,
      happened: (what) => `rows were not written to ${what} as they were sent`,
      after: 'rows that were not written as sent',
    },
    example: () => 'batch example: 2 rejected, 1 unknown',
  },
  'rows-not-confirmed': {
    ...{
      ...SERIOUS,
      happened: (what) => `rows that ${what} has accepted are not there as they were sent`,
      after: 'rows that were not confirmed',
    },
    example: () => 'batch example: of the rows that the service has accepted, 2 not seen',
  },
  'schema-change': {
    ...{ color: 'Warning', severity: 'info', after: 'a change of the schema' },
    happened: (what) => `the schema of ${what} has changed`,
    example: () => 'new column "billable" (boolean)',
  },
  warning: {
    ...{ color: 'Warning', severity: 'warning', after: 'warnings' },
    happened: (what, count) => `${what} ${count === 1 ? 'was' : 'were'} published with warnings`,
    example: () => 'gap: changes fell out of the window of the service before a run read them',
  },
  recovery: {
    ...{ color: 'Good', severity: 'info', after: 'problems', example: () => '' },
    happened: () => 'all is well again',
  },
};

/** A message as words: a heading, lines by heading, and a command for the details. */
export function alertText(message: AlertMessage) {
  const { news, over, still, kind, event } = message;
  const isReminder = kind === 'reminder';
  const isWell = news.groups.length === 0 && still.groups.length === 0;
  const isRecovery = event === 'recovery';
  const fresh = { heading: null, lines: isReminder ? [] : linesOf(news, isRecovery ? 'beside' : 'title') };
  const ended = { heading: isWell || isRecovery ? null : 'Well again', lines: linesOf(over, 'over') };
  const parts = [
    ...(isRecovery ? [ended, fresh] : [fresh, ended]),
    { heading: isReminder ? null : 'Not over yet', lines: linesOf(still, isReminder ? 'since' : 'still') },
  ];
  const [first, ...others] = new Set(
    [news, over, still].flatMap(({ groups }) => groups.map((group) => group.connection)),
  );
  const connection = others.length === 0 ? `--connection ${first}` : '--all';
  const { taskQueue = DEFAULT_TASK_QUEUE } = message;
  const queue = taskQueue === DEFAULT_TASK_QUEUE ? '' : ` --task-queue ${shellWord(taskQueue)}`;
  return {
    title: titleOf(message),
    sections: parts.filter(({ lines }) => lines.length > 0),
    footer: `Details: worktrack status ${connection}${queue}`,
  };
}

/** The heading of a message. That of an example says that it is one. */
export function titleOf(message: AlertMessage): string {
  return message.isTest === true ? `[TEST] ${headingOf(message)}` : headingOf(message);
}

function headingOf(message: AlertMessage): string {
  const { news, over, still, kind } = message;
  const single = singleOf(message);
  if (kind === 'reminder')
    return single === null
      ? `Reminder: ${problems(still)} not over yet`
      : `Reminder: ${headline(single)}, since ${time(single.since)}`;
  const [first] = news.groups;
  if (first !== undefined && message.event !== 'recovery')
    return news.groups.length === 1 ? headline(first) : `${problems(news)}, such as ${headline(first)}`;
  if (over.connections === 1) return `${over.groups[0]?.connection}: all is well again`;
  const connections = `${over.connections} connections`;
  return still.groups.length === 0 ? `All is well again: ${connections}` : `Well again: ${connections}`;
}

function problems({ groups, more, connections }: AlertGroups): string {
  const count = `${groups.length + more} problems`;
  return connections === 1 ? `${groups[0]?.connection}: ${count}` : `${count} of ${connections} connections`;
}

/** The only group of a message; `null` if it has several. */
function singleOf({ news, over, still }: AlertMessage): AlertGroup | null {
  const groups = [...news.groups, ...over.groups, ...still.groups];
  return groups.length === 1 && news.more + over.more + still.more === 0 ? groups[0]! : null;
}

/** What has happened to a connection, in one line. */
function headline(group: AlertGroup): string {
  return `${group.connection}: ${EVENTS[group.event].happened(subjectOf(group), group.count)}`;
}

function subjectOf({ event, resources, count }: AlertGroup): string {
  if (event === 'behind') return 'the schedule';
  return count === 1 ? (resources[0] ?? '') : `${count} resources`;
}

/** What a line says: what is new, under its own title or next to a recovery; what is well again; what has not ended. */
type LineForm = 'title' | 'beside' | 'over' | 'since' | 'still';

function linesOf(groups: AlertGroups, form: LineForm): string[] {
  const isSeveral = groups.groups.length + groups.more > 1 || form === 'beside';
  const lines = groups.groups.flatMap((group) => groupLines(group, form, isSeveral));
  return groups.more === 0 ? lines : [...lines, `and ${groups.more} more`];
}

/** A group that is alone has its headline in the title of the message. */
function groupLines(group: AlertGroup, form: LineForm, isSeveral: boolean): string[] {
  const since = `since ${time(group.since)}`;
  if (form === 'over')
    return [`${group.connection}: ${subjectOf(group)}, after ${EVENTS[group.event].after} ${since}`];
  if (form === 'still' || (form === 'since' && isSeveral)) return [`${headline(group)}, ${since}`];
  const texts = group.causes.map((cause) =>
    group.count === 1 ? cause.text : `${named(cause)}: ${cause.text}`,
  );
  const known = new Set(group.causes.flatMap(({ resources }) => resources));
  const others = group.resources.filter((name) => !known.has(name));
  const rest = named({ resources: others, ...(texts.length === 0 && { count: group.count }) });
  const of = group.count === 1 || others.length === 0 ? texts : [...texts, rest];
  return isSeveral ? [[headline(group), ...of].join('. ')] : of;
}

function named({
  resources,
  count = resources.length,
}: Pick<AlertGroup['causes'][number], 'resources' | 'count'>): string {
  const more = count - resources.length;
  return `${resources.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** An example of a message, to try a target. @param mirrored a resource of the connection */
export function exampleAlert(
  connection: string,
  event: AlertEvent,
  at: EpochMs,
  mirrored = 'tasks',
): AlertMessage {
  const resource = event === 'behind' ? '' : event.startsWith('rows-') ? 'time-entries' : mirrored;
  const text = `This is a test. ${EVENTS[event].example(resource)}`.trim();
  const causes = [{ resources: [resource], text }];
  const group: AlertGroup = {
    ...{ connection, resources: [resource], count: 1, causes },
    event: event === 'recovery' ? 'failure' : event,
    since: event === 'recovery' ? at - HOUR_MS : at,
  };
  const groups = { groups: [group], more: 0, connections: 1 };
  const isEnd = event === 'recovery';
  return {
    ...{ target: 'test', kind: 'alert', event, at, isTest: true },
    news: isEnd ? NO_GROUPS : groups,
    over: isEnd ? groups : NO_GROUPS,
    still: NO_GROUPS,
  };
}
