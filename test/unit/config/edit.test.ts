import { describe, expect, it } from 'vitest';
import { addToConfig, getInConfig, parseSettings, setInConfig } from '../../../src/config/index.js';

const text = `# The team's lake.
connections:
  acme:
    # the first customer
    baseUrl: https://tracker.example.com
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "s3://company-lake/worktrack" } # in Frankfurt
    resources:
      - projects
      # Tasks are large.
      - name: tasks
        key: [ id ]
    sync: { overlap: 5m }
`;
const config = { text, source: 'worktrack.yaml' };

/** The lines that differ, as \`- old\` and \`+ new\`. */
function changes(after: string): string[] {
  const [old, now] = [text.split('\n'), after.split('\n')];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `-${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+${line}`),
  ];
}

describe('the configuration file', () => {
  it.each([
    ['connections.acme.sync.overlap', '5m'],
    ['connections.acme.resources.0', 'projects'],
    ['connections.acme.resources.tasks.key', '[ id ]'],
    ['connections."acme".baseUrl', 'https://tracker.example.com'],
    ['connections.acme.retries', undefined],
    ['connections.beta', undefined],
  ])('shows the value at %s', (path, value) => {
    expect(getInConfig({ text }, path)).toBe(value);
  });

  it.each([
    ['connections.acme.sync.overlap', '10m', ['-    sync: { overlap: 5m }', '+    sync: { overlap: 10m }']],
    ['connections.acme.retries.giveUpAfter', '2h', ['+    retries:', '+      giveUpAfter: 2h']],
    ['connections.acme.resources.tasks.fetchById', 'true', ['+        fetchById: true']],
    [
      'connections.acme.resources.projects.fetchById',
      'true',
      ['-      - projects', '+      - name: projects', '+        fetchById: true'],
    ],
    ['connections.acme.deletes', 'drop', ['+    deletes: drop']],
  ])('gets another value at %s, and keeps its comments', (path, value, expected) => {
    const after = setInConfig(config, path, value);
    expect(changes(after)).toEqual(expected);
    expect(parseSettings(after, 'after').connections).toHaveLength(1);
  });

  it.each([
    ['connections.acme.sync.overlap', 'soon', /overlap/],
    ['connections.acme.unknown', '1', /unknown/],
    ['connections.acme.baseUrl.more', '1', /no map or list/],
    ['connections..acme', '1', /keys with dots/],
    ['', '1', /keys with dots/],
  ])('stays as it is if %s would become %s', (path, value, problem) => {
    expect(() => setInConfig(config, path, value)).toThrow(problem);
  });

  it('gets another connection, and none of the same name', () => {
    const beta = {
      baseUrl: 'https://beta.example.com',
      lake: { url: 'file:///srv/beta' },
      apiKey: { env: 'BETA_API_KEY' },
    };
    const after = addToConfig(config, 'beta', beta);
    expect(changes(after).every((line) => line.startsWith('+'))).toBe(true);
    expect(parseSettings(after, 'after').connections.map(({ name }) => name)).toEqual(['acme', 'beta']);
    expect(() => addToConfig(config, 'acme', beta)).toThrow(/already/);
  });
});
