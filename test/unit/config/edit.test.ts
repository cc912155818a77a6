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
    ['connections.acme.apiKey', 'sk-1', /environment variable or a file/],
    ['connections.acme.http.headers.X-Api-Key', 'sk-1', /environment variable or a file/],
    ['connections.acme.http.headers', '{ Cookie: sk-1 }', /environment variable or a file/],
    ['connections.acme.http', '{ headers: { X-Auth: sk-1 } }', /environment variable or a file/],
    ['connections.acme.notify', '{ url: https://hooks.example.com/sk-1 }', /environment variable or a file/],
    [
      'connections.acme.notify',
      '[{ url: https://hooks.example.com/sk-1 }]',
      /environment variable or a file/,
    ],
    ['defaults.notify.url', 'https://hooks.example.com/sk-1', /environment variable or a file/],
    ['connections.acme.webhook.signature.secret', 'sk-1', /secret|listen/],
  ])('stays as it is if %s would become %s', (path, value, problem) => {
    const set = (): string => setInConfig(config, path, value);
    expect(set).toThrow(problem);
    expect(set).not.toThrow(/sk-1/);
  });

  it('gets a reference to a secret, and other headers', () => {
    const headers = '{ X-Api-Key: { env: GATEWAY_KEY }, X-Gateway-Id: main }';
    expect(setInConfig(config, 'connections.acme.http.headers', headers)).toContain('X-Gateway-Id: main');
    const notify = setInConfig(config, 'connections.acme.notify', '{ url: { env: SLACK_WEBHOOK } }');
    expect(notify).toContain('env: SLACK_WEBHOOK');
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
