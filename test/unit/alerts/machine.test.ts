import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  COLLECT_MS,
  connectionGone,
  FIRST_REMINDER_MS,
  newAlerts,
  nextAlerts,
  RETRY_MS,
} from '../../../src/core/alerts/message-rules.js';
import type { Observation } from '../../../src/core/contract/index.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/duration.js';
import { rounds } from '../../support/seeds.js';
import { FAILED, START, World } from './world.js';

type Found = 'failure' | 'schema-change' | null;

describe('Alerts', () => {
  it('send a failure immediately, and one message when all is well again', () => {
    const world = new World();
    world.failed('acme');
    expect(world.take()).toEqual(['alert | failure | +acme failure tasks']);
    world.pass(HOUR_MS);
    world.published('acme');
    expect(world.take()).toEqual(['alert | recovery | -acme failure tasks']);
    world.published('acme');
    world.pass(30 * DAY_MS);
    expect(world.take()).toEqual([]);
  });

  it('name all resources of an export in one message', () => {
    const world = new World();
    const problems = [{ kind: 'failure', mark: 'Transient', text: 'no answer' }] as const;
    world.report(
      'acme',
      ['tasks', 'projects'].map((resource) => ({ resource, covers: FAILED, problems })),
    );
    expect(world.take()).toEqual(['alert | failure | +acme failure tasks+projects']);
  });

  it('do not repeat a state, but send one reminder a day, later than the nightly run', () => {
    const world = new World();
    for (let night = 0; night < 30; night++) {
      world.failed('acme');
      world.pass(DAY_MS);
    }
    const kinds = world.received.map(({ kind }) => kind);
    expect(kinds).toEqual(['alert', ...Array.from({ length: 29 }, () => 'reminder')]);
    expect(world.received[1]!.at - START).toBe(FIRST_REMINDER_MS);
    expect(world.received[1]!.still).toEqual(['acme failure tasks']);
    world.take();
    world.published('acme');
    expect(world.take()).toEqual(['alert | recovery | -acme failure tasks']);
  });

  it('report another cause as news', () => {
    const world = new World();
    world.failed('acme');
    world.pass(DAY_MS);
    const problems = [{ kind: 'failure', mark: 'Refused key', text: 'bad key' }] as const;
    world.report('acme', [{ resource: 'tasks', covers: FAILED, problems }]);
    expect(world.take()).toEqual([
      'alert | failure | +acme failure tasks',
      'alert | failure | +acme failure tasks',
    ]);
  });

  it('collect further failures for the same target for ten minutes', () => {
    const world = new World();
    for (let at = 0; at < 300; at++) {
      world.failed(`c${String(at).padStart(3, '0')}`);
      world.pass(1000);
    }
    expect(world.take()).toEqual(['alert | failure | +c000 failure tasks']);
    world.pass(COLLECT_MS);
    const [message] = world.received;
    expect(world.received).toHaveLength(1);
    expect(message!.at - START).toBe(COLLECT_MS);
    expect(message!.news).toHaveLength(20);
  });

  it('drop a failure that has ended before it is sent', () => {
    const world = new World();
    world.failed('acme');
    world.failed('other');
    world.published('other');
    world.pass(HOUR_MS);
    expect(world.take()).toEqual(['alert | failure | +acme failure tasks']);
    world.published('acme');
    expect(world.take()).toEqual(['alert | recovery | -acme failure tasks']);
  });

  it('send the end of a failure that has ended while its message was on the way', () => {
    const world = new World([{ id: 'slack' }, { id: 'pd', incidents: true }, { id: 'log', on: ['failure'] }]);
    world.isHeld = true;
    world.failed('acme');
    world.published('acme');
    // No target has heard of this one, so none hears of its end.
    world.failed('acme', 'projects');
    world.published('acme', 'projects');
    world.release();
    world.pass(3 * HOUR_MS);
    expect(world.take()).toEqual([
      ...Array<string>(3).fill('alert | failure | +acme failure tasks'),
      'alert | recovery | -acme failure tasks',
      'resolve | failure | -acme failure tasks',
    ]);
    expect(world.state.connections.acme?.problems).toEqual([]);
  });

  it('follow the newest run, although an export reports each of its resources when all have ended', () => {
    const [early, late] = [START + HOUR_MS, START + 3 * HOUR_MS];
    const world = new World();
    const run = (asOf: number, outcome: 'published' | 'failed', changed = false): void => {
      const failure = { kind: 'failure', mark: 'failure', text: 'no answer' } as const;
      const change = { kind: 'schema-change', mark: String(asOf), text: 'new column' } as const;
      const problems = [...(outcome === 'failed' ? [failure] : []), ...(changed ? [change] : [])];
      const covers = outcome === 'failed' ? FAILED : ([...FAILED, 'warning', 'schema-change'] as const);
      world.report('acme', [{ resource: 'tasks', covers, problems, asOf }]);
      world.pass(20 * MINUTE_MS);
    };
    run(late, 'failed');
    expect(world.take()).toEqual(['alert | failure | +acme failure tasks']);
    // Nothing else says what has happened once.
    run(early, 'published', true);
    run(early, 'published', true);
    expect(world.take()).toEqual(['alert | schema-change | +acme schema-change tasks | acme failure tasks']);
    run(late + HOUR_MS, 'published');
    expect(world.take()).toEqual(['alert | recovery | -acme failure tasks']);
    run(late, 'failed');
    expect(world.take()).toEqual([]);
    // The age of the data is another question.
    const stale = { kind: 'stale', mark: 'stale', text: 'old' } as const;
    const age = (asOf: number, problems: Observation['problems']): void =>
      world.report('acme', [{ resource: 'tasks', covers: ['stale'], problems, asOf }]);
    age(early, [stale]);
    world.pass(20 * MINUTE_MS);
    expect(world.take()).toEqual(['alert | stale | +acme stale tasks']);
    age(late, []);
    age(early + 1, [stale]);
    world.pass(3 * HOUR_MS);
    expect(world.take()).toEqual(['alert | recovery | -acme stale tasks']);
  });

  it('of many connections that fail in turn are two messages: the first one, and the others', () => {
    const world = new World();
    for (let at = 0; at < 300; at++) {
      world.failed(`c${at}`);
      world.pass(1000);
    }
    expect(world.take()).toEqual(['alert | failure | +c0 failure tasks']);
    world.pass(HOUR_MS);
    expect(world.take()).toHaveLength(1);
  });

  it('continue in the state of a build that let exports wait for each other', () => {
    const world = new World();
    world.failed('acme');
    world.take();
    const [problem] = world.state.connections.acme!.problems;
    const before = { ...world.state, together: [{ id: 'all', left: 2, until: START + HOUR_MS }] };
    const connections = {
      acme: { ...before.connections.acme!, problems: [{ ...problem!, together: 'all' }] },
    };
    world.state = { ...before, connections };
    world.published('acme');
    expect(world.take()).toEqual(['alert | recovery | -acme failure tasks']);
  });

  it('wait with a recovery for other connections, for an hour', () => {
    const world = new World();
    world.failed('a');
    world.failed('b');
    world.pass(HOUR_MS);
    world.take();
    world.published('a');
    expect(world.take()).toEqual([]);
    world.pass(MINUTE_MS);
    world.published('b');
    expect(world.take()).toEqual(['alert | recovery | -a failure tasks | -b failure tasks']);
    world.failed('a');
    world.failed('b');
    world.pass(HOUR_MS);
    world.take();
    world.published('a');
    world.pass(HOUR_MS);
    expect(world.take()).toEqual(['alert | recovery | -a failure tasks | b failure tasks']);
  });

  it('reach only targets that ask for the event, and stopped runs reach those that ask for failures', () => {
    const world = new World([
      { id: 'failures', on: ['failure'] },
      { id: 'checks', on: ['check', 'recovery'] },
      { id: 'warnings', on: ['warning'] },
    ]);
    world.failed('acme', 'tasks', 'check');
    world.failed('acme', 'projects', 'deletes-held');
    world.pass(COLLECT_MS);
    expect(world.received.map(({ target, event, news }) => [target, event, news])).toEqual([
      ['failures', 'failure', ['acme failure tasks']],
      ['checks', 'check', ['acme check tasks']],
      ['failures', 'failure', ['acme failure projects']],
    ]);
    world.received.length = 0;
    world.published('acme');
    world.published('acme', 'projects');
    expect(world.received.map(({ target, event }) => [target, event])).toEqual([['checks', 'recovery']]);
  });

  it('report a change of the schema once, although the next run has none', () => {
    const world = new World();
    world.failed('other');
    world.take();
    world.published('acme', 'tasks', [{ kind: 'schema-change', mark: 'run1', text: 'new column' }]);
    world.published('acme');
    world.published('acme', 'tasks', [{ kind: 'schema-change', mark: 'run2', text: 'another' }]);
    world.published('acme');
    world.pass(COLLECT_MS);
    expect(world.take()).toEqual(['alert | schema-change | +acme schema-change tasks | other failure tasks']);
    world.pass(HOUR_MS);
    expect(world.take()).toEqual([]);
  });

  it('report each batch with rows that were not written, without reminders and recoveries', () => {
    const world = new World();
    const batch = (mark: string): void =>
      world.report('acme', [
        {
          resource: 'time-entries',
          covers: ['rows-not-written'],
          problems: mark === '' ? [] : [{ kind: 'rows-not-written', mark, text: mark }],
        },
      ]);
    batch('b1 1 0 0');
    batch('b1 1 0 0');
    world.pass(3 * DAY_MS);
    batch('b2 0 1 0');
    batch('');
    world.pass(3 * DAY_MS);
    expect(world.take()).toEqual([
      'alert | rows-not-written | +acme rows-not-written time-entries',
      'alert | rows-not-written | +acme rows-not-written time-entries',
    ]);
    expect(world.state.connections.acme?.problems).toEqual([]);
  });

  it('try a message that could not be sent again later, with what is then true', () => {
    const world = new World();
    world.outcomes.push('failed');
    world.failed('a');
    world.failed('b');
    world.published('a');
    world.pass(RETRY_MS);
    expect(world.take()).toEqual(['alert | failure | +b failure tasks']);
  });

  it('forget a target that exists no longer, and a connection without targets', () => {
    const world = new World();
    world.outcomes.push('gone');
    world.failed('acme');
    expect(world.state.targets).toEqual({});
    // The check that is due finds that the connection is gone, too.
    expect(nextAlerts(world.state, world.now).checks).toEqual(['acme']);
    world.state = connectionGone(world.state, 'acme');
    expect(world.state).toEqual(newAlerts());
    world.failed('acme');
    expect(connectionGone(world.state, 'acme')).toBe(world.state);
    world.report('acme', [], { targets: [] });
    expect(world.state).toEqual(newAlerts());
  });

  it('tell the target of today what the one of yesterday did not take', () => {
    const targets = [{ id: 'wrong' }];
    const world = new World(targets);
    world.outcomes.push('failed', 'gone');
    world.failed('acme');
    world.pass(HOUR_MS);
    expect(world.take()).toEqual([]);
    targets[0] = { id: 'right' };
    world.report('acme', [], { checkAt: null });
    expect(world.take()).toEqual(['alert | failure | +acme failure tasks']);
    expect(nextAlerts(world.state, world.now).checks).toEqual([]);
  });

  it('drop problems of a resource that was removed from the configuration', () => {
    const world = new World();
    world.failed('acme', 'tasks');
    world.take();
    world.report('acme', [], { resources: ['projects'] });
    world.pass(5 * DAY_MS);
    expect(world.take()).toEqual([]);
  });

  it('Alerts of old data concern only the targets whose age is reached', () => {
    const world = new World([{ id: 'a' }, { id: 'b' }]);
    const stale = (only: readonly string[]): void =>
      world.report('acme', [
        {
          resource: 'tasks',
          covers: ['stale'],
          problems: [{ kind: 'stale', mark: 'stale', text: 'old', only }],
        },
      ]);
    stale(['a']);
    expect(world.received.map(({ target }) => target)).toEqual(['a']);
    stale(['a', 'b']);
    expect(world.received.map(({ target }) => target)).toEqual(['a', 'b']);
    world.published('acme');
    expect(world.received.map(({ event }) => event)).toEqual(['stale', 'stale', 'recovery', 'recovery']);
  });

  it('know no missed run while the Schedule is paused, nor for the time before', () => {
    const world = new World();
    const behind = (dueAt: number): void =>
      world.report('acme', [
        {
          resource: '',
          covers: ['behind'],
          problems: [{ kind: 'behind', mark: 'behind', text: 'late', dueAt }],
        },
      ]);
    world.report('acme', [{ resource: '', covers: ['behind'], problems: [], quietly: true }], {
      isPaused: true,
    });
    const pausedAt = world.now;
    world.pass(HOUR_MS);
    behind(pausedAt - 1);
    expect(world.take()).toEqual([]);
    behind(pausedAt + 1);
    expect(world.take()).toEqual(['alert | behind | +acme behind ']);
    world.report('acme', [{ resource: '', covers: ['behind'], problems: [], quietly: true }], {
      isPaused: true,
    });
    world.pass(5 * DAY_MS);
    expect(world.take()).toEqual([]);
  });

  it('check the age of the data at the time that was reported', () => {
    const world = new World();
    world.report('acme', [], { checkAt: START + DAY_MS });
    world.report('acme', [], { checkBy: START + 2 * DAY_MS });
    expect(nextAlerts(world.state, START)).toMatchObject({ at: START + DAY_MS, checks: [] });
    expect(nextAlerts(world.state, START + DAY_MS).checks).toEqual(['acme']);
  });
});

describe('Incidents', () => {
  const incidents = [{ id: 'pagerduty', incidents: true }];

  it('are one event for each connection and kind, and its end', () => {
    const world = new World(incidents);
    world.failed('a', 'tasks');
    world.failed('a', 'projects');
    world.failed('b');
    expect(world.take()).toEqual([
      'alert | failure | +a failure tasks',
      'alert | failure | +b failure tasks',
    ]);
    world.pass(5 * DAY_MS);
    expect(world.take()).toEqual([]);
    // The incident names only tasks. Projects failed later, and still do.
    world.published('a', 'tasks');
    expect(world.take()).toEqual([
      'resolve | failure | -a failure tasks',
      'alert | failure | +a failure projects',
    ]);
    world.published('a', 'projects');
    expect(world.take()).toEqual(['resolve | failure | -a failure projects']);
    world.published('b');
    expect(world.take()).toEqual(['resolve | failure | -b failure tasks']);
    world.pass(5 * DAY_MS);
    expect(world.take()).toEqual([]);
    world.failed('a');
    expect(world.take()).toEqual(['alert | failure | +a failure tasks']);
  });

  it('Incidents of another kind replace each other', () => {
    const world = new World(incidents);
    world.failed('a', 'tasks', 'failure');
    world.failed('a', 'tasks', 'check');
    expect(world.take().sort()).toEqual([
      'alert | check | +a check tasks',
      'alert | failure | +a failure tasks',
      'resolve | failure | -a failure tasks',
    ]);
  });

  /** By run: what each resource of one connection comes to, and the incidents that follow. */
  const SEVERAL: readonly (readonly [
    what: string,
    runs: readonly (readonly [Found, Found])[],
    messages: string[],
  ])[] = [
    [
      'another resource fails in the run that publishes the first one',
      [
        ['failure', null],
        [null, 'failure'],
        [null, null],
      ],
      ['+failure tasks', '-failure tasks', '+failure projects', '-failure projects'],
    ],
    [
      'both fail in one run, and recover one after the other',
      [
        ['failure', 'failure'],
        [null, 'failure'],
        [null, null],
      ],
      ['+failure tasks+projects', '-failure tasks+projects'],
    ],
    [
      'the schema of another resource changes in the next run',
      [
        ['schema-change', null],
        [null, 'schema-change'],
        [null, null],
      ],
      ['+schema-change tasks', '-schema-change tasks', '+schema-change projects', '-schema-change projects'],
    ],
    [
      'one fails while the schema of the other changes, and the other way round',
      [
        ['failure', 'schema-change'],
        ['schema-change', 'failure'],
        [null, null],
      ],
      [
        ...['+failure tasks', '+schema-change projects', '-failure tasks', '+failure projects'],
        ...['-schema-change projects', '+schema-change tasks', '-failure projects', '-schema-change tasks'],
      ],
    ],
  ];
  it.each(SEVERAL)('Incidents name the resources that they are about if %s', (_, runs, messages) => {
    const world = new World(incidents);
    for (const [at, run] of runs.entries()) {
      const observations = run.map((kind, of): Observation => {
        const covers = kind === 'failure' ? FAILED : [...FAILED, 'schema-change' as const];
        const problems = kind === null ? [] : [{ kind, mark: `${kind}${at}`, text: 'why' }];
        return { resource: world.resources[of]!, covers, problems };
      });
      world.report('a', observations);
      world.pass(DAY_MS);
    }
    const received = world.received.flatMap(({ news, over }) => [
      ...news.map((one) => one.replace('a ', '+')),
      ...over.map((one) => one.replace('a ', '-')),
    ]);
    expect(received.sort()).toEqual([...messages].sort());
  });

  it('Incidents for something that happens once end when it does not happen again', () => {
    const world = new World(incidents);
    const change = (mark: string) => [{ kind: 'schema-change', mark, text: 'new column' }] as const;
    world.published('a', 'tasks', change('run1'));
    world.published('a', 'tasks', change('run2'));
    world.published('a', 'tasks');
    world.pass(DAY_MS);
    world.published('a', 'tasks', change('run3'));
    expect(world.take()).toEqual([
      'alert | schema-change | +a schema-change tasks',
      'resolve | schema-change | -a schema-change tasks',
      'alert | schema-change | +a schema-change tasks',
    ]);
  });
});

/** A step of a history: something is observed, or time passes. */
type Step =
  | { readonly do: 'fail' | 'publish'; readonly connection: string; readonly resource: string }
  | { readonly do: 'pass'; readonly minutes: number }
  | { readonly do: 'break' }
  | { readonly do: 'hold' }
  | { readonly do: 'release' }
  | { readonly do: 'continue' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constantFrom('fail' as const, 'publish' as const),
    connection: fc.constantFrom('a', 'b', 'c'),
    resource: fc.constantFrom('tasks', 'projects'),
  }),
  fc.record({ do: fc.constant('pass' as const), minutes: fc.integer({ min: 1, max: 3000 }) }),
  fc.constantFrom<Step>({ do: 'break' }, { do: 'hold' }, { do: 'release' }, { do: 'continue' }),
);

describe('Whatever happens, alerts', () => {
  it('tell people in the end what is wrong and what is well, and never more often than the rules allow', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const world = new World([
          { id: 'slack', on: ['failure', 'recovery'] },
          { id: 'pd', incidents: true },
        ]);
        const failing = new Set<string>();
        for (const one of steps) {
          if (one.do === 'pass') world.pass(one.minutes * MINUTE_MS);
          else if (one.do === 'break') world.outcomes.push('failed');
          else if (one.do === 'hold') world.isHeld = true;
          else if (one.do === 'release') world.release();
          else if (one.do === 'continue') expect(world.continueAsNew()).toEqual([]);
          else if (one.do === 'fail') {
            failing.add(`${one.connection} ${one.resource}`);
            world.failed(one.connection, one.resource);
          } else {
            failing.delete(`${one.connection} ${one.resource}`);
            world.published(one.connection, one.resource);
          }
        }
        world.outcomes.length = 0;
        world.release();
        world.pass(3 * HOUR_MS);
        // What a reader believes who adds up the messages of the target.
        const connections = new Set([...failing].map((one) => one.split(' ')[0]));
        for (const target of ['slack', 'pd']) {
          const believed = new Set<string>();
          const of = world.received.filter((one) => one.target === target);
          for (const { news, over } of of) {
            for (const one of over) believed.delete(one.split(' ')[0]!);
            for (const one of news) believed.add(one.split(' ')[0]!);
          }
          expect([...believed].sort()).toEqual([...connections].sort());
          if (target === 'pd') continue;
          const alerts = of.filter(({ news }) => news.length > 0);
          // News that come while a recovery is due are in the same message.
          for (const [at, one] of alerts.slice(1).entries())
            if (one.over.length === 0) expect(one.at - alerts[at]!.at).toBeGreaterThanOrEqual(COLLECT_MS);
          const reminders = of.filter(({ kind }) => kind === 'reminder');
          for (const [at, one] of reminders.slice(1).entries())
            expect(one.at - reminders[at]!.at).toBeGreaterThanOrEqual(DAY_MS);
        }
        // Without problems, nothing is kept.
        if (failing.size === 0)
          for (const { problems } of Object.values(world.state.connections)) expect(problems).toEqual([]);
      }),
      { numRuns: rounds(1000) },
    );
  });
});
