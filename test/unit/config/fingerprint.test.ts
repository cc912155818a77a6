import { describe, expect, it } from 'vitest';
import { configDifference, configDigest, configFingerprint } from '../../../src/config/index.js';
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
