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
const JSON_CONNECTION = {
  baseUrl: 'https://tracker.example.com',
  apiKey: { env: 'K' },
  lake: { url: 'file:///srv/lake' },
};
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
    expect(getInConfig(config, path)).toBe(value);
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
    [
      'connections.acme.notify',
      '{ url: https://hooks.slack.com/services/sk-1, format: slack }',
      /environment variable or a file/,
    ],
    [
      'connections.acme.notify',
      '[{ url: "https://hooks.example.com/?key=sk-1" }]',
      /environment variable or a file/,
    ],
    ['defaults.notify.url', 'https://user:sk-1@hooks.example.com/', /contains credentials/],
    ['defaults.notify.url', 'https://example.com/sk-1/T0kEn0123456789ab', /environment variable or a file/],
    [
      'defaults.notify.url',
      'https://example.com/sk-1/6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
      /environment variable or a file/,
    ],
    ['connections.acme.webhook.signature.secret', 'sk-1', /secret|listen/],
  ])('stays as it is if %s would become %s', (path, value, problem) => {
    const set = (): string => setInConfig(config, path, value);
    expect(set).toThrow(problem);
    expect(set).not.toThrow(/sk-1/);
  });

  it('says that it is unchanged, without lines that it does not have', () => {
    expect(() => setInConfig(config, 'retention.snapshots', '14d')).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(
          /^worktrack\.yaml was not changed, because it would have one problem:\n {2}retention: unknown key/,
        ),
        remedy: expect.not.stringContaining('Correct'),
      }),
    );
  });

  it.each([
    'http://127.0.0.1:9000/alerts',
    'https://alerts.example.com',
    'https://alerts.example.com/v2/teams/data-platform-eu-west-1/incidents',
  ])('gets the URL of alerts that is no secret, as the reference allows: %s', (url) => {
    const after = setInConfig(config, 'connections.acme.notify.url', url);
    expect(parseSettings(after, 'after').connections[0]!.notify).toMatchObject([{ url }]);
  });

  it('gets a reference to a secret, and other headers', () => {
    const headers = '{ X-Api-Key: { env: GATEWAY_KEY }, X-Gateway-Id: main }';
    expect(setInConfig(config, 'connections.acme.http.headers', headers)).toContain('X-Gateway-Id: main');
    const notify = setInConfig(config, 'connections.acme.notify', '{ url: { env: SLACK_WEBHOOK } }');
    expect(notify).toContain('env: SLACK_WEBHOOK');
  });

  const NOTED = `connections:
  acme: &acme
    baseUrl: https://tracker.example.com # the trial
    apiKey: { env: K }
    # in Frankfurt
    lake: &lake { url: "file:///srv/lake" } # ours
    schedule: { cron: "0 2 * * *" } # nightly
    resources:
      - projects # all
      - name: tasks
        key: &key [ id ]
      - { name: members, key: *key }
`;

  it.each([
    ['connections.acme.baseUrl', 'https://b.example.com', 'baseUrl: https://b.example.com # the trial'],
    [
      'connections.acme.lake',
      '{ url: "file:///b" }',
      '    # in Frankfurt\n    lake: &lake { url: file:///b } # ours\n',
    ],
    ['connections.acme.schedule', '{ cron: "0 3 * * *" }', 'schedule: { cron: 0 3 * * * } # nightly'],
    ['connections.acme.resources.projects.fetchById', 'true', '# all'],
    ['connections.acme.resources.members.key', '[uid]', 'key: [ uid ]'],
  ])('keeps the comments and anchors of a value that is replaced: %s', (path, value, expected) => {
    const after = setInConfig({ text: NOTED, source: 'worktrack.yaml' }, path, value);
    expect(after).toContain(expected);
  });

  it.each([
    ['connections.acme.resources.tasks.key', '[uid]', /other places of the file use \(&key\)/],
    ['connections.acme.resources.tasks', '{ name: tasks }', /other places of the file use \(&key\)/],
    ['connections.acme.sync.overlap', '[projects, tasks', /value is not YAML/],
    ['connections.acme.sync.overlap', 'a: b: c', /value is not YAML/],
    ['connections.acme.resources', '[*key]', /value is not YAML/],
  ])('changes no other value, and none by a value that is not clear: %s %s', (path, value, problem) => {
    const set = () => setInConfig({ text: NOTED, source: 'worktrack.yaml' }, path, value);
    expect(set).toThrow(problem);
    expect(set).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  it('gets a cron expression that begins with an asterisk', () => {
    const after = setInConfig(config, 'connections.acme.schedule.cron', '*/15 * * * *');
    expect(parseSettings(after, 'after').connections[0]!.schedule).toMatchObject({ cron: '*/15 * * * *' });
  });

  it('shows what aliases and merge keys stand for', () => {
    const show = (path: string) => getInConfig({ text: NOTED, source: 'x' }, path);
    expect(show('connections.acme.resources.members.key')).toBe('- id');
    expect(show('connections.acme.resources.members')).toBe('name: members\nkey:\n  - id');
    const merged = 'a: &a { b: 1 }\nc: { <<: *a, d: 2 }\ne: *a\n';
    expect(getInConfig({ text: merged, source: 'x' }, 'c')).toBe('b: 1\nd: 2');
    expect(getInConfig({ text: merged, source: 'x' }, 'e')).toBe('b: 1');
  });

  it.each(['connections: [', 'a: *none\n', 'a: 1\na: 2\n'])('is not read if it is malformed: %j', (wrong) => {
    const malformed = { text: wrong, source: 'worktrack.yaml' };
    const error = expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining('worktrack.yaml'),
    });
    expect(() => getInConfig(malformed, 'a')).toThrow(error);
    expect(() => setInConfig(malformed, 'a', '1')).toThrow(error);
  });

  it('stays JSON if it is', () => {
    const tree = { connections: { acme: JSON_CONNECTION } };
    const json = { text: JSON.stringify(tree), source: 'conf/worktrack.json' };
    const after = JSON.parse(setInConfig(json, 'connections.acme.deletes', 'drop'));
    expect(after).toEqual({ connections: { acme: { ...JSON_CONNECTION, deletes: 'drop' } } });
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
