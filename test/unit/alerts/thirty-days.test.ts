import { beforeAll, describe, expect, it } from 'vitest';
import {
  type AlertEvent,
  type AlertFormat,
  HAS_STARTED,
  observeAge,
  observeRun,
  observeSchedule,
  observeWriteBack,
  renderAlert,
} from '../../../src/core/alerts/index.js';
import {
  alertBegun,
  alertSent,
  newAlerts,
  nextAlerts,
  reported,
} from '../../../src/core/alerts/message-rules.js';
import type { RunId } from '../../../src/core/brands.js';
import type {
  AlertsState,
  AlertTarget,
  Observation,
  ReportAlertsInput,
  WriteBackAlert,
} from '../../../src/core/contract/index.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/duration.js';
import type { Warning } from '../../../src/core/warnings.js';
import { answerOf, shownText, type Vendor } from '../../support/alert-targets.js';
import { seededRandom } from '../../support/random.js';
import { IS_LONG } from '../../support/seeds.js';

/** The state grows with them, and so does the time of each report: 300 take 18 s, 80 two. */
const CONNECTIONS = IS_LONG ? 300 : 80;
/** The connections whose export and whose watcher report the outage first, by the fixed seed. */
const [FAILED_FIRST, OLD_FIRST] = IS_LONG ? ['c258', 'c109'] : ['c070', 'c007'];
const DAYS = 30;
const RESOURCES = ['projects', 'tasks', 'time-entries', 'calendar-entries'];
const FIRST = Date.parse('2026-11-01T02:00:00Z');
const MAX_AGE = 36 * HOUR_MS;
const KEY = 'R0123456789abcdefghijklmnopqrstu';
const DEFAULT: readonly AlertEvent[] = ['failure', 'recovery', 'stale', 'check', 'rows-not-written'];
const ALL: readonly AlertEvent[] = [...DEFAULT, 'warning', 'schema-change', 'deletes-held', 'behind'];

const TARGETS: readonly (AlertTarget & { readonly vendor: Vendor; readonly format: AlertFormat })[] = [
  { id: 'slack', on: ALL, incidents: false, vendor: 'slack', format: 'slack' },
  { id: 'teams', on: DEFAULT, incidents: false, vendor: 'teams', format: 'teams' },
  { id: 'pagerduty', on: ALL, incidents: true, vendor: 'pagerduty', format: 'pagerduty' },
];

type Run = ReportAlertsInput['runs'][number];

/** What happens to one connection in one run; `null`: all is published. */
interface Night {
  readonly run?: (resource: string) => Partial<Run>;
  /** No run starts. */
  readonly isMissed?: true;
}

const failed = (type: 'Transient' | 'Refused' | 'Check' | 'DeletesHeld', message: string): Partial<Run> => ({
  outcome: type === 'Refused' ? 'refused' : 'failed',
  error: { type, message },
});
const only =
  (name: string, run: Partial<Run>) =>
  (resource: string): Partial<Run> =>
    resource === name ? run : {};

const gapOf = (night: number): Warning => {
  const time = `2026-11-${night}`;
  return {
    kind: 'gap',
    resource: 'time-entries',
    from: `${time}T00:00:00Z`,
    to: `${time}T02:00:00Z`,
    target: null,
  };
};

/** The script of the month. @param run from 1 */
function nightOf(connection: number, night: number): Night {
  // The service is down for everybody for three runs.
  if (night >= 3 && night <= 5)
    return {
      run: () => failed('Transient', 'GET list: status 503. The service gave no answer for 6h; gave up.'),
    };
  if (connection === 7 && night >= 10 && night <= 20)
    return { run: () => failed('Refused', 'the service rejects the API key (status 401)') };
  if (connection === 42 && night === 8)
    return { run: only('tasks', failed('Check', 'rows: allowed at least 1000, found 12')) };
  if (connection === 43 && night >= 9 && night <= 11)
    return { run: only('tasks', failed('DeletesHeld', '212 of 900 rows have been deleted')) };
  if (connection === 50 && night === 12)
    return {
      run: only('tasks', {
        schemaChanges: { first: [{ name: 'billable', had: null, added: ['boolean'] }], count: 1 },
      }),
    };
  if (connection === 51 && night >= 13 && night <= 15)
    return { run: only('time-entries', { warnings: [gapOf(night)] }) };
  if (connection === 70 && night >= 16 && night <= 18) return { isMissed: true };
  return {};
}

interface Message {
  readonly at: number;
  readonly target: string;
  readonly event: AlertEvent;
  readonly kind: string;
  readonly shown: string;
}

/** Simulates a month: exports, watchers and write-backs report, and every message is rendered and given to its vendor. */
class Month {
  readonly messages: Message[] = [];
  mostBytes = 0;
  #state: AlertsState = newAlerts();
  #now = FIRST - 2 * HOUR_MS;
  /** By connection and resource. */
  readonly #published = new Map<string, number>();
  /** When the next message is due. */
  #at: number | null = null;
  readonly #started = new Map<number, number>();

  run(): this {
    const random = seededRandom(4711);
    const events: { readonly at: number; readonly do: () => void }[] = [];
    for (let connection = 0; connection < CONNECTIONS; connection++) {
      const jitter = random.below(5 * MINUTE_MS);
      for (let night = 1; night <= DAYS; night++) {
        const start = FIRST + (night - 1) * DAY_MS + jitter;
        const { isMissed, run } = nightOf(connection, night);
        if (isMissed !== true)
          events.push({
            at: start + random.below(4 * MINUTE_MS) + (run === undefined ? MINUTE_MS : 10 * MINUTE_MS),
            do: () => this.#export(connection, night, start, run),
          });
        // One change notice each noon.
        if (nightOf(connection, night).run === undefined && isMissed !== true)
          events.push({
            at: start + 10 * HOUR_MS,
            do: () => this.#runs(connection, [this.#ok('tasks', night)], start),
          });
        for (let look = 0; look < 4; look++)
          events.push({
            at: FIRST + (night - 1) * DAY_MS + look * 6 * HOUR_MS + jitter,
            do: () => this.#watch(connection),
          });
      }
    }
    const batch = (rejected: number, batchId: string): WriteBackAlert => ({
      ...{ resource: 'time-entries', batchId, rejected, unknown: 0, unsent: 0, error: null },
    });
    for (const [hours, rejected, id] of [
      [10, 2, 'b1'],
      [11, 2, 'b1'],
      [12, 1, 'b2'],
      [13, 0, 'b2'],
    ] as const)
      events.push({
        at: FIRST + 13 * DAY_MS + hours * HOUR_MS,
        do: () => this.#report(60, [observeWriteBack(batch(rejected, id))]),
      });
    events.sort((a, b) => a.at - b.at);
    for (const event of events) {
      this.#pass(event.at);
      event.do();
    }
    this.#pass(FIRST + DAYS * DAY_MS);
    return this;
  }

  #ok(resource: string, night: number): Run {
    const runId = `202611${String(night).padStart(2, '0')}T020000Z-00000001` as RunId;
    return { resource, outcome: 'published', runId, warnings: [], error: null };
  }

  #export(connection: number, night: number, start: number, run: Night['run']): void {
    this.#runs(
      connection,
      RESOURCES.map((resource) => ({ ...this.#ok(resource, night), ...run?.(resource) })),
      start,
    );
  }

  #runs(connection: number, runs: readonly Run[], start: number): void {
    this.#started.set(connection, start);
    for (const { resource, outcome } of runs)
      if (outcome === 'published') this.#published.set(`${connection} ${resource}`, this.#now);
    const published = runs.filter(({ outcome }) => outcome === 'published');
    this.#report(connection, [
      ...runs.flatMap((one) => observeRun(one)),
      ...(published.length > 0 ? [HAS_STARTED] : []),
      ...this.#ages(
        connection,
        published.map(({ resource }) => resource),
      ),
    ]);
  }

  #ages(connection: number, names: readonly string[]): Observation[] {
    const maxAges = new Map(TARGETS.map(({ id }) => [id, MAX_AGE]));
    return names.flatMap((name) => {
      const publishedAt = this.#published.get(`${connection} ${name}`);
      return publishedAt === undefined
        ? []
        : [observeAge(name, { now: this.#now, dataFrom: publishedAt, maxAges }).observation];
    });
  }

  #watch(connection: number): void {
    const grace = 15 * MINUTE_MS;
    const dueAt = FIRST + Math.floor((this.#now - grace - FIRST) / DAY_MS) * DAY_MS;
    const found = [
      ...this.#ages(connection, RESOURCES),
      observeSchedule(dueAt < FIRST ? null : dueAt, this.#started.get(connection) ?? null, this.#now),
    ];
    if (found.some(({ problems }) => problems.length > 0)) this.#report(connection, found);
  }

  #report(connection: number, observations: readonly Observation[]): void {
    const name = `c${String(connection).padStart(3, '0')}`;
    const targets = TARGETS.map(({ id, on, incidents }) => ({ id, on, incidents }));
    const report = { connection: name, targets, resources: RESOURCES, observations };
    this.#state = reported(this.#state, report, this.#now);
    this.#send();
  }

  #pass(to: number): void {
    while (this.#at !== null && this.#at <= to) {
      this.#now = this.#at;
      this.#send();
    }
    this.#now = to;
  }

  #send(): void {
    for (;;) {
      const { due, at } = nextAlerts(this.#state, this.#now);
      this.#at = at;
      if (due.length === 0) return;
      // Only for the messages to people, which are few: it takes long.
      if (due.some(({ message }) => message.target !== 'pagerduty'))
        this.mostBytes = Math.max(this.mostBytes, JSON.stringify(this.#state).length);
      for (const one of due) {
        const { vendor, format } = TARGETS.find(({ id }) => id === one.message.target)!;
        const body = JSON.stringify(renderAlert(format, one.message, format === 'pagerduty' ? KEY : null));
        const answer = answerOf(vendor, body);
        expect(answer.status, answer.body).toBeLessThan(300);
        const { target, event, kind } = one.message;
        this.messages.push({ at: this.#now, target, event, kind, shown: shownText(vendor, body) });
        this.#state = alertSent(alertBegun(this.#state, one), one, 'sent', this.#now);
      }
    }
  }
}

describe(`Thirty days of ${CONNECTIONS} connections`, () => {
  let month: Month;
  beforeAll(() => {
    month = new Month().run();
  });
  const of = (target: string): Message[] => month.messages.filter((one) => one.target === target);
  const day = ({ at }: Message): number => Math.floor((at - FIRST) / DAY_MS) + 1;
  const titles = (target: string): string[] =>
    of(target).map((one) => `${day(one)} ${one.shown.split('\n')[0]!.replaceAll('*', '')}`);

  it('lead to one message to a channel for each thing that is new, one reminder a day, and one when all is well', () => {
    expect(titles('slack')).toEqual([
      `3 ${FAILED_FIRST}: the run of 4 resources failed`,
      `3 ${CONNECTIONS - 1} problems of ${CONNECTIONS - 1} connections, such as c000: the run of 4 resources failed`,
      // Tasks were also read at noon.
      `3 ${OLD_FIRST}: the data of 3 resources are too old`,
      `3 ${CONNECTIONS - 1} problems of ${CONNECTIONS - 1} connections, such as c000: the data of 3 resources are too old`,
      `4 ${OLD_FIRST}: the data of tasks are too old`,
      `4 ${CONNECTIONS - 1} problems of ${CONNECTIONS - 1} connections, such as c000: the data of tasks are too old`,
      `5 Reminder: ${2 * CONNECTIONS} problems of ${CONNECTIONS} connections not over yet`,
      `6 All is well again: ${CONNECTIONS} connections`,
      '8 c042: a check stopped tasks',
      '9 c042: the data of tasks are too old',
      '9 c042: all is well again',
      '9 c043: the delete limit stopped tasks',
      '10 c043: the data of tasks are too old',
      '10 c007: the run of 4 resources failed',
      '10 c007: the data of 3 resources are too old',
      '11 c007: the data of tasks are too old',
      '12 c050: the schema of tasks has changed',
      '13 c051: time-entries was published with warnings',
      '14 Reminder: 3 problems of 2 connections not over yet',
      '14 c060: rows were not written to time-entries as they were sent',
      '14 c060: rows were not written to time-entries as they were sent',
      '15 Reminder: 3 problems of 2 connections not over yet',
      '16 c070: the scheduled run did not start',
      '16 c070: the data of 3 resources are too old',
      '17 c070: the data of tasks are too old',
      '18 Reminder: 4 problems of 2 connections not over yet',
      '19 c070: all is well again',
      '20 Reminder: c007: 2 problems not over yet',
      '21 c007: all is well again',
    ]);
  });

  it('reach a target with the default events, which hears of the delete limit as of a failure', () => {
    const found = titles('teams');
    expect(found.length).toBeLessThan(32);
    expect(found).toContain('9 c043: the run of tasks failed');
    expect(found.join('\n')).not.toMatch(/schema|warnings|did not start/);
  });

  it('open one incident for each connection and kind of problem, and resolve each', () => {
    const open = new Map<string, string>();
    const opened: Record<string, number> = {};
    for (const { shown } of of('pagerduty')) {
      const [action, key] = shown.split('\n')[0]!.split(' ') as [string, string];
      expect(open.get(key) ?? 'resolve').not.toBe(action);
      open.set(key, action);
      const [, kind] = key.split('/') as [string, string];
      if (action === 'trigger') opened[kind] = (opened[kind] ?? 0) + 1;
    }
    expect(opened).toEqual({
      ...{ failure: CONNECTIONS + 1, stale: CONNECTIONS + 4, check: 1, 'deletes-held': 1, behind: 1 },
      ...{ warning: 1, 'schema-change': 1, 'rows-not-written': 1 },
    });
    expect(new Set(open.values())).toEqual(new Set(['resolve']));
  });

  it.each<[string, string]>([
    [`${FAILED_FIRST}: the run of 4`, 'GET list: status 503. The service gave no answer for 6h; gave up.'],
    [
      'c007: the run of 4',
      'projects, tasks, time-entries, calendar-entries: the service rejects the API key (status 401)',
    ],
    ['c042: a check', 'rows: allowed at least 1000, found 12'],
    ['c043: the delete limit', '212 of 900 rows have been deleted'],
    ['c070: the scheduled', 'no run has started since 2026-11-16 02:00 UTC, when one was due'],
    ['c070: the data', 'nothing newer than 2026-11-15 02:0'],
    ['c060: rows', 'batch b1: 2 rejected'],
    ['c050: the schema', 'new column "billable" (boolean)'],
    [
      'c051: time-entries',
      'gap: the service no longer lists changes from 2026-11-13T00:00:00Z to 2026-11-13T02:00:00Z, because',
    ],
    ['c070: all is well', 'c070: the schedule, after a missed start since 2026-11-16 0'],
  ])('say what has happened: %s', (title, text) => {
    const found = of('slack').filter(({ shown }) => shown.startsWith(`*${title}`));
    expect(found[0]?.shown).toContain(text);
  });

  it('send nothing while all is well', () => {
    expect([...new Set(of('slack').map(day))].filter((one) => one < 3 || one === 7 || one > 21)).toEqual([]);
  });

  it('keep a state that Temporal accepts', () => {
    // 1 MiB for 300 connections.
    expect(month.mostBytes).toBeLessThan((CONNECTIONS / 300) * 1024 * 1024);
  });
});
