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

describe('The page on alerts', () => {
  const shown = codeBlocks()
    .filter(({ page, language }) => page === PAGE && language === 'text')
    .map(({ text }) => text.trim());

  // Slack shows bold text without its asterisks.
  const slack = shownText('slack', JSON.stringify(renderAlert('slack', news(failure), null))).replace(
    /^\*(.*)\*$/gm,
    '$1',
  );
  const trigger = JSON.stringify(renderAlert('pagerduty', news(failure), KEY));
  const resolve = JSON.stringify(
    renderAlert('pagerduty', message('failure', { kind: 'resolve', over: groups(failure) }), KEY),
  );
  const pagerDuty = `${shownText('pagerduty', trigger)}\n${shownText('pagerduty', resolve)}`;

  it.each(shown)('shows only messages that a target gets: %s', (text) => {
    expect([slack, pagerDuty]).toContain(text);
  });

  it('shows a failure, and what PagerDuty gets', () => {
    expect(shown).toEqual(expect.arrayContaining([slack, pagerDuty]));
  });

  it('names every event', () => {
    const { text } = pageAt(PAGE);
    for (const event of ALERT_EVENTS) expect(text).toContain(`| \`${event}\` |`);
  });
});
