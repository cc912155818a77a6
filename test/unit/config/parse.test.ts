import { describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { MINIMAL_CONFIG } from '../../support/minimal-config.js';
import { connectionOf, DOCUMENTED_EXAMPLE, DOCUMENTED_MORE_KEYS, withLines } from './fixtures.js';

const DAY = 86_400_000;

function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen);
}

describe('a valid configuration', () => {
  it('can be the documented example', () => {
    const connection = connectionOf(DOCUMENTED_EXAMPLE);
    expect(connection.baseUrl).toBe('https://tracker.example.com');
    expect(connection.apiKey).toEqual({ env: 'WORKTRACK_API_KEY' });
    expect(connection.lake).toEqual({
      url: 's3://company-lake/worktrack',
      region: 'eu-central-1',
      endpoint: 'http://127.0.0.1:9000',
      forcePathStyle: true,
    });
    expect(
      connection.resources.map(({ name, path, key, windowMs, fetchById }) => [
        name,
        path,
        key,
        windowMs,
        fetchById,
      ]),
    ).toEqual([
      ['projects', 'projects', ['id'], null, true],
      ['tasks', 'tasks', ['id'], null, false],
      ['time-entries', 'time-entries', ['id'], 90 * DAY, false],
      ['calendar-entries', 'calendar-entries', ['source', 'sourceKey'], 90 * DAY, false],
      ['members', 'members', ['id'], null, false],
    ]);
    expect(connection.webhook).toBeNull();
  });

  it('has tables if it names a format, with types as Delta writes them', () => {
    const yaml = withLines(
      'tables: { format: delta, types: { tasks: { estimate: "decimal(18, 2)", done: string } }, badValues: clear }',
    );
    expect(connectionOf(yaml).tables).toEqual({
      format: 'delta',
      types: { tasks: { estimate: 'decimal(18,2)', done: 'string' } },
      badValues: 'clear',
      codec: 'zstd',
      tempFolder: null,
    });
    const own = withLines('tables: { format: delta, codec: snappy, tempFolder: /var/tmp }');
    expect(connectionOf(own).tables).toMatchObject({ codec: 'snappy', tempFolder: '/var/tmp' });
    expect(() => connectionOf(withLines('tables: { format: delta, tempFolder: tmp }'))).toThrow(
      /tables.tempFolder.*"tmp".*the absolute path of a folder/,
    );
  });

  it('has the documented defaults', () => {
    const { webhook: none, ...short } = connectionOf(DOCUMENTED_EXAMPLE);
    const { webhook, ...long } = connectionOf(DOCUMENTED_EXAMPLE + DOCUMENTED_MORE_KEYS);
    expect(long).toEqual(short);
    expect(none).toBeNull();
    expect(webhook).toEqual({
      listen: { host: '127.0.0.1', port: 8080 },
      signature: {
        header: 'X-Webhook-Signature',
        algorithm: 'hmac-sha256',
        encoding: 'hex',
        prefix: '',
        key: 'text',
        format: '{signature}',
        signs: '{body}',
        idHeader: 'webhook-id',
        secrets: [{ env: 'WORKTRACK_WEBHOOK_SECRET' }],
        timestamp: null,
        toleranceMs: 300_000,
      },
      resource: '/resource',
      handshake: [],
      kinds: {},
      publicUrl: null,
      answer: { status: 202, body: 'json' },
      maxBodyBytes: 1024 ** 2,
    });
    expect(connectionOf(withLines('webhook: {}')).webhook).toEqual(webhook);
  });

  it('gets all defaults if it is minimal', () => {
    const { resources, ...rest } = connectionOf(MINIMAL_CONFIG);
    expect(resources.map((resource) => resource.name)).toEqual([
      'projects',
      'tasks',
      'time-entries',
      'calendar-entries',
    ]);
    expect(resources[3]).toEqual({
      name: 'calendar-entries',
      path: 'calendar-entries',
      key: ['source', 'sourceKey'],
      windowMs: 90 * DAY,
      windowField: null,
      deleted: null,
      params: {},
      updatedAtField: null,
      fetchById: false,
      checks: [],
      badRecords: 'stop',
      contract: 'evolve',
      columns: { include: null, exclude: [], mask: {} },
      deletes: 'mark',
      csv: {
        compression: 'gzip',
        delimiter: ',',
        nested: 'json',
        separator: '.',
        lineBreaks: 'keep',
        escapeFormulas: false,
        partBytes: 64 * 1024 ** 2,
      },
    });
    expect(rest).toEqual({
      name: 'acme',
      baseUrl: 'https://tracker.example.com',
      apiKey: { env: 'WORKTRACK_API_KEY' },
      lake: { url: 's3://company-lake/worktrack', region: 'eu-central-1' },
      retries: { giveUpAfterMs: 6 * 3_600_000 },
      errors: { refused: [401, 402, 403], transient: [408, 425, 429, '5xx'] },
      http: {
        concurrency: 8,
        requestsPerSecond: null,
        connectTimeoutMs: 10_000,
        headersTimeoutMs: 60_000,
        bodyTimeoutMs: 60_000,
        responseTimeoutMs: 300_000,
        maxBodyBytes: 64 * 1024 ** 2,
        allowPlainHttp: false,
        headers: {},
      },
      json: 'strict',
      sync: {
        pageSize: 1000,
        overlapMs: 300_000,
        clock: 'earliest',
        reconcileEveryMs: 7 * DAY,
        minIntervalMs: 900_000,
        total: 'check',
        endCursors: [],
      },
      retention: { snapshotsMs: 30 * DAY, keepPerDay: 'last' },
      tables: null,
      schedule: {
        cron: '0 2 * * *',
        timezone: 'UTC',
        jitterMs: 300_000,
        catchupWindowMs: DAY,
        pauseOnFailure: false,
      },
      masking: null,
      audit: null,
      webhook: null,
      notify: [],
      onPublished: null,
      writeBack: {
        'time-entries': {
          path: 'time-entries',
          idField: 'id',
          success: 'record',
          idempotencyKey: { form: 'uuid-v5', header: 'Idempotency-Key' },
          repeat: 'always',
          ignore: [],
          confirmForMs: 86_400_000,
        },
        'calendar-entries': {
          path: 'calendar-entries',
          style: 'put-path',
          idField: 'id',
          success: 'record',
          idempotencyKey: { form: 'uuid-v5', header: 'Idempotency-Key' },
          repeat: 'always',
          ignore: [],
          confirmForMs: 86_400_000,
        },
        unknownAfterMs: 43_200_000,
        escapeFormulas: { 'time-entries': false, 'calendar-entries': false },
      },
    });
  });

  it('is deeply frozen', () => {
    expect(isDeeplyFrozen(parseSettings(DOCUMENTED_EXAMPLE + DOCUMENTED_MORE_KEYS, 'x'))).toBe(true);
  });

  it('may be JSON with tabs, a byte order mark and $schema', () => {
    const json = JSON.stringify(
      {
        $schema: './schema.json',
        connections: {
          a: { baseUrl: 'https://t.example', apiKey: { env: 'K' }, lake: { url: 's3://lake' } },
        },
      },
      null,
      '\t',
    );
    expect(parseSettings(`\ufeff${json}`, 'worktrack.json').connections[0]?.name).toBe('a');
  });

  it('may share values by anchors, aliases and merge keys', () => {
    const text = `
connections:
  a: &a
    baseUrl: https://t.example
    apiKey: &key { env: KEY }
    lake: { url: s3://lake/a }
    sync: { overlap: 1h }
  b:
    <<: *a
    apiKey: *key
    lake: { url: s3://lake/b }
`;
    const [, b] = parseSettings(text, 'x').connections;
    expect(b).toMatchObject({ name: 'b', sync: { overlapMs: 3_600_000 }, lake: { url: 's3://lake/b' } });
  });

  it.each([
    ['https://t.example/', 'https://t.example'],
    ['https://t.example/api/public/v2', 'https://t.example'],
    ['https://t.example/api/public/v2/', 'https://t.example'],
    ['https://t.example/tracker//api/public/v2//', 'https://t.example/tracker'],
    ['HTTPS://T.Example:443', 'https://t.example'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['http://127.8.9.1', 'http://127.8.9.1'],
    ['http://[::1]:80/', 'http://[::1]'],
  ])('reads the base URL %s as %s', (text, expected) => {
    expect(connectionOf(withLines('', { baseUrl: JSON.stringify(text) })).baseUrl).toBe(expected);
  });

  it('accepts plain http to another host if allowed', () => {
    const text = withLines('http: { allowPlainHttp: true }', { baseUrl: 'http://tracker.internal' });
    expect(connectionOf(text).baseUrl).toBe('http://tracker.internal');
  });

  it.each([
    ['s3://lake/', 's3://lake'],
    ['s3://my.lake-1/a/b_c//', 's3://my.lake-1/a/b_c'],
    ['file:///var/lake/', 'file:///var/lake'],
  ])('reads the lake %s as %s', (text, expected) => {
    expect(connectionOf(withLines('', { lake: `{ url: ${JSON.stringify(text)} }` })).lake).toEqual({
      url: expected,
    });
  });

  it('lets the keys of a resource override the defaults of its name and connection', () => {
    const text = withLines(`
deletes: keep
csv: { delimiter: ";", compression: none }
resources:
  - name: time-entries
    path: v/time
    key: uuid
    window: none
    updatedAt: updated
    fetchById: true
    badRecords: quarantine
    contract: freeze
    deletes: drop
    columns: { include: [uuid, updated, who], mask: { who: hash, constructor: redact } }
    csv: { nested: flatten, separator: __, partSize: 8MB, compression: gzip, lineBreaks: escape, escapeFormulas: true }
  - { name: calendar-entries, key: [src, key], window: 2w, windowField: day }
  - { name: projects, fetchById: false }`);
    const [time, calendar, projects] = connectionOf(text).resources;
    expect(time).toEqual({
      name: 'time-entries',
      path: 'v/time',
      key: ['uuid'],
      windowMs: null,
      windowField: null,
      deleted: null,
      params: {},
      updatedAtField: 'updated',
      fetchById: true,
      checks: [],
      badRecords: 'quarantine',
      contract: 'freeze',
      columns: {
        include: ['uuid', 'updated', 'who'],
        exclude: [],
        mask: { who: 'hash', constructor: 'redact' },
      },
      deletes: 'drop',
      csv: {
        compression: 'gzip',
        delimiter: ';',
        nested: 'flatten',
        separator: '__',
        lineBreaks: 'escape',
        escapeFormulas: true,
        partBytes: 8_000_000,
      },
    });
    expect(calendar).toMatchObject({
      key: ['src', 'key'],
      windowMs: 14 * DAY,
      windowField: 'day',
      deletes: 'keep',
    });
    expect(calendar?.csv).toMatchObject({ delimiter: ';', compression: 'none' });
    expect(projects?.fetchById).toBe(false);
  });

  it('has no mask for a field that has the name of an object property', () => {
    const mask = connectionOf(withLines('')).resources[0]?.columns.mask;
    expect(mask?.toString).toBeUndefined();
  });

  it('writes back to the path of the resource by default', () => {
    const moved = 'resources: [{ name: calendar-entries, path: calendars/all }]';
    expect(connectionOf(withLines(moved)).writeBack['calendar-entries'].path).toBe('calendars/all');
    const told = `${moved}\nwriteBack: { calendar-entries: { path: calendars, style: post-body } }`;
    expect(connectionOf(withLines(told)).writeBack['calendar-entries']).toEqual({
      ...{
        path: 'calendars',
        idField: 'id',
        success: 'record',
        idempotencyKey: { form: 'uuid-v5', header: 'Idempotency-Key' },
        repeat: 'always',
        ignore: [],
        confirmForMs: 86_400_000,
      },
      style: 'post-body',
    });
  });

  it('accepts the words for no window, no reconciliation and no signature', () => {
    const connection = connectionOf(
      withLines('sync: { reconcileEvery: never }\nwebhook: { signature: none, listen: "[::1]:0" }'),
    );
    expect(connection.sync.reconcileEveryMs).toBeNull();
    expect(connection.webhook).toMatchObject({ signature: null, listen: { host: '::1', port: 0 } });
  });

  it('accepts one handshake of a webhook, a list of them, or none', () => {
    const handshakeOf = (value: string) =>
      connectionOf(withLines(`webhook: { handshake: ${value} }`)).webhook?.handshake;
    expect(handshakeOf('secret')).toEqual(['secret']);
    expect(handshakeOf('[challenge, token, probe, token]')).toEqual(['challenge', 'token', 'probe']);
    expect(handshakeOf('none')).toEqual([]);
    for (const wrong of ['slack', '[secret, slack]', 'true', '{}'])
      expect(() => handshakeOf(wrong), wrong).toThrow(
        /allowed: (none, )?secret, challenge, token, (or )?probe/,
      );
  });

  it('accepts a shared token, a timestamp and event kinds for a webhook', () => {
    const signatureOf = (text: string) =>
      connectionOf(withLines(`webhook: { signature: { ${text} } }`)).webhook!.signature;
    expect(signatureOf('algorithm: token, header: Authorization, prefix: "Bearer "')).toEqual({
      algorithm: 'token',
      header: 'Authorization',
      prefix: 'Bearer ',
      secrets: [{ env: 'WORKTRACK_WEBHOOK_SECRET' }],
    });
    expect(signatureOf('timestamp: {}')).toMatchObject({
      ...{ timestamp: { header: 'X-Webhook-Timestamp', field: null }, toleranceMs: 300_000 },
      signs: '{timestamp}.{body}',
    });
    const timestamp = '{ header: X-Time, tolerance: 30s, signs: body }';
    expect(signatureOf(`algorithm: hmac-sha1, timestamp: ${timestamp}`)).toMatchObject({
      algorithm: 'hmac-sha1',
      ...{ timestamp: { header: 'X-Time', field: null }, toleranceMs: 30_000, signs: '{body}' },
    });
    const kinds = '{ "task.*": tasks, hours: [time-entries, calendar-entries], ping: [] }';
    expect(connectionOf(withLines(`webhook: { kinds: ${kinds}, maxBody: 64KiB }`)).webhook).toMatchObject({
      kinds: { 'task.*': ['tasks'], hours: ['time-entries', 'calendar-entries'], ping: [] },
      maxBodyBytes: 65_536,
    });
  });

  it.each([
    '0 2 * * *',
    '*/15 8-18 * * MON-FRI',
    '0 0 1,15 JAN-mar sunday 2027',
    '0 0 29 2 *',
    '5/10 0-23/2 31 * 7',
    '30 0 2 * * * *',
    '@daily',
    '@every 6h',
    '@every 1.5h/10m',
  ])('accepts the cron expression %s', (cron) => {
    expect(connectionOf(withLines(`schedule: { cron: "${cron}" }`)).schedule.cron).toBe(cron);
  });

  it.each(['UTC', 'Europe/Berlin', 'Etc/UTC', 'US/Pacific'])('accepts the time zone %s', (timezone) => {
    expect(connectionOf(withLines(`schedule: { timezone: ${timezone} }`)).schedule.timezone).toBe(timezone);
  });

  it('accepts lakes with similar URLs', () => {
    const connection = (name: string, lake: string) =>
      `  ${name}: { baseUrl: "https://t.example", apiKey: { env: K }, lake: ${lake} }`;
    const text = [
      'connections:',
      connection('a', '{ url: s3://lake/work }'),
      connection('b', '{ url: s3://lake/worktrack }'),
      connection('c', '{ url: s3://lake/work, endpoint: "http://127.0.0.1:9000" }'),
      connection('d', '{ url: file:///lake/work }'),
    ].join('\n');
    expect(parseSettings(text, 'x').connections).toHaveLength(4);
  });
});

describe('audit', () => {
  it.each([
    ['', 1],
    [', sample: 100%', 1],
    [', sample: 1%', 0.01],
    [', sample: 0.5%', 0.005],
  ])('takes a share of the rows: %s', (sample, expected) => {
    const { audit } = connectionOf(withLines(`audit: { cron: "0 5 * * 0"${sample} }`));
    expect(audit).toEqual({ cron: '0 5 * * 0', sample: expected });
  });

  it.each(['0%', '101%', '1', '-1%', 'all'])('rejects the share %s', (sample) => {
    expect(() => connectionOf(withLines(`audit: { cron: "@daily", sample: "${sample}" }`))).toThrow(
      /such as 1%/,
    );
  });
});

describe('notify', () => {
  it('accepts a URL and secrets by reference, and sends what a person should know by default', () => {
    const lines = 'notify: { url: "https://h.example/x", headers: { Authorization: { env: TOKEN } } }';
    expect(connectionOf(withLines(lines)).notify).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{12}$/),
        format: 'json',
        url: 'https://h.example/x',
        key: null,
        headers: { Authorization: { env: 'TOKEN' } },
        on: ['failure', 'recovery', 'stale', 'check', 'rows-not-written'],
        published: null,
        maxAgeMs: null,
      },
    ]);
  });

  it('accepts a reference to a URL that is a secret', () => {
    const lines = 'notify: { url: { file: /run/secrets/hook }, on: [failure, failure] }';
    expect(connectionOf(withLines(lines)).notify).toMatchObject([
      { url: { file: '/run/secrets/hook' }, on: ['failure'] },
    ]);
  });

  it('accepts a list of targets, whose ids depend on where they send and not on what', () => {
    const url = 'url: { env: HOOK }';
    const of = (target: string) => connectionOf(withLines(`notify: [{ ${target} }]`)).notify[0]!.id;
    expect(of(url)).toBe(of(`${url}, on: [stale], maxAge: 30h`));
    expect(of(url)).not.toBe(of(`${url}, format: slack`));
    const lines = 'notify: [{ url: { env: HOOK } }, { format: pagerduty, key: { env: PD } }]';
    expect(connectionOf(withLines(lines)).notify).toMatchObject([
      { format: 'json' },
      { format: 'pagerduty', url: 'https://events.pagerduty.com/v2/enqueue', key: { env: 'PD' } },
    ]);
  });
});
