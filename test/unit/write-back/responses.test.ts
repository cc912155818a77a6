import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type RequestOutcome, sendRowRequest } from '../../../activities/write-back/row-request.js';
import { toByteString } from '../../../src/core/brands.js';
import type { SendRowsInput } from '../../../src/core/contract/write-back.js';
import type { ConnectionSettings, SuccessRule } from '../../../src/core/settings.js';
import { SENDING, sendClock } from '../activities/planned-rows.js';
import { client, service } from '../api/support.js';

/** A response: status, headers, body. */
type Response = readonly [status: number, headers: Record<string, string>, body: string | Buffer];
const JSON_TYPE = { 'content-type': 'application/json' };
const HTML_TYPE = { 'content-type': 'text/html; charset=utf-8' };
const TEXT_TYPE = { 'content-type': 'text/plain' };
const at = (location: string) => ({ ...JSON_TYPE, location });

/** The outcome of a row, as it is in its receipt. For `unknown`, a part of the message. */
type Outcome = readonly [outcome: string, idOrText: string | null];
type Entry = readonly [response: Response, outcome: Outcome];

const RULE: SuccessRule = { idField: 'id', success: 'record' };

/** Sends one row to a real HTTP server that answers each request in this way. */
async function outcomeOf(
  [status, headers, body]: Response,
  resource: 'time-entries' | 'calendar-entries',
  rule: Partial<SuccessRule> = {},
): Promise<{ readonly kind: RequestOutcome['kind']; readonly outcome: Outcome; readonly requests: number }> {
  const { url, seen } = await service((_, response) => {
    response.writeHead(status, headers);
    response.end(body);
  });
  const own = { path: resource, ...RULE, ...rule, ignore: [] };
  const writeBack = {
    'time-entries': own,
    'calendar-entries': { ...own, style: 'put-path' },
    ...{ unknownAfterMs: 3_600_000, escapeFormulas: { 'time-entries': false, 'calendar-entries': false } },
  } as const;
  const connection = {
    settings: { writeBack, resources: [] } as unknown as ConnectionSettings,
    client: client(url, { retry: { attempts: 2, maxDelayMs: 10 } }),
    store: null as never,
  };
  const row = {
    ...{
      row: 1,
      line: 2,
      key: 'k',
      idempotencyKey: 'u-1',
      content: '',
      verdict: null,
      receipt: null,
      sentAt: null,
    },
    pair: resource === 'time-entries' ? null : (['cal', 'k/1'] as const),
    body: toByteString('{"note":"n","exception":true,"status":"open"}'),
  };
  const task = {
    ...{ chunk: null as never, index: 0, row, before: 'never', failing: null },
    notAfter: Number.MAX_SAFE_INTEGER,
  };
  const attempt = {
    connection,
    clock: sendClock(),
    sending: { ...SENDING, path: resource, style: 'put-path' as const },
    input: { resource } as SendRowsInput,
  };
  const sent = await sendRowRequest(task as Parameters<typeof sendRowRequest>[0], attempt, {
    signal: new AbortController().signal,
    onWait: () => undefined,
    onLimit: () => undefined,
  });
  return { kind: sent.kind, outcome: outcomeIn(sent), requests: seen.length };
}

function outcomeIn(sent: RequestOutcome): Outcome {
  if (sent.kind === 'settled') {
    const { outcome, id, message } = sent.receipt;
    return [outcome, outcome === 'rejected' ? message : id];
  }
  if (sent.kind === 'unclear' || sent.kind === 'in-doubt' || sent.kind === 'failing')
    return ['unknown', sent.message];
  if (sent.kind === 'refused' || sent.kind === 'limited')
    return [sent.kind, sent.refusal.error.serviceMessage];
  return ['unsent', null];
}

async function expectOutcome(
  response: Response,
  [outcome, text]: Outcome,
  resource: 'time-entries' | 'calendar-entries',
  rule?: Partial<SuccessRule>,
): Promise<void> {
  const found = await outcomeOf(response, resource, rule);
  const isQuoted = outcome === 'unknown' && text !== null;
  expect(found.outcome).toEqual([outcome, isQuoted ? expect.stringContaining(text) : text]);
  // A complete response that is not cut off gets no second request.
  if (outcome === 'created' || outcome === 'updated') expect(found.requests).toBe(1);
}

const named = ([[status, headers, body]]: Entry): string => {
  const shown = typeof body === 'string' ? body : `${body.length} bytes`;
  const { location, 'content-type': type = 'no type' } = headers;
  return `${status} ${type}${location === undefined ? '' : `, Location ${location}`}: ${shown || 'empty'}`;
};

const CREATES: readonly Entry[] = [
  // A record, bare.
  [
    [201, JSON_TYPE, '{"id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{"id":"r1","note":"n"}'],
    ['created', 'r1'],
  ],
  [
    [202, JSON_TYPE, '{"id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [206, JSON_TYPE, '{"id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [201, JSON_TYPE, '{"id":9007199254740993}'],
    ['created', '9007199254740993'],
  ],
  [
    [201, JSON_TYPE, '{"id":1e21}'],
    ['created', '1e21'],
  ],
  [
    [201, JSON_TYPE, '{"id":-0.10}'],
    ['created', '-0.10'],
  ],
  [
    [201, JSON_TYPE, '{"id":0}'],
    ['created', '0'],
  ],
  [
    [201, JSON_TYPE, '{"id":1,"id":18446744073709551617}'],
    ['created', '18446744073709551617'],
  ],
  [
    [201, JSON_TYPE, '{"id":"\\u043aлюч \\"1\\""}'],
    ['created', 'ключ "1"'],
  ],
  [
    [201, JSON_TYPE, ' \n {"id":"r1"}\r\n'],
    ['created', 'r1'],
  ],
  [
    [201, JSON_TYPE, '\ufeff{"id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [201, { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync('{"id":"r1"}')],
    ['created', 'r1'],
  ],
  // The body decides whether it is JSON.
  [
    [201, HTML_TYPE, '{"id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [201, TEXT_TYPE, '{"id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [201, {}, '{"id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [201, { 'content-type': 'application/xhtml+xml' }, '{"id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [201, { 'content-type': 'application/octet-stream' }, '{"id":"r1"}'],
    ['created', 'r1'],
  ],
  // A record in an envelope.
  [
    [200, JSON_TYPE, '{"data":{"id":"r1"}}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{"result":{"id":"r1"}}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{"record":{"id":"r1"}}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{"result":{"data":{"id":"r1"}}}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{"result":{"status":"done"},"record":{"id":"r1"}}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{"jsonrpc":"2.0","id":7,"result":{"id":"r1"}}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{"success":true,"errors":[],"data":{"id":"r1"}}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{"ok":1,"error":null,"errors":{},"id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{"error":false,"id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{"error":"","id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{"error":{"code":0,"message":""},"errors":[null],"fault":"none","id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{"status":"ok","data":{"id":"r1","status":"open"}}'],
    ['created', 'r1'],
  ],
  [
    [201, JSON_TYPE, '{"status":201,"data":{"id":"r1"}}'],
    ['created', 'r1'],
  ],
  // The row has sent this value.
  [
    [201, JSON_TYPE, '{"id":"r1","note":"n","exception":true}'],
    ['created', 'r1'],
  ],
  // A body that reports an error is never a record.
  [
    [200, JSON_TYPE, '{"status":"error","message":"Locked.","data":{"id":"P1"}}'],
    ['unknown', 'Locked.'],
  ],
  [
    [200, JSON_TYPE, '{"id":"request-1","status":"Failed"}'],
    ['unknown', 'reports an error'],
  ],
  [
    [200, JSON_TYPE, '{"status":422,"id":"request-1"}'],
    ['unknown', 'reports an error'],
  ],
  [
    [200, JSON_TYPE, '{"id":"request-1","data":{"status":"409"}}'],
    ['unknown', 'reports an error'],
  ],
  [
    [200, JSON_TYPE, '{"fault":{"faultstring":"Quota."},"id":"r1"}'],
    ['unknown', 'Quota.'],
  ],
  [
    [200, JSON_TYPE, '{"Exception":"Locked","id":"r1"}'],
    ['unknown', 'Locked'],
  ],
  [
    [200, JSON_TYPE, '{"success":false,"message":"The week is locked."}'],
    ['unknown', 'The week is locked.'],
  ],
  [
    [200, JSON_TYPE, '{"id":"request-1","errorMessage":"The week is locked."}'],
    ['unknown', 'The week is locked.'],
  ],
  [
    [200, JSON_TYPE, '{"id":"request-1","status_code":422}'],
    ['unknown', 'reports an error'],
  ],
  [
    [200, JSON_TYPE, '{"id":"request-1","IsSuccess":false}'],
    ['unknown', 'reports an error'],
  ],
  [
    [200, JSON_TYPE, '{"success":"false","id":"r1"}'],
    ['unknown', 'reports an error'],
  ],
  [
    [200, JSON_TYPE, '{"Success":false,"id":"r1"}'],
    ['unknown', 'reports an error'],
  ],
  [
    [200, JSON_TYPE, '{"ok":false,"error":"week_locked"}'],
    ['unknown', 'week_locked'],
  ],
  [
    [200, JSON_TYPE, '{"ok":0,"id":"r1"}'],
    ['unknown', 'reports an error'],
  ],
  [
    [200, JSON_TYPE, '{"errors":[{"code":7}]}'],
    ['unknown', '{"errors":[{"code":7}]}'],
  ],
  [
    [200, JSON_TYPE, '{"errors":{"note":"too long"},"id":"r1"}'],
    ['unknown', 'too long'],
  ],
  [
    [201, JSON_TYPE, '{"error":{"message":"Nope."},"data":{"id":"r1"}}'],
    ['unknown', 'Nope.'],
  ],
  [
    [200, JSON_TYPE, '{"data":{"errors":["locked"],"id":"r1"}}'],
    ['unknown', 'locked'],
  ],
  [
    [201, at('/time-entries/r1'), '{"success":false}'],
    ['unknown', 'reports an error'],
  ],
  // JSON that is not a record.
  [
    [200, JSON_TYPE, '[]'],
    ['unknown', '[]'],
  ],
  [
    [200, JSON_TYPE, '[{"id":"r1"}]'],
    ['unknown', '[{"id":"r1"}]'],
  ],
  [
    [200, JSON_TYPE, '{"data":[{"id":"r1"}],"page":{"nextCursor":null}}'],
    ['unknown', 'no id'],
  ],
  [
    [200, JSON_TYPE, 'null'],
    ['unknown', 'null'],
  ],
  [
    [200, JSON_TYPE, 'true'],
    ['unknown', 'true'],
  ],
  [
    [200, JSON_TYPE, '"OK"'],
    ['unknown', 'OK'],
  ],
  [
    [200, JSON_TYPE, '17'],
    ['unknown', '17'],
  ],
  [
    [200, JSON_TYPE, '{}'],
    ['unknown', '{}'],
  ],
  [
    [202, JSON_TYPE, '{"status":"queued"}'],
    ['unknown', 'queued'],
  ],
  [
    [200, JSON_TYPE, '{"status":"error","message":"Locked."}'],
    ['unknown', 'Locked.'],
  ],
  [
    [200, JSON_TYPE, '{"id":""}'],
    ['unknown', 'no id'],
  ],
  [
    [200, JSON_TYPE, '{"id":" "}'],
    ['unknown', 'no id'],
  ],
  [
    [200, JSON_TYPE, '{"id":null}'],
    ['unknown', 'no id'],
  ],
  [
    [200, JSON_TYPE, '{"id":{"id":1}}'],
    ['unknown', 'no id'],
  ],
  [
    [200, JSON_TYPE, '{"id":true}'],
    ['unknown', 'no id'],
  ],
  [
    [200, JSON_TYPE, '{"entry":{"id":"r1"}}'],
    ['unknown', 'no id'],
  ],
  // A 201 with Location.
  [
    [201, at('/api/public/v2/time-entries/r1'), ''],
    ['created', 'r1'],
  ],
  [
    [201, at('https://other.example.com/time-entries/r%201?x=1#y'), ''],
    ['created', 'r 1'],
  ],
  [
    [201, at('time-entries/r1/'), ''],
    ['created', 'r1'],
  ],
  [
    [201, at('r1'), '{"status":"done"}'],
    ['created', 'r1'],
  ],
  [
    [201, { ...TEXT_TYPE, location: 'time-entries/r1' }, 'Created'],
    ['created', 'r1'],
  ],
  [
    [201, { ...HTML_TYPE, location: 'time-entries/r1' }, '<html>Created</html>'],
    ['created', 'r1'],
  ],
  [
    [201, at('time-entries/r1'), '{"id":"r2"}'],
    ['created', 'r2'],
  ],
  [
    [201, at('/api/public/v2/time-entries/'), ''],
    ['unknown', 'empty body'],
  ],
  [
    [201, at('/'), ''],
    ['unknown', 'empty body'],
  ],
  [
    [201, at('http://['), ''],
    ['unknown', 'empty body'],
  ],
  [
    [200, at('/api/public/v2/time-entries/r1'), '{}'],
    ['unknown', 'no id'],
  ],
  [
    [202, at('/jobs/7'), ''],
    ['unknown', 'empty body'],
  ],
  // Nothing, or no JSON.
  [
    [201, JSON_TYPE, ''],
    ['unknown', 'writeBack.time-entries.success'],
  ],
  [
    [204, {}, ''],
    ['unknown', 'empty body'],
  ],
  [
    [205, {}, ''],
    ['unknown', 'empty body'],
  ],
  [
    [200, TEXT_TYPE, ' \n'],
    ['unknown', 'empty body'],
  ],
  [
    [200, TEXT_TYPE, 'OK'],
    ['unknown', 'OK'],
  ],
  [
    [200, TEXT_TYPE, 'id=r1'],
    ['unknown', 'id=r1'],
  ],
  [
    [200, HTML_TYPE, '<!doctype html><title>Sign in</title>'],
    ['unknown', 'web page'],
  ],
  [
    [201, JSON_TYPE, '{"id":"r1"'],
    ['unknown', 'incomplete or invalid JSON'],
  ],
  [
    [201, JSON_TYPE, '{"id":"r1"} x'],
    ['unknown', 'incomplete or invalid JSON'],
  ],
  // Other statuses.
  [
    [302, { location: '/login' }, ''],
    ['unknown', 'redirect'],
  ],
  [
    [304, {}, ''],
    ['unknown', '304'],
  ],
  [
    [400, JSON_TYPE, '{"message":"Too long."}'],
    ['rejected', 'Too long.'],
  ],
  [
    [422, JSON_TYPE, '{"message":"Rate limit of the week."}'],
    ['rejected', 'Rate limit of the week.'],
  ],
  [
    [403, JSON_TYPE, '{"message":"The project is closed."}'],
    ['refused', 'The project is closed.'],
  ],
  [
    [402, JSON_TYPE, '{"message":"Quota exceeded."}'],
    ['limited', 'Quota exceeded.'],
  ],
  [
    [500, JSON_TYPE, '{"id":"r1"}'],
    ['unknown', 'r1'],
  ],
];

const EMPTY: readonly Entry[] = [
  [
    [200, JSON_TYPE, ''],
    ['created', null],
  ],
  [
    [201, JSON_TYPE, ''],
    ['created', null],
  ],
  [
    [202, {}, ''],
    ['created', null],
  ],
  [
    [204, {}, ''],
    ['created', null],
  ],
  [
    [201, at('time-entries/r1'), ''],
    ['created', 'r1'],
  ],
  [
    [201, JSON_TYPE, '{"id":"r1"}'],
    ['created', 'r1'],
  ],
  [
    [200, JSON_TYPE, '{}'],
    ['unknown', 'no id'],
  ],
  [
    [200, JSON_TYPE, 'null'],
    ['unknown', 'null'],
  ],
  [
    [200, TEXT_TYPE, 'OK'],
    ['unknown', 'OK'],
  ],
  [
    [200, JSON_TYPE, '{"success":false}'],
    ['unknown', 'reports an error'],
  ],
];

const UPSERTS: readonly Entry[] = [
  [
    [200, JSON_TYPE, ''],
    ['updated', null],
  ],
  [
    [201, JSON_TYPE, ''],
    ['created', null],
  ],
  [
    [204, {}, ''],
    ['updated', null],
  ],
  [
    [202, {}, ''],
    ['unknown', 'empty body'],
  ],
  [
    [200, JSON_TYPE, '{"source":"cal","sourceKey":"k/1"}'],
    ['updated', null],
  ],
  [
    [201, JSON_TYPE, '{"data":{"source":"cal","sourceKey":"k/1"}}'],
    ['created', null],
  ],
  [
    [200, JSON_TYPE, '{"id":"c1","source":"cal","sourceKey":"k/1"}'],
    ['updated', 'c1'],
  ],
  [
    [200, JSON_TYPE, '{"id":"c1"}'],
    ['updated', 'c1'],
  ],
  [
    [200, JSON_TYPE, '{"source":"cal","sourceKey":"other"}'],
    ['unknown', 'no id'],
  ],
  [
    [200, JSON_TYPE, '{"source":"cal"}'],
    ['unknown', 'no id'],
  ],
  [
    [200, JSON_TYPE, '{"source":"cal","sourceKey":"k/1","errors":["x"]}'],
    ['unknown', 'reports an error'],
  ],
  [
    [200, JSON_TYPE, '{}'],
    ['unknown', '{}'],
  ],
  [
    [200, JSON_TYPE, 'null'],
    ['unknown', 'null'],
  ],
  [
    [200, TEXT_TYPE, 'OK'],
    ['unknown', 'OK'],
  ],
];

/** Responses with the id in other places. */
const FIELDS: readonly (readonly [idField: string, ...Entry])[] = [
  ['entryId', [201, JSON_TYPE, '{"entryId":7}'], ['created', '7']],
  ['entryId', [201, JSON_TYPE, '{"data":{"entryId":"e"}}'], ['created', 'e']],
  ['entryId', [201, JSON_TYPE, '{"id":"r1"}'], ['unknown', 'idField is entryId']],
  ['/meta/id', [201, JSON_TYPE, '{"data":{"meta":{"id":"m"}}}'], ['created', 'm']],
  ['/data/0/id', [201, JSON_TYPE, '{"data":[{"id":"r1"}]}'], ['created', 'r1']],
  ['/0/id', [201, JSON_TYPE, '[{"id":"r1"}]'], ['created', 'r1']],
  ['/a~1b/~0', [201, JSON_TYPE, '{"a/b":{"~":"t"}}'], ['created', 't']],
  ['/data/1/id', [201, JSON_TYPE, '{"data":[{"id":"r1"}]}'], ['unknown', 'no id']],
  ['/id/x', [201, JSON_TYPE, '{"id":"r1"}'], ['unknown', 'no id']],
];

describe('a response to a create', () => {
  test.for(CREATES.map((entry) => [named(entry), ...entry] as const))('%s', async ([, response, outcome]) => {
    await expectOutcome(response, outcome, 'time-entries');
  });

  test('is the record at writeBack.time-entries.idField', async () => {
    for (const [idField, response, outcome] of FIELDS)
      await expectOutcome(response, outcome, 'time-entries', { idField });
  });
});

describe('with writeBack.time-entries.success: empty, a response to a create', () => {
  test.for(EMPTY.map((entry) => [named(entry), ...entry] as const))('%s', async ([, response, outcome]) => {
    await expectOutcome(response, outcome, 'time-entries', { success: 'empty' });
  });
});

describe('a response to an upsert', () => {
  test.for(UPSERTS.map((entry) => [named(entry), ...entry] as const))('%s', async ([, response, outcome]) => {
    await expectOutcome(response, outcome, 'calendar-entries');
  });
});

describe('a challenge of a firewall', () => {
  const PAGE = '<html><title>Just a moment...</title><body>Checking your browser</body></html>';
  const CHALLENGES: readonly Response[] = [
    [202, { 'x-amzn-waf-action': 'challenge' }, ''],
    [200, { 'x-amzn-waf-action': 'challenge' }, ''],
    [204, { 'cf-mitigated': 'challenge' }, ''],
    [200, HTML_TYPE, PAGE],
    [201, HTML_TYPE, `<!-- edge -->${PAGE}`],
  ];

  test.for(
    CHALLENGES.flatMap((response) =>
      (['time-entries', 'calendar-entries'] as const).flatMap((resource) =>
        (['record', 'empty'] as const).map((success) => ({ response, resource, success })),
      ),
    ),
  )(
    'writes no row, and is no final answer: $response, $resource, $success',
    async ({ response, resource, success }) => {
      const found = await outcomeOf(response, resource, { success });
      expect(found).toMatchObject({ kind: 'in-doubt', requests: 2 });
      expect(found.outcome[1]).toMatch(/ answered 20\d\. This is a challenge or block page /);
    },
  );
});
