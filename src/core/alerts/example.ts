import type { AlertEvent } from '../alert-events.js';
import type { AlertGroup, AlertMessage } from '../contract/alerts.js';
import { HOUR_MS } from '../duration.js';
import { NO_GROUPS } from './groups.js';

const TEXTS: Readonly<Record<AlertEvent, string>> = {
  failure: 'GET tasks: status 503. The service did not answer for 6h; gave up.',
  check: 'rows: allowed at least 1000, found 12',
  'deletes-held':
    '212 of 900 rows, more than 10%, have been deleted in the service. Nothing was published. If this is correct, run `worktrack export --resource tasks --allow-deletes`.',
  behind: 'no run has started since 2026-11-21 02:00 UTC, when one was due',
  stale: 'nothing newer than 2026-11-19 01:55 UTC is published',
  'rows-not-written': 'batch example: 2 rejected, 1 unknown',
  'schema-change': 'new column "billable" (boolean)',
  warning: 'gap: changes fell out of the window of the service before a run read them',
  recovery: '',
};

/** An example of a message, to try a target. @param at milliseconds since 1970 */
export function exampleAlert(connection: string, event: AlertEvent, at: number): AlertMessage {
  const resource = event === 'behind' ? '' : event === 'rows-not-written' ? 'time-entries' : 'tasks';
  const causes = [{ resources: [resource], text: `This is a test. ${TEXTS[event]}`.trim() }];
  const group: AlertGroup = {
    ...{ connection, resources: [resource], count: 1, causes },
    event: event === 'recovery' ? 'failure' : event,
    since: event === 'recovery' ? at - HOUR_MS : at,
  };
  const groups = { groups: [group], more: 0, connections: 1 };
  const isEnd = event === 'recovery';
  return {
    ...{ target: 'test', kind: 'alert', event, at },
    news: isEnd ? NO_GROUPS : groups,
    over: isEnd ? groups : NO_GROUPS,
    still: NO_GROUPS,
  };
}
