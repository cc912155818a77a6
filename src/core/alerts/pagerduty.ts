import type { AlertMessage } from '../contract/alerts.js';
import { cutCharacters } from './fit.js';
import { alertText } from './texts.js';

/** The address of the Events API v2 (https://developer.pagerduty.com/docs/send-alert-event). */
export const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue';

const MAX_SUMMARY = 1024;
const MAX_DEDUP_KEY = 255;
const MAX_DETAIL = 1024;

const SEVERITY: Readonly<Record<AlertMessage['event'], 'critical' | 'error' | 'warning' | 'info'>> = {
  failure: 'error',
  check: 'error',
  'deletes-held': 'error',
  behind: 'error',
  stale: 'error',
  'rows-not-written': 'error',
  'schema-change': 'info',
  warning: 'warning',
  recovery: 'info',
};

/**
 * One event of the Events API v2. A connection and a kind of problem have one deduplication key forever, so that a repeated
 * event changes nothing, and the end of the problem resolves its incident.
 *
 * @param key the integration key
 */
export function pagerDutyBody(message: AlertMessage, key: string): object {
  const { kind, event } = message;
  const group = (kind === 'resolve' ? message.over : message.news).groups[0];
  const connection = group?.connection ?? '';
  const common = { routing_key: key, dedup_key: dedupKey(connection, event) };
  if (kind === 'resolve') return { ...common, event_action: 'resolve' };
  const { title, sections, footer } = alertText(message);
  const lines = sections.flatMap((section) => section.lines);
  return {
    ...common,
    event_action: 'trigger',
    client: 'temporal-worktrack',
    payload: {
      summary: cutCharacters([title, ...lines].join('. '), MAX_SUMMARY),
      source: connection,
      severity: SEVERITY[event],
      timestamp: new Date(group?.since ?? message.at).toISOString(),
      component: connection,
      class: event,
      custom_details: {
        resources: (group?.resources ?? []).filter((name) => name !== ''),
        causes: lines.map((line) => cutCharacters(line, MAX_DETAIL)),
        next: footer,
      },
    },
  };
}

/** The same for every event of a connection and kind. */
export function dedupKey(connection: string, event: string): string {
  return cutCharacters(`worktrack/${event}/${connection}`, MAX_DEDUP_KEY);
}
