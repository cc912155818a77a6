import { describe, expect, it } from 'vitest';
import { ALERT_EVENTS, type AlertEvent, renderAlert } from '../../../src/core/alerts/index.js';
import type { AlertGroup, AlertGroups, AlertMessage } from '../../../src/core/contract/index.js';
import { shownText } from '../../support/alert-targets.js';
import { codeBlocks, pageAt } from '../../support/docs.js';

const PAGE = 'docs/how-to/alerts.md';
const KEY = 'R0123456789abcdefghijklmnopqrstu';
const AT = Date.parse('2026-11-21T02:04:00Z');

function group(connection: string, event: AlertEvent, resources: string[], text: string): AlertGroup {
  const causes = text === '' ? [] : [{ resources, text }];
  return { connection, event, since: AT, resources, count: resources.length, causes };
}

function groups(...of: AlertGroup[]): AlertGroups {
  return { groups: of, more: 0, connections: new Set(of.map(({ connection }) => connection)).size };
}

const message = (event: AlertEvent, changes: Partial<AlertMessage>): AlertMessage => ({
  ...{ target: 't', kind: 'alert', event, at: AT },
  ...{ news: groups(), over: groups(), still: groups(), ...changes },
});
const news = (of: AlertGroup): AlertMessage => message(of.event, { news: groups(of) });

const NO_ANSWER = 'GET tasks: status 503. The service gave no answer for 6h; gave up.';
const failure = group('acme', 'failure', ['tasks', 'projects'], NO_ANSWER);
const others = ['globex', 'initech'].map((name) => group(name, 'failure', ['tasks'], NO_ANSWER));

const SAMPLES: readonly (readonly [string, AlertMessage])[] = [
  ['a failure', news(failure)],
  ['a reminder', message('failure', { kind: 'reminder', still: groups(failure) })],
  ['a recovery', message('recovery', { over: groups(failure) })],
  [
    'several connections',
    message('failure', {
      news: groups(...others),
      still: groups(failure),
      over: groups(group('hooli', 'stale', ['tasks'], '')),
    }),
  ],
  ['check', news(group('acme', 'check', ['tasks'], 'notNull(projectId): allowed 0, found 12 rows'))],
  [
    'deletes-held',
    news(
      group(
        'acme',
        'deletes-held',
        ['tasks'],
        '212 of 900 rows, more than 10 %, have been deleted in the service. Nothing was published. If this is correct, run `worktrack export --resource tasks --allow-deletes`.',
      ),
    ),
  ],
  [
    'behind',
    news(group('acme', 'behind', [''], 'no run has started since 2026-11-21 02:00 UTC, when one was due')),
  ],
  ['stale', news(group('acme', 'stale', ['tasks'], 'no run was published since 2026-11-19 02:03 UTC'))],
  [
    'rows-not-written',
    news(group('acme', 'rows-not-written', ['time-entries'], 'batch 2026-11-hours: 2 rejected, 1 unknown')),
  ],
  [
    'schema-change',
    news(
      group(
        'acme',
        'schema-change',
        ['tasks'],
        'new column "billable" (boolean); "estimate" was number and is now also string',
      ),
    ),
  ],
  [
    'warning',
    news(
      group(
        'acme',
        'warning',
        ['time-entries'],
        'list shifted: the list changed while it was read, so rows may be missing until the next full read',
      ),
    ),
  ],
];

describe('The page on alerts', () => {
  const shown = codeBlocks()
    .filter(({ page, language }) => page === PAGE && language === 'text')
    .map(({ text }) => text.trim());

  it.each(SAMPLES)('shows what a person sees of %s', (_, sample) => {
    const body = JSON.stringify(renderAlert('slack', sample, null));
    // Slack shows bold text without its asterisks.
    const text = shownText('slack', body).replace(/^\*(.*)\*$/gm, '$1');
    expect(shown).toContain(text);
  });

  it('shows what PagerDuty gets', () => {
    const trigger = JSON.stringify(renderAlert('pagerduty', news(failure), KEY));
    const resolve = JSON.stringify(
      renderAlert('pagerduty', message('failure', { kind: 'resolve', over: groups(failure) }), KEY),
    );
    expect(shown).toContain(`${shownText('pagerduty', trigger)}\n${shownText('pagerduty', resolve)}`);
  });

  it('names every event', () => {
    const { text } = pageAt(PAGE);
    for (const event of ALERT_EVENTS) expect(text).toContain(`| \`${event}\` |`);
  });
});
