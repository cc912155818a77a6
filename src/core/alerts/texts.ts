/** The words of alerts, the same in every format (docs/how-to/alerts.md#what-the-messages-say). */
import type { AlertGroup, AlertGroups, AlertMessage } from '../contract/alerts.js';
import { alertTime } from './find-problems.js';

/** A message as words: a heading, lines by heading, and a command for the details. */
export interface AlertText {
  readonly title: string;
  readonly sections: readonly { readonly heading: string | null; readonly lines: readonly string[] }[];
  readonly footer: string;
}

/** Writes a message in words. */
export function alertText(message: AlertMessage): AlertText {
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
  return {
    title: titleOf(message),
    sections: parts.filter(({ lines }) => lines.length > 0),
    footer: `Details: worktrack status ${connection}`,
  };
}

/** The heading of a message. */
export function titleOf(message: AlertMessage): string {
  const { news, over, still, kind } = message;
  const single = singleOf(message);
  if (kind === 'reminder')
    return single === null
      ? `Reminder: ${problems(still)} not over yet`
      : `Reminder: ${headline(single)}, since ${alertTime(single.since)}`;
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
export function headline(group: AlertGroup): string {
  const { connection, event } = group;
  const what = subjectOf(group);
  switch (event) {
    case 'failure':
      return `${connection}: the run of ${what} failed`;
    case 'check':
      return `${connection}: a check stopped ${what}`;
    case 'deletes-held':
      return `${connection}: the delete limit stopped ${what}`;
    case 'behind':
      return `${connection}: the scheduled run did not start`;
    case 'stale':
      return `${connection}: the data of ${what} are too old`;
    case 'rows-not-written':
      return `${connection}: rows were not written to ${what}`;
    case 'schema-change':
      return `${connection}: the schema of ${what} has changed`;
    case 'warning':
      return `${connection}: ${what} ${group.count === 1 ? 'was' : 'were'} published with warnings`;
    case 'recovery':
      return `${connection}: all is well again`;
  }
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
  const since = `since ${alertTime(group.since)}`;
  if (form === 'over')
    return [`${group.connection}: ${subjectOf(group)}, after ${AFTER[group.event]} ${since}`];
  if (form === 'still' || (form === 'since' && isSeveral)) return [`${headline(group)}, ${since}`];
  const texts = group.causes.map(({ resources, text }) =>
    group.count === 1 ? text : `${named(resources, group)}: ${text}`,
  );
  const of = group.count > 1 && texts.length === 0 ? [named(group.resources, group)] : texts;
  return isSeveral ? [[headline(group), ...of].join('. ')] : of;
}

const AFTER: Readonly<Record<AlertGroup['event'], string>> = {
  failure: 'a failure',
  check: 'a failed check',
  'deletes-held': 'a stop by the delete limit',
  behind: 'a missed start',
  stale: 'old data',
  'rows-not-written': 'rows that were not written',
  'schema-change': 'a change of the schema',
  warning: 'warnings',
  recovery: 'problems',
};

function named(resources: readonly string[], { count }: AlertGroup): string {
  const more = resources.length === 10 && count > 10 ? ` and ${count - 10} more` : '';
  return `${resources.join(', ')}${more}`;
}
