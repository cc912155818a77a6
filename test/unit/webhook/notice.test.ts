import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type NoticeRules, namedResourcesOf, valuesAt } from '../../../src/webhook/notice.js';

const ALL = ['projects', 'tasks', 'time-entries'];
const rules: NoticeRules = {
  resource: '/data/type',
  resources: ALL,
  kinds: {
    'task.*': ['tasks'],
    'task.archived.*': ['tasks', 'projects'],
    time_entry: ['time-entries'],
    ping: [],
    '*': ['projects'],
  },
};
const of = (body: string, changed: Partial<NoticeRules> = {}) =>
  namedResourcesOf(Buffer.from(body), { ...rules, ...changed }) ?? ALL;
const typed = (type: unknown): string => JSON.stringify({ data: { type } });

describe('the resources of a notice', () => {
  it.each([
    ['a resource by its name', typed('tasks'), ['tasks']],
    ['a kind', typed('time_entry'), ['time-entries']],
    ['a kind by its beginning', typed('task.updated'), ['tasks']],
    ['the longest beginning', typed('task.archived.now'), ['projects', 'tasks']],
    ['the beginning of everything', typed('whatever'), ['projects']],
    ['a kind that concerns nothing', typed('ping'), []],
    ['several names', typed(['tasks', 'time_entry']), ['tasks', 'time-entries']],
    [
      'a list of notices',
      `[${typed('tasks')},${typed('projects')},${typed('tasks')}]`,
      ['projects', 'tasks'],
    ],
    ['a list with one unknown notice', `[${typed('tasks')},{}]`, ALL],
    ['an empty list', '[]', ALL],
    ['nothing at the pointer', '{}', ALL],
    ['a number at the pointer', typed(7), ALL],
    ['an empty list at the pointer', typed([]), ALL],
    ['a list with a number at the pointer', typed(['tasks', 7]), ALL],
    ['null', 'null', ALL],
    ['a text', '"tasks"', ALL],
    ['no JSON', 'type=tasks', ALL],
    ['an empty body', '', ALL],
    ['bytes that are no UTF-8', '\xff\xfe', ALL],
    ['names of prototypes', typed('constructor'), ['projects']],
  ])('are found for %s', (_, body, expected) => {
    expect(of(body)).toEqual(expected);
  });

  it('are all of them for an unknown text without a matching rule', () => {
    for (const text of ['Tasks', 'constructor', '__proto__', '', 'tasks '])
      expect(of(typed(text), { kinds: {} })).toEqual(ALL);
  });

  it('come from the whole document with an empty pointer', () => {
    expect(of('"tasks"', { resource: '' })).toEqual(['tasks']);
    expect(of('["tasks","projects"]', { resource: '' })).toEqual(['projects', 'tasks']);
  });

  it('are a subset of the configured ones in their order, for any input', () => {
    const pointers = fc.constantFrom('', '/0', '/data/type', '/__proto__', '/length', '/a~1b');
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), pointers, (body, resource) => {
        const found = of(body, { resource, kinds: {} });
        expect(ALL.filter((name) => found.includes(name))).toEqual(found);
        expect(found.length).toBeGreaterThan(0);
      }),
    );
  });

  it('are found in a deeply nested body', () => {
    const deep = '['.repeat(300_000) + ']'.repeat(300_000);
    expect(of(deep)).toEqual(ALL);
  });
});

describe('the events of an envelope', () => {
  const typesAt = (resource: string, body: unknown) => of(JSON.stringify(body), { resource, kinds: {} });
  const event = (type: unknown) => ({ at: 1, type, data: { type } });
  const two = [event('tasks'), event('projects')];
  it.each([
    ['/events/*/type', { events: two }],
    ['/events/type', { events: two }],
    ['/events/0/type', { events: two }],
    ['/events/*/data/type', { events: two }],
    ['/*/type', two],
    ['/0/type', two],
    ['/type', two],
    ['/batches/*/events/*/type', { batches: [{ events: [two[0]] }, { events: [two[1]] }] }],
    ['/batches/events/type', { batches: [{ events: [two[0]] }, { events: [two[1]] }] }],
    ['/batches/0/0/type', { batches: [{ 0: two[0] }, { 0: two[1] }] }],
    ['/*/*/type', [[two[0]], [two[1]]]],
    ['/names', { names: ['tasks', 'projects'] }],
    ['/names/*', { names: ['tasks', 'projects'] }],
    ['/*/names', [{ names: ['tasks'] }, { names: ['projects', 'tasks'] }]],
  ])('are all found at %s', (pointer, body) => {
    expect(typesAt(pointer, body)).toEqual(['projects', 'tasks']);
  });

  it('concern all resources if one of them is unknown', () => {
    for (const odd of [event('gone'), event(7), {}, null, 'tasks', []])
      expect(typesAt('/events/*/type', { events: [...two, odd] }), JSON.stringify(odd)).toEqual(ALL);
    expect(typesAt('/events/*/type', { events: [] })).toEqual(ALL);
    expect(typesAt('/events/*/type', { events: two[0] })).toEqual(ALL);
  });

  it('are not all read if a list has fields of several kinds', () => {
    expect(typesAt('/0', ['tasks', { id: 'projects' }])).toEqual(['tasks']);
    expect(typesAt('/event/1', { event: [17, 'tasks'] })).toEqual(['tasks']);
  });
});

describe('a JSON pointer', () => {
  // RFC 6901, section 5.
  const document = { foo: ['bar', 'baz'], '': 0, 'a/b': 1, 'm~n': 8, ' ': 7, 'k"l': 6, '~1': 5, '*': 4 };
  it.each([
    ['', [document]],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', ['bar']],
    ['/', [0]],
    ['/a~1b', [1]],
    ['/m~0n', [8]],
    ['/ ', [7]],
    ['/k"l', [6]],
    ['/~01', [5]],
    ['/*', [4]],
    ['/foo/2', [undefined]],
    ['/foo/00', [undefined, undefined]],
    ['/foo/-', [undefined, undefined]],
    ['/foo/length', [undefined, undefined]],
    ['/toString', [undefined]],
    ['/foo/0/0', [undefined]],
  ])('%j has the values that RFC 6901 defines', (pointer, values) => {
    expect(valuesAt(document, pointer)).toEqual(values);
  });
});
