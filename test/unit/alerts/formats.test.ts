import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupsOf, NO_GROUPS } from '../../../src/core/alerts/groups.js';
import { ALERT_EVENTS, type AlertFormat, exampleAlert, renderAlert } from '../../../src/core/alerts/index.js';
import { alertText } from '../../../src/core/alerts/texts.js';
import type { AlertProblem } from '../../../src/core/contract/alerts.js';
import type { AlertGroup, AlertMessage } from '../../../src/core/contract/index.js';
import { answerOf, shownText, type Vendor } from '../../support/alert-targets.js';
import { rounds } from '../../support/seeds.js';

const AT = Date.parse('2026-11-21T02:04:00Z');
const KEY = 'R0123456789abcdefghijklmnopqrstu';
const VENDORS: readonly (readonly [Vendor, AlertFormat])[] = [
  ['slack', 'slack'],
  ['discord', 'slack'],
  ['mattermost', 'slack'],
  ['teams', 'teams'],
  ['pagerduty', 'pagerduty'],
];

const bodyFor = (format: AlertFormat, message: AlertMessage): string =>
  JSON.stringify(renderAlert(format, message, format === 'pagerduty' ? KEY : null));

/** Texts that a service could choose. */
const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 600 }),
  fc.constantFrom(
    '<!channel> *bold* [a](https://evil.example)',
    '😀'.repeat(300),
    '"\\'.repeat(250),
    '日'.repeat(500),
    '&<>'.repeat(160),
  ),
);
const name = fc.stringMatching(/^[a-z0-9_-]{1,100}$/);

const group: fc.Arbitrary<AlertGroup> = fc.record({
  connection: name,
  event: fc.constantFrom(...ALERT_EVENTS),
  since: fc.constant(AT),
  resources: fc.array(name, { minLength: 1, maxLength: 10 }),
  count: fc.integer({ min: 1, max: 40 }),
  causes: fc.array(fc.record({ resources: fc.array(name, { maxLength: 10 }), text: hostileText }), {
    maxLength: 3,
  }),
});
const groups = (minLength: number) =>
  fc.record({
    groups: fc.array(group, { minLength, maxLength: 20 }),
    more: fc.integer({ min: 0, max: 500 }),
    connections: fc.integer({ min: 1, max: 900 }),
  });
const message: fc.Arbitrary<AlertMessage> = fc.record({
  target: fc.constant('t'),
  kind: fc.constantFrom('alert', 'reminder', 'resolve'),
  event: fc.constantFrom(...ALERT_EVENTS),
  at: fc.constant(AT),
  news: groups(1),
  over: groups(1),
  still: groups(0),
});

describe('A message', () => {
  it.each(VENDORS)('is accepted by %s, whatever names and texts it has', (vendor, format) => {
    fc.assert(
      fc.property(message, (one) => {
        const answer = answerOf(vendor, bodyFor(format, one));
        expect(answer.status, answer.body).toBeLessThan(300);
      }),
      { numRuns: rounds(150) },
    );
  });

  it('says since when the first of its problems is there', () => {
    const listed = [3, 1, 2].map((since) => {
      const problem = { connection: 'acme', resource: `r${since}`, since, text: 'x', told: {} };
      return { problem: problem as unknown as AlertProblem, event: 'failure' as const };
    });
    expect(groupsOf(listed).groups).toMatchObject([{ since: 1, count: 3 }]);
  });

  it('A message without text is rejected by the fake Slack, as by Slack', () => {
    expect(answerOf('slack', '{"event":"failure"}')).toEqual({ status: 400, body: 'no_text' });
    expect(answerOf('slack', bodyFor('json', exampleAlert('acme', 'failure', AT))).status).toBe(400);
  });

  it('mentions no one and links to nothing that a text from the service names', () => {
    const example = exampleAlert('acme', 'failure', AT);
    const [first] = example.news.groups;
    const text = '<!channel> <https://evil.example|here> @everyone @here & more';
    const causes = [{ resources: ['tasks'], text }];
    const hostile = { ...example, news: { groups: [{ ...first!, causes }], more: 0, connections: 1 } };
    const { text: sent } = renderAlert('slack', hostile, null) as { text: string };
    expect(sent).not.toMatch(/[<>]|@everyone|@here/);
    expect(sent).toContain('&lt;!channel&gt;');
    expect(shownText('slack', JSON.stringify({ text: sent }))).toContain(text);
  });

  it('says of each cause which resources have it, and names the resources of no shown cause', () => {
    const names = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `r${from + at}`);
    const problem = (resource: string, text: string) => ({
      ...({ connection: 'acme', resource, kind: 'failure', mark: '', text, since: AT, told: {} } as const),
    });
    const linesOf = (problems: readonly ReturnType<typeof problem>[]): string[] => {
      const news = groupsOf(problems.map((one) => ({ problem: one, event: 'failure' })));
      const of = {
        target: 't',
        kind: 'alert',
        event: 'failure',
        at: AT,
        over: NO_GROUPS,
        still: NO_GROUPS,
      } as const;
      return alertText({ ...of, news }).sections.flatMap(({ lines }) => lines);
    };
    const ten = names(0, 10).map((name) => problem(name, 'a'));
    expect(linesOf([...ten, problem('r10', 'b'), problem('r11', 'b')])).toEqual([
      `${names(0, 10).join(', ')}: a`,
      'r10, r11: b',
    ]);
    expect(linesOf(names(0, 12).map((name) => problem(name, 'a')))).toEqual([
      `${names(0, 10).join(', ')} and 2 more: a`,
    ]);
    expect(linesOf(names(0, 5).map((name) => problem(name, `text of ${name}`)))).toEqual([
      ...names(0, 3).map((name) => `${name}: text of ${name}`),
      'r3, r4',
    ]);
  });

  it('is about a resource of the connection if it is an example', () => {
    for (const event of ALERT_EVENTS)
      expect(JSON.stringify(exampleAlert('acme', event, AT, 'members'))).not.toContain('tasks');
  });

  it('has one deduplication key for each connection and event, for the event and its end', () => {
    const keys = ALERT_EVENTS.flatMap((event) => {
      const trigger = exampleAlert('acme', event === 'recovery' ? 'failure' : event, AT);
      const resolve: AlertMessage = { ...trigger, kind: 'resolve', over: trigger.news, news: trigger.over };
      return [trigger, trigger, resolve].map(
        (one) => (renderAlert('pagerduty', one, KEY) as { dedup_key: string }).dedup_key,
      );
    });
    expect(new Set(keys).size).toBe(ALERT_EVENTS.length - 1);
  });

  it('A message in JSON names its event, its problems and what has ended', () => {
    expect(renderAlert('json', exampleAlert('acme', 'schema-change', AT), null)).toEqual({
      event: 'schema-change',
      reminder: false,
      title: '[TEST] acme: the schema of tasks has changed',
      at: '2026-11-21T02:04:00.000Z',
      problems: [
        {
          connection: 'acme',
          event: 'schema-change',
          since: '2026-11-21T02:04:00.000Z',
          resources: ['tasks'],
          count: 1,
          causes: [{ resources: ['tasks'], text: 'This is a test. new column "billable" (boolean)' }],
        },
      ],
      recovered: [],
      open: [],
      more: { problems: 0, recovered: 0, open: 0 },
    });
  });

  it.each(['slack', 'teams', 'pagerduty', 'json'] as const)(
    'An example says in its title that it is a test, in %s, and no other message does',
    (format) => {
      for (const event of ALERT_EVENTS) {
        const { isTest, ...real } = exampleAlert('acme', event, AT);
        expect(isTest).toBe(true);
        expect(bodyFor(format, { ...real, isTest: true })).toContain('[TEST] ');
        expect(bodyFor(format, real)).not.toContain('[TEST]');
      }
    },
  );

  it.each(['slack', 'teams', 'pagerduty', 'json'] as const)('names a cause once, in %s', (format) => {
    for (const event of ALERT_EVENTS) {
      const body = bodyFor(format, exampleAlert('acme', event, AT));
      expect(body.split('This is a test').length - 1, event).toBeLessThanOrEqual(1);
    }
  });

  it('names the task queue in its command, unless it is the default one', () => {
    const message = exampleAlert('acme', 'failure', AT);
    const footer = (taskQueue: string) =>
      (renderAlert('slack', { ...message, taskQueue }, null) as { text: string }).text.split('\n').at(-1);
    expect(footer('billing')).toBe('Details: worktrack status --connection acme --task-queue billing');
    expect(footer("a 'b'")).toBe(
      String.raw`Details: worktrack status --connection acme --task-queue 'a '\''b'\'''`,
    );
    expect(footer('worktrack')).toBe('Details: worktrack status --connection acme');
  });
});
