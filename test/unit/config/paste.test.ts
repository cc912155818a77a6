import { describe, expect, it } from 'vitest';
import { parseSettings, settingsToPaste } from '../../../src/config/index.js';

const FILE = `
defaults:
  sync: { pageSize: 500, overlap: 10m }
connections:
  acme:
    baseUrl: https://tracker.example.com
    apiKey: { env: KEY }
    lake: { url: s3://company-lake/acme }
    sync: { reconcileEvery: 2d }
    resources: # a comment
      - tasks
      - { name: time-entries, path: entries, columns: { exclude: [note] } }
`;

describe('settings to paste', () => {
  it('are the whole keys of a connection, with defaults, what the file says and what is added', () => {
    const yaml = settingsToPaste(FILE, 'acme', {
      sync: { pageSize: 37 },
      resources: { tasks: { fetchById: true }, 'time-entries': { windowField: 'started, at' } },
    });
    expect(yaml).toBe(`    sync:
      pageSize: 37
      overlap: 10m
      reconcileEvery: 2d
    resources:
      - name: tasks
        fetchById: true
      - name: time-entries
        path: entries
        columns:
          exclude:
            - note
        windowField: started, at
`);
    const [connection] = parseSettings(
      `${FILE.slice(0, FILE.indexOf('    sync: { reconcile'))}${yaml}`,
      'x',
    ).connections;
    expect(connection).toMatchObject({
      sync: { pageSize: 37, overlapMs: 600_000, reconcileEveryMs: 172_800_000 },
    });
  });

  it('name the default resources if the file has none, and are empty without additions', () => {
    const without = FILE.slice(0, FILE.indexOf('    resources:'));
    const resources = { projects: { fetchById: false } };
    expect(settingsToPaste(without, 'acme', { sync: {}, resources })).toBe(`    resources:
      - name: projects
        fetchById: false
      - tasks
      - time-entries
      - calendar-entries
`);
    expect(settingsToPaste(FILE, 'acme', { sync: {}, resources: {} })).toBe('');
  });
});
