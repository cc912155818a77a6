import { describe, expect, it } from 'vitest';
import { configDifference, configDigest, configFingerprint } from '../../../src/config/index.js';
import { notPreviewed } from '../../../src/core/fingerprint.js';
import { connectionOf, DOCUMENTED_EXAMPLE, DOCUMENTED_MORE_KEYS, withLines } from './fixtures.js';

const base = connectionOf(withLines('resources: [projects, tasks]'));
const withMore = (lines: string, replace = {}) => connectionOf(withLines(lines, replace));
const differ = (lines: string, replace = {}) =>
  configDifference(configDigest(withMore(lines, replace)), configDigest(base));

describe('the fingerprint of a configuration', () => {
  it('is the same for equal settings, and for defaults that are written out', () => {
    expect(configFingerprint(base)).toMatch(/^[0-9a-f]{12}$/);
    const written = withMore('sync: { pageSize: 1000 }\nresources: [projects, tasks]');
    expect(configFingerprint(written)).toBe(configFingerprint(base));
    expect(differ('resources: [projects, tasks]')).toBeNull();
  });

  it('does not change with the schedule or the webhook, which no worker uses', () => {
    const more = withMore('schedule: { cron: "0 5 * * *" }\nresources: [projects, tasks]');
    expect(configFingerprint(more)).toBe(configFingerprint(base));
  });

  it('contains no value, for every key of the documentation', () => {
    const text = JSON.stringify(configDigest(connectionOf(DOCUMENTED_EXAMPLE + DOCUMENTED_MORE_KEYS)));
    for (const value of ['https', 'tracker.example', 'company-lake', 'WORKTRACK', 'source,', 'gzip'])
      expect(text).not.toContain(value);
    expect(text).toContain('lake.url');
  });
});

describe('the difference between two configurations', () => {
  it('names the resources that only one of them has', () => {
    const difference = differ('resources: [projects, { name: members, path: members }]');
    expect(difference).toEqual({ added: ['members'], missing: ['tasks'], keys: [] });
  });

  it('names keys as in the file, also those of a secret', () => {
    const lines = 'resources: [projects, { name: tasks, path: todo }]\nretries: { giveUpAfter: 1h }';
    expect(differ(lines, { apiKey: '{ env: OTHER }' })?.keys).toEqual([
      'apiKey.env',
      'resources.tasks.path',
      'retries.giveUpAfter',
    ]);
  });

  it('names a key once that differs in every resource', () => {
    const difference = differ('csv: { compression: none, partSize: 1MiB }\nresources: [projects, tasks]');
    expect(difference?.keys).toEqual(['csv.compression', 'csv.partSize']);
  });
});

describe('the keys that a dry run cannot preview', () => {
  const MORE = 'resources: [projects, tasks]\n';
  const of = (lines: string, replace = {}) =>
    notPreviewed(configDigest(withMore(lines, replace)), configDigest(base));

  it.each([
    'resources: [projects, { name: tasks, columns: { mask: { title: redact } } }]',
    'resources: [projects, { name: tasks, columns: { exclude: [title] }, deletes: drop, window: 30d, windowField: day }]',
    'resources: [projects, { name: tasks, key: [a, b], csv: { nested: flatten }, checks: [{ notNull: a }] }]',
    `${MORE}csv: { compression: none }`,
    `${MORE}deletes: drop`,
  ])('are none of those that shape rows: %s', (lines) => {
    expect(of(lines)).toEqual([]);
  });

  it.each([
    [`${MORE}sync: { pageSize: 10 }`, ['sync.pageSize']],
    ['resources: [projects]', ['resources.tasks']],
    ['resources: [projects, tasks, members]', ['resources.members']],
    ['resources: [projects, { name: tasks, path: todo }]', ['resources.tasks.path']],
    ['resources: [projects, { name: tasks, deleted: { field: gone } }]', ['resources.tasks.deleted.field']],
  ])('are all others: %s', (lines, keys) => {
    expect(of(lines)).toEqual(expect.arrayContaining(keys));
  });

  it('are those of the service and of secrets', () => {
    expect(of(MORE, { baseUrl: 'https://other.example.com' })).toEqual(['baseUrl']);
    expect(of(MORE, { apiKey: '{ env: OTHER }' })).toEqual(['apiKey.env']);
  });
});
