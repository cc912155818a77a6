import type { AlertGroup, AlertMessage } from '../contract/alerts.js';
import { titleOf } from './texts.js';

/** The body of `format: json` (docs/how-to/alerts.md#json). */
export function jsonBody(message: AlertMessage): object {
  const { event, kind, at, news, over, still } = message;
  return {
    event,
    reminder: kind === 'reminder',
    title: titleOf(message),
    at: new Date(at).toISOString(),
    problems: news.groups.map(problemOf),
    recovered: over.groups.map(problemOf),
    open: still.groups.map(problemOf),
    more: { problems: news.more, recovered: over.more, open: still.more },
  };
}

function problemOf({ connection, event, since, resources, count, causes }: AlertGroup): object {
  return {
    ...{ connection, event, since: new Date(since).toISOString() },
    resources: resources.filter((name) => name !== ''),
    count,
    causes,
  };
}
