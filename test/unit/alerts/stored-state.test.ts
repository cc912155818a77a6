import { describe, expect, it } from 'vitest';
import { COLLECT_MS, newAlerts } from '../../../src/core/alerts/message-rules.js';
import { restoredAlerts, storedAlerts } from '../../../src/core/alerts/stored-state.js';
import type { AlertsState, Observation } from '../../../src/core/contract/index.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/duration.js';
import { jsonBytes } from '../../../src/core/text-budget.js';
import { IS_LONG } from '../../support/seeds.js';
import { FAILED, START, World } from './world.js';

const LIMIT = 2 * 1024 * 1024;
const MIB = 1024 * 1024;
const TARGETS = [{ id: '199e193684ee' }, { id: '5f0c2a9be41d', incidents: true }];
/** A target with incidents has a message for each connection, which takes long for thousands. */
const CHANNELS = [{ id: '199e193684ee' }, { id: '5f0c2a9be41d' }];
const RESOURCES = ['projects', 'tasks', 'time-entries', 'calendar-entries', 'members', 'clients', 'invoices'];

/** An export of all resources, and a look at their ages. */
function exported(world: World, connection: string, textOf: ((resource: string) => string) | null): void {
  const asOf = world.now - 5 * MINUTE_MS;
  world.report(
    connection,
    RESOURCES.flatMap((resource, at): Observation[] => {
      const run = { resource, asOf: asOf + 1000 * at };
      const kind = 'failure' as const;
      if (textOf !== null)
        return [{ ...run, covers: FAILED, problems: [{ kind, mark: 'Transient', text: textOf(resource) }] }];
      return [
        { ...run, covers: FAILED, problems: [] },
        { ...run, covers: ['warning', 'schema-change'], problems: [] },
        { resource, covers: ['stale'], problems: [], asOf: world.now },
      ];
    }),
    { checkAt: world.now + DAY_MS },
  );
}

/** What a target has heard of, and not the end of: connections by event. */
function open(world: World, target: string): string[] {
  const found = new Set<string>();
  for (const { target: of, news, over } of world.received) {
    if (of !== target) continue;
    const incident = (one: string): string => one.split(' ').slice(0, 2).join(' ');
    for (const one of news) found.add(incident(one));
    for (const one of over) found.delete(incident(one));
  }
  return [...found];
}

/** What is remembered of each problem that some target has heard of. */
function told({ connections }: AlertsState) {
  const all = Object.values(connections).flatMap(({ problems }) => problems);
  return all
    .filter((one) => Object.keys(one.told).length > 0)
    .map(({ text: _, told: heard, ...one }) => JSON.stringify([Object.entries(one).sort(), heard]))
    .sort();
}

describe('The state of the alerts', () => {
  it('of 2,000 connections stays below the limit of Temporal in an outage, and forgets nothing that a target has heard of', () => {
    const world = new World(CHANNELS, RESOURCES);
    const names = Array.from({ length: 2000 }, (_, at) => `customer-${String(at).padStart(4, '0')}`);
    exported(world, 'all', null);
    const [entry] = Object.values(world.state.connections);
    world.state = { ...world.state, connections: Object.fromEntries(names.map((name) => [name, entry!])) };
    world.now += HOUR_MS;
    // All that comes while a message is on its way is in the next one.
    world.isHeld = true;
    // After 3,000 problems, no others are remembered.
    for (const name of IS_LONG ? names : names.slice(0, 500))
      exported(world, name, (resource) => `${name} ${resource}: ${'no answer. '.repeat(40)}`);
    world.release();
    world.pass(20 * MINUTE_MS);
    expect(jsonBytes(world.state)).toBeGreaterThan(LIMIT);
    const before = told(world.state);
    expect(before.length).toBeGreaterThan(2_900);
    expect(world.continueAsNew()).toEqual([]);
    expect(jsonBytes(storedAlerts(world.state, world.now).stored)).toBeLessThan(1.5 * MIB);
    expect(told(world.state)).toEqual(before);
    expect(CHANNELS.map(({ id }) => open(world, id).length > 0)).toEqual([true, true]);
    world.isHeld = true;
    for (const [name, { problems }] of Object.entries(world.state.connections))
      if (problems.length > 0) exported(world, name, null);
    world.release();
    world.pass(3 * HOUR_MS);
    const ends = world.received.filter(({ event, still }) => event === 'recovery' && still.length === 0);
    expect(ends.map(({ target }) => target).sort()).toEqual(CHANNELS.map(({ id }) => id).sort());
    for (const { problems } of Object.values(world.state.connections)) expect(problems).toEqual([]);
  });

  it('loses texts, times, news and quiet connections in this order if it is too large, and nothing that a target has heard of', () => {
    const world = new World(TARGETS, RESOURCES);
    for (let at = 0; at < 40; at++) {
      const name = `c${at}`;
      exported(world, name, at < 20 ? (resource) => `${name} ${resource} ${'x'.repeat(100)}` : null);
      world.pass(MINUTE_MS);
    }
    world.pass(HOUR_MS);
    // No target has heard of these.
    world.outcomes.push(...Array.from({ length: 100 }, () => 'failed' as const));
    for (let at = 40; at < 60; at++) exported(world, `c${at}`, () => 'new');
    const known = told(world.state);
    expect(known).toHaveLength(140);
    const state = world.state;
    const left = [0, 1, 2, 3, 4].map((steps) => {
      world.state = state;
      let bytes = jsonBytes(storedAlerts(state, world.now).stored);
      while (storedAlerts(state, world.now, bytes).left.length < steps) bytes -= 300;
      const found = world.continueAsNew(bytes);
      expect(jsonBytes(storedAlerts(world.state, world.now).stored)).toBeLessThanOrEqual(bytes);
      expect(told(world.state)).toEqual(known);
      return found;
    });
    const order = ['texts', 'times of reports', 'the newest problems', 'connections without problems'];
    expect(left).toEqual([0, 1, 2, 3, 4].map((steps) => order.slice(0, steps)));
    expect(Object.keys(world.state.connections)).toHaveLength(20);
    // The next reports have all of it again.
    world.outcomes.length = 0;
    for (let at = 0; at < 60; at++) exported(world, `c${at}`, at < 50 ? () => 'still' : null);
    world.pass(HOUR_MS);
    const failing = Array.from({ length: 50 }, (_, at) => `c${at} failure`);
    expect(open(world, '5f0c2a9be41d').sort()).toEqual(failing.sort());
  });

  it('of a target for each connection, and of earlier builds, is read as it was', () => {
    const world = new World([...TARGETS], ['tasks']);
    for (const id of ['a', 'b', 'c']) {
      (world as { targets: World['targets'] }).targets = [...TARGETS, { id, on: ['failure', 'recovery'] }];
      world.failed(`of-${id}`);
      world.report(`of-${id}`, [{ resource: 'tasks', covers: ['stale'], problems: [], asOf: START }]);
      world.pass(COLLECT_MS);
    }
    world.published('of-a');
    const before = world.state;
    world.continueAsNew();
    expect(world.state).toEqual(before);
    // `storedAlerts` is for the next history; those of earlier builds began with the state itself.
    expect(restoredAlerts(before)).toBe(before);
    expect(restoredAlerts(newAlerts())).toEqual(newAlerts());
    const [first] = Object.values(before.connections);
    const { seen: _, ...older } = first!;
    const old: AlertsState = { ...before, connections: { ...before.connections, 'of-a': older } };
    expect(restoredAlerts(storedAlerts(old, world.now).stored).connections['of-a']).toEqual({
      ...older,
      seen: {},
    });
  });

  it('remembers for an hour when the lake was read, and for two days when runs began', () => {
    const world = new World(TARGETS, ['tasks']);
    const seen = (): string[] => Object.keys(world.state.connections.acme!.seen ?? {});
    exported(world, 'acme', null);
    expect(seen()).toContain('stale tasks');
    world.pass(HOUR_MS);
    world.continueAsNew();
    expect(seen()).toEqual(expect.arrayContaining(['failure tasks', 'warning tasks']));
    expect(seen().join()).not.toContain('stale');
    world.pass(2 * DAY_MS);
    world.continueAsNew();
    expect(seen()).toEqual([]);
  });
});
