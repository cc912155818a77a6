import { describe, expect, it } from 'vitest';
import { connectionOf, errorOf, withLines } from './fixtures.js';

/** Lines added to a valid connection, the path below it, and text in the message. */
const IN_CONNECTION: readonly (readonly [lines: string, path: string, fragment: string])[] = [
  ['sync: { overlap: 5 }', 'sync.overlap', 'found the number 5; allowed: a duration'],
  ['sync: { overlap: 5 }', 'sync.overlap', 'Did you mean 5m?'],
  ['resources: [{ name: a, window: 90 }]', 'resources[0].window', 'Did you mean 90d?'],
  ['resources: [{ name: a, window: 2026-11-21 }]', 'resources[0].window', 'A date is not a duration'],
  ['resources: [{ name: a, window: never }]', 'resources[0].window', 'or none'],
  ['resources: [{ name: a, window: 5m }]', 'resources[0].window', 'longer than sync.overlap, which is 5m'],
  ['resources: [{ name: a, windowField: day }]', 'resources[0].windowField', 'no window'],
  ['resources: [a, { name: b }, b]', 'resources[2]', 'connections.acme.resources[1] already has it'],
  ['resources: [a, { name: a }]', 'resources[1].name', 'names are unique'],
  ['resources: []', 'resources', 'at least one resource'],
  ['tables: { format: iceberg }', 'tables.format', 'allowed: none, delta'],
  ['tables: { types: { tasks: { a: "decimal(39,2)" } } }', 'tables.types.tasks.a', 'allowed: boolean, long'],
  ['tables: { types: { tasks: { a: "decimal(4,5)" } } }', 'tables.types.tasks.a', 'allowed: boolean, long'],
  ['tables: { types: { tusks: { a: long } } }', 'tables.types.tusks', 'not a resource of the connection'],
  ['resources: projects', 'resources', 'a list of resources'],
  ['resources: [5]', 'resources[0]', 'found the number 5; allowed: a name'],
  ['resources: [_staging]', 'resources[0]', 'starting with a letter or digit'],
  ['resources: [Tasks]', 'resources[0]', 'a-z, 0-9'],
  [`resources: [${'a'.repeat(101)}]`, 'resources[0]', 'up to 100'],
  ['resources: [{ path: tasks }]', 'resources[0].name', 'is missing'],
  ['resources: [{ name: a, path: /tasks }]', 'resources[0].path', 'Did you mean "tasks"?'],
  ['resources: [{ name: a, path: /api/public/v2/tasks }]', 'resources[0].path', 'Did you mean "tasks"?'],
  ['resources: [{ name: a, path: a/../b }]', 'resources[0].path', 'without a leading slash'],
  ['resources: [{ name: a, path: a/%2E%2e/b }]', 'resources[0].path', '..'],
  ['resources: [{ name: a, path: "tasks?x=1" }]', 'resources[0].path', '?'],
  ...['limit', 'cursor', 'updatedSince', 'updated_since'].map(
    (name) =>
      [
        `resources: [{ name: a, params: { ${name}: 1 } }]`,
        `resources[0].params.${name}`,
        'sets itself',
      ] as const,
  ),
  ...['api_key', 'token', 'clientSecret'].map(
    (name) =>
      [
        `resources: [{ name: a, params: { ${name}: x } }]`,
        `resources[0].params.${name}`,
        'http.headers',
      ] as const,
  ),
  ['resources: [{ name: a, params: { a: { env: X } } }]', 'resources[0].params.a', 'allowed: a text'],
  ['resources: [{ name: a, deleted: deletedAt }]', 'resources[0].deleted', 'the keys field, values'],
  ['resources: [{ name: a, deleted: { field: d, values: [] } }]', 'resources[0].deleted.values', 'empty'],
  [
    'resources: [{ name: a, deleted: { field: d }, columns: { exclude: [d] } }]',
    'resources[0].columns.exclude',
    'the deleted.field field',
  ],
  ...['Authorization', 'host', 'Content-Type', 'idempotency-key', 'Transfer-Encoding'].map(
    (name) =>
      [`http: { headers: { ${name}: x } }`, `http.headers.${name}`, 'other than Authorization'] as const,
  ),
  ['http: { headers: { "a b": x } }', 'http.headers["a b"]', 'HTTP header names'],
  ['http: { headers: { A: "x\\ny" } }', 'http.headers.A', 'visible ASCII'],
  ['http: { headers: { A: { envv: X } } }', 'http.headers.A', 'env and file'],
  ['resources: [{ name: a, key: [] }]', 'resources[0].key', 'found an empty list'],
  ['resources: [{ name: a, key: "" }]', 'resources[0].key', 'the name of a field'],
  ['resources: [{ name: a, key: 7 }]', 'resources[0].key', 'a list of field names for a compound key'],
  ['resources: [{ name: a, key: [id, 7] }]', 'resources[0].key[1]', 'found the number 7'],
  ['resources: [{ name: a, key: [id, id] }]', 'resources[0].key', 'has a field name twice'],
  ['resources: [{ name: a, windw: 9d }]', 'resources[0].windw', 'Did you mean "window"?'],
  [
    'resources: [{ name: a, columns: { exclude: [id] } }]',
    'resources[0].columns.exclude',
    'the key cannot be excluded',
  ],
  [
    'resources: [{ name: a, columns: { mask: { id: redact } } }]',
    'resources[0].columns.mask',
    'make all keys equal',
  ],
  [
    'resources: [{ name: a, key: m.id, csv: { nested: flatten }, columns: { mask: { m: redact } } }]',
    'resources[0].columns.mask',
    'make all keys equal',
  ],
  [
    'csv: { nested: flatten, separator: _ }\nresources: [{ name: a, key: m_id, columns: { mask: { m: redact } } }]',
    'resources[0].columns.mask',
    'make all keys equal',
  ],
  [
    'resources: [{ name: a, updatedAt: m.at, csv: { nested: flatten }, columns: { exclude: [m] } }]',
    'resources[0].columns.exclude',
    'it cannot be excluded',
  ],
  [
    'resources: [{ name: a, window: 9d, windowField: m.at, csv: { nested: flatten }, columns: { mask: { m: hash } } }]',
    'resources[0].columns.mask',
    'cannot be masked',
  ],
  [
    'resources: [{ name: a, columns: { mask: { b: drop } } }]',
    'resources[0].columns.mask.b',
    'allowed: hash, redact',
  ],
  [
    'resources: [{ name: a, columns: { include: [b], exclude: [b] } }]',
    'resources[0].columns.exclude',
    'one of them',
  ],
  [
    'resources: [{ name: a, updatedAt: u, columns: { include: [b] } }]',
    'resources[0].columns.include',
    '"u" is missing',
  ],
  [
    'resources: [{ name: a, updatedAt: u, columns: { mask: { u: hash } } }]',
    'resources[0].columns.mask',
    'cannot be masked',
  ],
  ['resources: [{ name: a, csv: { nested: flat } }]', 'resources[0].csv.nested', 'Did you mean "flatten"?'],
  [
    'resources: [{ name: a, deletes: true }]',
    'resources[0].deletes',
    'found true; allowed: mark, drop, keep',
  ],
  ['base_url: x', 'base_url', 'Did you mean "baseUrl"?'],
  ['shcedule: {}', 'shcedule', 'Did you mean "schedule"?'],
  ['sync:', 'sync', 'found nothing (null); allowed: a map with the keys pageSize'],
  ['sync: { pageSize: "1000" }', 'sync.pageSize', 'Remove the quotes'],
  ['sync: { pageSize: 0 }', 'sync.pageSize', 'from 1 to 100000'],
  ['sync: { pageSize: 1.5 }', 'sync.pageSize', 'a whole number'],
  ['sync: { clock: Earliest }', 'sync.clock', 'Did you mean "earliest"?'],
  ['sync: { reconcileEvery: none }', 'sync.reconcileEvery', 'or never'],
  ['retries: { giveUpAfter: 0s }', 'retries.giveUpAfter', 'allowed: 1ms or longer'],
  ['errors: { refused: [401, 429] }', 'errors.refused', 'found 429 in both'],
  ['errors: { transient: [403] }', 'errors.transient', 'found 403 in both'],
  ['errors: { transient: ["429"] }', 'errors.transient[0]', 'Remove the quotes'],
  ['errors: { transient: [7xx] }', 'errors.transient[0]', '4xx and 5xx'],
  ['errors: { refused: [200] }', 'errors.refused[0]', 'from 300 to 599'],
  ['errors: { refused: 401 }', 'errors.refused', 'a list of statuses'],
  ['http: { concurrency: 0 }', 'http.concurrency', 'from 1 to 256'],
  ['http: { requestsPerSecond: 0 }', 'http.requestsPerSecond', 'above 0, or null'],
  ['http: { maxBody: 64 }', 'http.maxBody', 'Did you mean 64MiB?'],
  ['http: { maxBody: 64M }', 'http.maxBody', '"64M" is not a size'],
  ['http: { connectTimeout: 2h }', 'http.connectTimeout', 'allowed: up to 1h'],
  ['http: { allowPlainHttp: yes }', 'http.allowPlainHttp', 'Did you mean true?'],
  ['csv: { delimiter: \\t }', 'csv.delimiter', 'in double quotes'],
  ['csv: { delimiter: a }', 'csv.delimiter', 'not a letter'],
  ['csv: { delimiter: é }', 'csv.delimiter', 'one ASCII character'],
  ['csv: { separator: "" }', 'csv.separator', 'one to eight characters'],
  ['csv: { partSize: 5GiB }', 'csv.partSize', 'from 1KiB to 4GiB'],
  ['retention: { keep: first }', 'retention.keep', 'allowed: last, all'],
  ['schedule: { cron: "0 2 * *" }', 'schedule.cron', 'five fields'],
  [
    'schedule: { cron: "every night" }',
    'schedule.cron',
    'found the text "every night"; allowed: five fields',
  ],
  ['schedule: { cron: "0 2 * * * * * *" }', 'schedule.cron', 'seven with seconds'],
  ['schedule: { cron: "0 2 ? * MON" }', 'schedule.cron', 'steps */5'],
  ['schedule: { cron: "0 2 * * MON#1" }', 'schedule.cron', 'steps */5'],
  ['schedule: { cron: "CRON_TZ=UTC 0 2 * * *" }', 'schedule.cron', 'schedule.timezone'],
  ['schedule: { cron: "0 25 * * *" }', 'schedule.cron', 'hour "25": out of range; allowed: 0 to 23'],
  ['schedule: { cron: "60 2 * * *" }', 'schedule.cron', 'minute "60": out of range'],
  ['schedule: { cron: "0 2,24 * * *" }', 'schedule.cron', 'hour "24"'],
  ['schedule: { cron: "0 22-4 * * *" }', 'schedule.cron', 'the range ends before it begins'],
  ['schedule: { cron: "*/0 2 * * *" }', 'schedule.cron', 'the step is zero'],
  ['schedule: { cron: "0 2 0 * *" }', 'schedule.cron', 'day of month "0"'],
  ['schedule: { cron: "0 2 30 2 *" }', 'schedule.cron', 'never runs: month 2 has no day 30'],
  ['schedule: { cron: "0 2 * 13 *" }', 'schedule.cron', 'month "13"'],
  ['schedule: { cron: "0 2 * * 8" }', 'schedule.cron', 'day of week "8"'],
  ['schedule: { cron: "0 2 * * funday" }', 'schedule.cron', 'day of week "funday"'],
  ['schedule: { cron: "0 two * * *" }', 'schedule.cron', 'hour "two"'],
  ['schedule: { cron: "61 0 2 * * * *" }', 'schedule.cron', 'second "61"'],
  ['schedule: { cron: "@nightly" }', 'schedule.cron', '@daily'],
  ['schedule: { timezone: Mars/Base }', 'schedule.timezone', 'IANA'],
  ['schedule: { timezone: europe/berlin }', 'schedule.timezone', 'Did you mean "Europe/Berlin"?'],
  ['schedule: { timezone: "+01:00" }', 'schedule.timezone', 'IANA'],
  ['schedule: { catchupWindow: 1s }', 'schedule.catchupWindow', 'allowed: 10s or longer'],
  ['webhook: { listen: 8080 }', 'webhook.listen', 'Did you mean "127.0.0.1:8080"?'],
  ['webhook: { listen: "localhost:99999" }', 'webhook.listen', 'an address and port'],
  ['webhook: { signature: none, listen: "0.0.0.0:80" }', 'webhook.signature', 'listen on 127.0.0.1'],
  ['webhook: { signature: { algorithm: md5 } }', 'webhook.signature.algorithm', 'hmac-sha256'],
  ['webhook: { resource: resource }', 'webhook.resource', 'RFC 6901'],
  ['webhook: { maxBody: 1 }', 'webhook.maxBody', 'needs a unit'],
  ['webhook: { kinds: { ping: none-such } }', 'webhook.kinds.ping', 'projects, tasks, time-entries'],
  ['webhook: { kinds: { ping: 3 } }', 'webhook.kinds.ping', 'a list of them'],
  ['webhook: { signature: { algorithm: token, timestamp: {} } }', 'webhook.signature.timestamp', 'hmac'],
  ['webhook: { signature: { algorithm: token, encoding: hex } }', 'webhook.signature.encoding', 'hmac'],
  ['webhook: { signature: { timestamp: { tolerance: 5 } } }', 'webhook.signature.timestamp.tolerance', '5m'],
  ['webhook: { signature: { timestamp: { signs: all } } }', 'webhook.signature.timestamp.signs', 'body'],
  ['webhook: { signature: { signs: "{timestamp}" } }', 'webhook.signature.signs', '{body}'],
  ['webhook: { signature: { signs: "{body}{key}" } }', 'webhook.signature.signs', '{method}'],
  ['webhook: { signature: { format: "v1=" } }', 'webhook.signature.format', '{signature}'],
  ['webhook: { signature: { preset: stripes } }', 'webhook.signature.preset', 'standard-webhooks'],
  ['webhook: { signature: { preset: hubspot } }', 'webhook.signature.preset', 'webhook.publicUrl'],
  ['webhook: { signature: { signs: "{url}{body}" } }', 'webhook.signature.signs', 'webhook.publicUrl'],
  [
    'webhook: { signature: { secret: { env: A }, secrets: [{ env: B }] } }',
    'webhook.signature.secrets',
    'both',
  ],
  ['webhook: { answer: { status: 301 } }', 'webhook.answer.status', '202'],
  ['onPublished: { workflow: load }', 'onPublished.taskQueue', 'a task queue such as warehouse'],
  ['onPublished: { workflow: "", taskQueue: q }', 'onPublished.workflow', 'such as loadWarehouse'],
  ['onPublished: load', 'onPublished', 'a map with the keys workflow, taskQueue'],
  ['notify: {}', 'notify.url', 'is missing'],
  ['notify: { url: "http://hooks.example.com" }', 'notify.url', 'plain http to another machine'],
  ['notify: { url: 3 }', 'notify.url', 'is not a URL'],
  ['notify: { url: { var: X } }', 'notify.url', 'exactly one of env and file'],
  ['notify: { url: "https://h.example", on: [success] }', 'notify.on[0]', 'failure, check, deletes-held'],
  ['notify: []', 'notify', 'at least one target'],
  ['notify: [{ url: "https://h.example" }, { format: slack }]', 'notify[1].url', 'is missing'],
  ['notify: [{ url: "https://h.example", onn: [failure] }]', 'notify[0].onn', 'Did you mean "on"?'],
  ['notify: { url: "https://h.example", format: discord }', 'notify.format', 'json, slack, teams, pagerduty'],
  ['notify: { format: pagerduty }', 'notify.key', 'is missing'],
  ['notify: { format: pagerduty, key: R012 }', 'notify.key', 'a secret in the file itself'],
  ['notify: { url: "https://h.example", key: { env: A } }', 'notify.key', 'only `format: pagerduty`'],
  ['notify: { url: "https://h.example", maxAge: 5 }', 'notify.maxAge', 'Did you mean 5h?'],
  ['notify: { url: "https://h.example", on: [failure], maxAge: 5h }', 'notify.maxAge', 'add stale'],
  ['notify: { url: "https://h.example", on: [] }', 'notify.on', 'remove `notify`'],
  [
    'notify: { url: "https://h.example", headers: { A: b } }',
    'notify.headers.A',
    'a secret in the file itself',
  ],
  [
    'notify: { url: "https://h.example", headers: { Host: { env: A } } }',
    'notify.headers.Host',
    'except host',
  ],
  [
    'notify: { url: "https://h.example", headers: { "a b": { env: A } } }',
    'notify.headers["a b"]',
    'HTTP header names',
  ],
  ['masking: { secret: my-secret }', 'masking.secret', 'a secret in the file itself'],
  ['masking: {}', 'masking.secret', 'is missing'],
  ['masking: { secret: { env: A }, salt: 1 }', 'masking.salt', 'allowed: secret'],
  ['writeBack: { time-entry: {} }', 'writeBack.time-entry', 'Did you mean "time-entries"?'],
  ['writeBack: { calendar-entries: { style: put } }', 'writeBack.calendar-entries.style', 'put-path'],
  ['deletes: mark\ndeletes: drop', 'deletes', 'appears twice'],
];

/** Whole values of the three required keys. */
const REQUIRED: readonly (readonly [
  'baseUrl' | 'apiKey' | 'lake',
  value: string,
  path: string,
  fragment: string,
])[] = [
  ...(
    [
      ['encryption: sse-kms', 'encryption', 'allowed: sse-s3, or { kmsKey'],
      ['encryption: { kmsKey: my key }', 'encryption', 'the ARN, id or alias of a KMS key'],
      ['encryption: { key: alias/a }', 'encryption', 'kmsKey'],
      ['role: { arn: worktrack }', 'role.arn', 'arn:aws:iam::'],
      ['role: { externalId: acme }', 'role.arn', 'is missing'],
      ['tags: { "aws:team": data }', 'tags["aws:team"]', 'does not begin with aws:'],
      ['tags: { team: 7 }', 'tags.team', 'a text in quotes'],
      ['storageClass: GLACIER', 'storageClass', 'GLACIER_IR'],
      ['requesterPays: yes', 'requesterPays', 'Did you mean true?'],
      ['expectedBucketOwner: 111122223333', 'expectedBucketOwner', '12 digits in quotes'],
    ] as const
  ).map(
    ([line, path, says]) =>
      ['lake', `{ url: s3://company-lake, ${line} }`, `lake.${path}`, says] as [
        'lake',
        string,
        string,
        string,
      ],
  ),
  ['baseUrl', 'tracker.example.com', 'baseUrl', 'Did you mean "https://tracker.example.com"?'],
  ['baseUrl', 'tracker.example.com:8443', 'baseUrl', 'Did you mean "https://tracker.example.com:8443"?'],
  ['baseUrl', 'ftp://t.example', 'baseUrl', 'an http or https URL'],
  ['baseUrl', 'http://t.example', 'baseUrl', 'plain http to t.example'],
  ['baseUrl', 'http://127.0.0.1.example.com', 'baseUrl', 'plain http to 127.0.0.1.example.com'],
  ['baseUrl', 'http://10.0.0.1', 'baseUrl', 'plain http to 10.0.0.1'],
  ['baseUrl', 'https://t.example/?a=1', 'baseUrl', 'a query or a fragment'],
  ['baseUrl', '"https://t.example/#"', 'baseUrl', 'a query or a fragment'],
  ['baseUrl', '7', 'baseUrl', 'found the number 7'],
  ['apiKey', '', 'apiKey', 'neither a variable nor a file'],
  ['apiKey', '{ file: secrets/key }', 'apiKey', 'not an absolute path'],
  ['apiKey', '{ env: A, file: /b }', 'apiKey', 'exactly one of env and file'],
  ['lake', '{}', 'lake.url', 'is missing'],
  ['lake', 's3://lake', 'lake', 'a map with the keys url'],
  ['lake', '{ url: s3://Lake }', 'lake.url', 'lower-case'],
  ['lake', '{ url: s3://192.168.0.1 }', 'lake.url', 'as the bucket'],
  ['lake', '{ url: s3:///prefix }', 'lake.url', 'as the bucket'],
  ['lake', '{ url: s3://lake/a//b }', 'lake.url', 'without empty'],
  ['lake', '{ url: file://lake }', 'lake.url', 'file:/// and its absolute path'],
  ['lake', '{ url: ./lake }', 'lake.url', 'absolute path'],
  ['lake', '{ url: file:/// }', 'lake.url', 'root of the file system'],
  ['lake', '{ url: file:///data/what%3Fnow }', 'lake.url', 'a folder without ? and'],
  ['lake', '{ url: "file:///data/back%5cslash" }', 'lake.url', 'a folder without ? and'],
  ['lake', '{ url: gs://lake }', 'lake.url', 's3://bucket'],
  [
    'lake',
    '{ url: s3://lake, endpoint: 127.0.0.1:9000 }',
    'lake.endpoint',
    'Did you mean "https://127.0.0.1:9000"?',
  ],
  [
    'lake',
    '{ url: s3://lake, force_path_style: true }',
    'lake.force_path_style',
    'Did you mean "forcePathStyle"?',
  ],
];

const WHOLE: readonly (readonly [text: string, path: string, fragment: string])[] = [
  ['', '', 'the file is empty'],
  ['# nothing\n', '', 'the file is empty'],
  ['connections: {}', 'connections', 'at least one'],
  ['connections:\n', 'connections', 'found nothing (null)'],
  ['connection: {}', 'connection', 'Did you mean "connections"?'],
  ['- a', '', 'found a list; allowed: a map'],
  ['a: 1\n---\nb: 2', '', 'one document'],
  ['connections: !include x', 'connections', 'found the text'],
  ['connections: !include x', '', 'an unknown tag'],
  ['connections: { __proto__: {} }', 'connections.__proto__', 'which is not allowed'],
  ['connections: { Acme: {} }', 'connections.Acme', 'as the name of a connection'],
  ['connections: *nowhere', '', 'has no anchor'],
  ['connections:\n  <<: 5', '', 'the value of a merge key (<<) is not a map'],
  ['a: &a x\nconnections:\n  <<: *a', '', 'the value of a merge key (<<) is not a map'],
  ['- '.repeat(20_000), '', 'nested too deeply'],
  ['x'.repeat(2 ** 21), '', 'more than 1 MiB'],
];

function expectProblem(text: string, path: string, fragment: string): void {
  const { problems } = errorOf(text);
  const matching = problems.filter((problem) => problem.path === path).map((problem) => problem.message);
  expect(matching.join('\n'), JSON.stringify(problems, null, 1)).toContain(fragment);
}

describe('an invalid configuration', () => {
  it('says of a duration in words what to write', () => {
    expect(errorOf(withLines('sync: { overlap: 5min }')).problems.map(({ message }) => message)).toEqual([
      '"5min" is not a duration; write 5m',
    ]);
  });

  it.each(IN_CONNECTION)('reports %s at %s: %s', (lines, path, fragment) => {
    const text = withLines(lines);
    expectProblem(text, `connections.acme.${path}`, fragment);
    expect(errorOf(text).problems, 'one slip, one problem').toHaveLength(1);
  });

  it.each(REQUIRED)('reports %s: %s at %s: %s', (key, value, path, fragment) => {
    const text = withLines('', { [key]: value });
    expectProblem(text, `connections.acme.${path}`, fragment);
    expect(errorOf(text).problems, 'one slip, one problem').toHaveLength(1);
  });

  it.each(WHOLE.map(([text, ...rest]) => [text.slice(0, 40), ...rest, text] as const))(
    'a configuration that reads %j is reported at %j: %s',
    (_, path, fragment, text) => {
      expectProblem(text, path, fragment);
    },
  );

  it('lists all problems in the order of their lines, each with its position', () => {
    const text = `connections:
  acme:
    baseUrl: http://t.example
    apiKey: { env: KEY }
    lake: { url: s3://lake }
    sync: { overlap: 5, pagesize: 10 }
    resources:
      - tasks
      - name: calendar-entries
        window: 90
      - tasks
  beta:
    apiKey: { env: KEY }
    lake: { url: s3://lake/inner }
`;
    const error = errorOf(text);
    expect(error.problems.map(({ path, line, column }) => [path, line, column])).toEqual(
      [
        ['connections.acme.baseUrl', 3, 14],
        ['connections.acme.sync.overlap', 6, 22],
        ['connections.acme.sync.pagesize', 6, 25],
        ['connections.acme.resources[2]', 11, 9],
        ['connections.acme.resources[1].window', 10, 17],
        ['connections.beta.baseUrl', 13, 5],
        ['connections.beta.lake.url', 14, 18],
      ].sort((a, b) => Number(a[1]) - Number(b[1]) || Number(a[2]) - Number(b[2])),
    );
    expect(error.message).toContain('test.yaml has 7 problems:');
    expect(error.message).toContain('connections.acme.resources[1].window (line 10:17): found the number 90');
    expect(error).toMatchObject({
      name: 'SettingsError',
      code: 'CONFIGURATION',
      path: 'connections.acme.baseUrl',
    });
  });

  it('points at the anchor if an invalid value comes from an alias', () => {
    const text = withLines('sync: &s { overlap: 5 }\nhttp: *s');
    const paths = errorOf(text).problems.map(({ path, line }) => [path, line]);
    expect(paths.sort()).toEqual([
      ['connections.acme.http.overlap', 6],
      ['connections.acme.sync.overlap', 6],
    ]);
  });

  it.each([
    ['a duplicate key', 'sync: { overlap: 1h, overlap: 2h }', 'sync.overlap', 22],
    ['the key __proto__ in a list', 'resources: [tasks, { __proto__: 1 }]', 'resources[1].__proto__', 22],
    ['a value that is missing', 'sync: { overlap }', 'sync.overlap', 9],
    ['a value in a list of lists', 'resources: [{ name: a, key: [id, 7] }]', 'resources[0].key[1]', 34],
    ['a key that is missing below an alias', 'sync: &s {}\nmasking: *s', 'masking.secret', 10],
    ['an unknown key below a merge key', 'sync:\n  <<: { pagesize: 1 }', 'sync.pagesize', 3],
  ])('gives the column of %s', (_, lines, path, column) => {
    const found = errorOf(withLines(lines)).problems.find((problem) => problem.path.endsWith(`.${path}`));
    expect(found?.column).toBe(4 + column);
  });

  it('puts keys that are not plain words in brackets', () => {
    expect(errorOf(withLines('"a b": 1')).problems[0]?.path).toBe('connections.acme["a b"]');
  });

  it('gives line and column for malformed YAML', () => {
    const [problem] = errorOf('connections:\n  acme: [1, 2\n').problems;
    expect(problem).toMatchObject({ path: '', line: 3, column: 1 });
    expect(problem?.message).toMatch(/malformed.*\]/);
  });

  it('a configuration with a string such as @daily is reported with the advice to quote it', () => {
    const [problem] = errorOf(withLines('schedule: { cron: @daily }')).problems;
    expect(problem).toMatchObject({ line: 6, column: 23 });
    expect(problem?.message).toContain('quotes, such as "@daily"');
  });

  it('is rejected without expanding aliases that multiply', () => {
    const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i},`.repeat(9)}]`);
    const error = errorOf(['l0: &l0 x', ...levels].join('\n'));
    expect(error.problems[0]?.message).toContain('aliases (*name) expand');
  });

  it('may contain an alias to itself', () => {
    const paths = errorOf('connections: &c { acme: *c }').problems.map(({ path }) => path);
    expect(paths).toEqual(['acme', 'baseUrl', 'apiKey', 'lake'].map((key) => `connections.acme.${key}`));
  });

  it.each([
    ['s3://lake', '', 's3://lake/a', ''],
    ['s3://lake/a/b', '', 's3://lake/a/', ''],
    ['s3://lake', 'http://localhost:9000', 's3://lake', 'http://127.0.0.1:9000/'],
    ['s3://lake', '', 's3://lake', 'https://s3.eu-central-1.amazonaws.com'],
    ['file:///lake', '', 'file:///lake/x', ''],
  ])('a configuration with the lakes %s %s and %s %s is refused', (url1, endpoint1, url2, endpoint2) => {
    const connection = (url: string, endpoint: string) => ({
      baseUrl: 'https://t.example',
      apiKey: { env: 'K' },
      lake: { url, ...(endpoint && { endpoint }) },
    });
    const text = JSON.stringify({
      connections: { a: connection(url1, endpoint1), b: connection(url2, endpoint2) },
    });
    expectProblem(text, 'connections.b.lake.url', 'separate lakes');
  });
});

describe('a secret in the wrong place', () => {
  const SECRET = 'wt_live_8Jx92kQ';
  it.each([
    ['the key as a text', withLines('', { apiKey: SECRET })],
    ['the key in quotes', withLines('', { apiKey: `"${SECRET}"` })],
    ['the key as the name of a variable', withLines('', { apiKey: `{ env: "$${SECRET}" }` })],
    ['the key as a file', withLines('', { apiKey: `{ file: ${SECRET} }` })],
    ['the key as a key', withLines('', { apiKey: `{ ${SECRET} }` })],
    ['the key in a list', withLines('', { apiKey: `[${SECRET}]` })],
    ['the key under another name', withLines('', { apiKey: `{ value: ${SECRET} }` })],
    ['a password in the base URL', withLines('', { baseUrl: `https://me:${SECRET}@t.example` })],
    ['a user in the base URL', withLines('', { baseUrl: `https://${SECRET}@t.example` })],
    ['a token in the base URL', withLines('', { baseUrl: `https://t.example?key=${SECRET}` })],
    ['a password in a broken base URL', withLines('', { baseUrl: `https//me:${SECRET}@t.example` })],
    ['credentials in the lake', withLines('', { lake: `{ url: "s3://AKIA:${SECRET}@lake/x" }` })],
    [
      'credentials with a slash in the lake',
      withLines('', { lake: `{ url: "s3://AKIA:a/${SECRET}@lake/x" }` }),
    ],
    [
      'credentials in the lake of another scheme',
      withLines('', { lake: `{ url: "http://AKIA:${SECRET}@lake/x" }` }),
    ],
    [
      'credentials in the endpoint',
      withLines('', { lake: `{ url: s3://lake, endpoint: "http://a:${SECRET}@h" }` }),
    ],
    ['the webhook secret', withLines(`webhook: { signature: { secret: ${SECRET} } }`)],
    ['the webhook secret as the signature', withLines(`webhook: { signature: ${SECRET} }`)],
    ['the key in a malformed line', withLines('', { apiKey: `"x" ${SECRET}` })],
    ['the key behind a tag', withLines('', { apiKey: `!${SECRET} x` })],
    ['the key as an alias', withLines('', { apiKey: `*${SECRET}` })],
    ['the key behind a percent sign', `%${SECRET}\n${withLines('')}`],
    ['the key in a block scalar header', withLines('', { apiKey: `|${SECRET}` })],
  ])('is refused without being repeated: %s', (_, text) => {
    const error = errorOf(text);
    expect(`${error.message} ${error.remedy} ${error.stack} ${JSON.stringify(error.problems)}`).not.toContain(
      SECRET,
    );
    expect(error.problems.length).toBeGreaterThan(0);
  });

  it('is reported with the setting where the key belongs', () => {
    const [problem] = errorOf(withLines('', { apiKey: SECRET })).problems;
    expect(problem).toMatchObject({ path: 'connections.acme.apiKey', line: 4, column: 13 });
    expect(problem?.message).toContain('write { env: NAME_OF_A_VARIABLE } or { file: /absolute/path }');
  });
});

describe('the mode of a lake in a folder', () => {
  it.each(['"0750"', '0750', '750', '"777"'])('is octal, as in %s', (mode) => {
    const lake = `{ url: "file:///lake", mode: ${mode} }`;
    expect(connectionOf(withLines('', { lake })).lake.mode).toBe(
      Number.parseInt(mode.replaceAll('"', ''), 8),
    );
  });

  it.each(['"0600"', '0o700', '"rwx"', '999'])('is not %s', (mode) => {
    const lake = `{ url: "file:///lake", mode: ${mode} }`;
    expect(() => connectionOf(withLines('', { lake }))).toThrow('octal mode');
  });

  it('is refused for a bucket', () => {
    expect(() => connectionOf(withLines('', { lake: '{ url: s3://lake, mode: "0750" }' }))).toThrow(
      'with a folder only',
    );
  });
});
