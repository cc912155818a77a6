import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { parseSettings, SettingsError } from '../../../src/config/index.js';

const connection = (name: string, more: object = {}) => ({
  baseUrl: `https://${name}.example.com`,
  apiKey: { env: 'KEY' },
  lake: { url: `s3://lake/${name}` },
  ...more,
});
const settingsOf = (file: object) => parseSettings(stringify(file), 'test.yaml');

function problemsOf(file: object) {
  try {
    settingsOf(file);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe('defaults for all connections', () => {
  it('apply to each connection, whose own keys take precedence', () => {
    const { connections } = settingsOf({
      defaults: {
        lake: { region: 'eu-central-1' },
        sync: { pageSize: 500, overlap: '10m' },
        deletes: 'keep',
        resources: ['projects'],
        errors: { refused: [401] },
        apiKey: { env: 'SHARED' },
        notify: { url: 'https://hooks.example.com', on: ['failure'] },
        webhook: { kinds: { a: ['projects'] } },
      },
      connections: {
        one: connection('one', { apiKey: undefined }),
        two: connection('two', {
          apiKey: { file: '/run/key' },
          lake: { url: 's3://other/two', region: 'us-east-1' },
          sync: { pageSize: 7 },
          deletes: 'drop',
          resources: ['tasks'],
          errors: { refused: [402, 403] },
          notify: { url: { env: 'HOOK' } },
          webhook: { kinds: { b: ['tasks'], a: ['tasks'] } },
        }),
        three: connection('three', { notify: null, webhook: null, sync: null }),
      },
    });
    const [one, two, three] = connections;
    expect(one).toMatchObject({
      apiKey: { env: 'SHARED' },
      lake: { url: 's3://lake/one', region: 'eu-central-1' },
      sync: { pageSize: 500, overlapMs: 600_000 },
      errors: { refused: [401] },
      resources: [{ name: 'projects', deletes: 'keep' }],
    });
    expect(two).toMatchObject({
      apiKey: { file: '/run/key' },
      lake: { url: 's3://other/two', region: 'us-east-1' },
      sync: { pageSize: 7, overlapMs: 600_000 },
      errors: { refused: [402, 403] },
      resources: [{ name: 'tasks', deletes: 'drop' }],
      webhook: { kinds: { a: ['tasks'], b: ['tasks'] } },
    });
    expect(two!.apiKey).not.toHaveProperty('env');
    expect([three!.notify, three!.webhook, three!.sync.pageSize]).toEqual([[], null, 1000]);
  });

  it('give the same settings as the keys written out in each connection', () => {
    const sections = fc.record(
      {
        sync: fc.record({ pageSize: fc.integer({ min: 1, max: 900 }) }, { requiredKeys: [] }),
        retries: fc.record({ giveUpAfter: fc.constantFrom('1h', '2h') }, { requiredKeys: [] }),
        deletes: fc.constantFrom('mark', 'drop', 'keep'),
        csv: fc.record(
          { delimiter: fc.constantFrom(';', ','), lineBreaks: fc.constant('keep') },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(sections, sections, (defaults, own) => {
        const keys = Object.keys({ ...defaults, ...own }) as (keyof typeof own)[];
        const written = Object.fromEntries(
          keys.map((key) => {
            const [base, over] = [defaults[key], own[key]];
            const both = typeof base === 'object' && typeof over === 'object';
            return [key, both ? { ...base, ...over } : (over ?? base)];
          }),
        );
        expect(settingsOf({ defaults, connections: { a: connection('a', own) } })).toEqual(
          settingsOf({ connections: { a: connection('a', written) } }),
        );
      }),
    );
  });

  it('are reported where they are written, once for all connections', () => {
    const connections = {
      one: connection('one'),
      two: connection('two'),
      three: connection('three', { sync: { pageSize: 5 } }),
    };
    const wrong = { sync: { pageSize: 0, overlaps: '5m' }, nothing: 1, resources: ['projects', 'projects'] };
    expect(problemsOf({ defaults: wrong, connections }).map(({ path }) => path)).toEqual([
      'defaults.sync.pageSize',
      'defaults.sync.overlaps',
      'defaults.nothing',
      'defaults.resources[1]',
    ]);
    expect(problemsOf({ defaults: wrong, connections })[0]!.line).toBe(3);
    expect(problemsOf({ connections, defaults: ['x'] })).toMatchObject([
      { path: 'defaults', message: expect.stringContaining('found a list; allowed: a map') },
    ]);
    expect(
      problemsOf({ defaults: {}, connections: { a: { baseUrl: 'https://a' } } }).map(({ path }) => path),
    ).toEqual(['connections.a.apiKey', 'connections.a.lake']);
  });

  it('cannot give two connections the same lake', () => {
    const { apiKey, baseUrl } = connection('a');
    const found = problemsOf({
      defaults: { lake: { url: 's3://lake/x' } },
      connections: { a: { apiKey, baseUrl }, b: { apiKey, baseUrl } },
    });
    expect(found).toMatchObject([{ message: expect.stringContaining('separate lakes') }]);
  });

  it('may be empty', () => {
    expect(settingsOf({ defaults: {}, connections: { a: connection('a') } }).connections).toHaveLength(1);
  });
});
