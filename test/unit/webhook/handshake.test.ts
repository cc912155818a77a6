import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SECRET, sign, startReceiver } from './support.js';

const HOOK = '/hooks/acme';

interface Request {
  readonly method?: string;
  readonly query?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** What a service sees of the receiver's response. */
async function ask(url: string, { method = 'POST', query = '', headers = {}, body = '' }: Request) {
  const init = method === 'POST' ? { method, headers, body } : { method, headers };
  const response = await fetch(`${url}${HOOK}${query}`, init);
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    secret: response.headers.get('x-hook-secret'),
    text: await response.text(),
  };
}

const JSON_TYPE = 'application/json';
const TEXT = 'text/plain; charset=utf-8';

/** As the services that are named send them. None is signed. */
const HANDSHAKES: readonly (readonly [string, string, Request, object])[] = [
  ['secret', 'Asana', { headers: { 'X-Hook-Secret': 'b537207f' } }, { secret: 'b537207f' }],
  ['secret', 'a body of {}', { headers: { 'x-hook-secret': 'b5' }, body: '{}' }, { secret: 'b5' }],
  [
    'challenge',
    'Slack',
    { body: '{"token":"Jh","challenge":"3eZbr","type":"url_verification"}' },
    { type: JSON_TYPE, text: '{"challenge":"3eZbr"}\n' },
  ],
  ['challenge', 'monday.com', { body: '{"challenge":"a<b>\\u00fc"}' }, { text: '{"challenge":"a<b>ü"}\n' }],
  ['challenge', 'a number', { body: '{"challenge":1158201444}' }, { text: '{"challenge":1158201444}\n' }],
  ['challenge', 'Dropbox', { method: 'GET', query: '?challenge=a%2Fb+c' }, { type: TEXT, text: 'a/b c' }],
  [
    'challenge',
    'WebSub',
    { method: 'GET', query: '?hub.mode=subscribe&hub.challenge=1158&hub.verify_token=x' },
    { type: TEXT, text: '1158' },
  ],
  [
    'token',
    'Microsoft Graph',
    {
      query: '?validationToken=Validation%3A+Testing%3A%20%26%3Fü',
      headers: { 'Content-Type': 'text/plain' },
    },
    { type: TEXT, text: 'Validation: Testing: &?ü' },
  ],
  ['token', 'SharePoint', { query: '?validationtoken=a-b' }, { type: TEXT, text: 'a-b' }],
  ['token', 'a GET', { method: 'GET', query: '?x=1&validationToken=t' }, { type: TEXT, text: 't' }],
  ['probe', 'a GET', { method: 'GET' }, { type: JSON_TYPE, text: '{"ready":true}\n' }],
  ['probe', 'a HEAD', { method: 'HEAD' }, { type: JSON_TYPE, text: '' }],
  [
    'validation-code',
    'Toggl',
    { body: '{"payload":"ping","validation_code":"8a5d","validation_code_url":"https://t.example/v"}' },
    { type: JSON_TYPE, text: '{"validation_code":"8a5d"}\n' },
  ],
  [
    'zoom',
    'Zoom',
    { body: '{"payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"},"event":"endpoint.url_validation"}' },
    {
      type: JSON_TYPE,
      text: `{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"${createHmac('sha256', SECRET).update('qgg8vlvZRS6UYooatFL8Aw').digest('hex')}"}\n`,
    },
  ],
];

describe('the handshake', () => {
  it.each(HANDSHAKES)('%s of %s is answered without a signature, and reads nothing', async (...row) => {
    const [kind, , request, expected] = row;
    const { url, sent, post } = await startReceiver({ webhook: `      handshake: ${kind}\n` });
    expect(await ask(url, request)).toMatchObject({ status: 200, ...expected });
    expect(sent).toEqual([]);
    expect((await post('{"resource":"tasks"}')).status).toBe(202);
  });

  it.each(HANDSHAKES)('%s of %s is not answered by default', async (_kind, _service, request) => {
    const { url } = await startReceiver();
    const status = request.method === undefined ? 401 : 405;
    expect(await ask(url, request)).toMatchObject({ status, secret: null });
  });

  it('is answered by several kinds together, including for unsigned notices', async () => {
    const { url, sent } = await startReceiver({
      webhook: '      signature: none\n      handshake: [secret, challenge, token, probe, validation-code]\n',
    });
    // Zoom's needs a secret.
    for (const [kind, service, request, expected] of HANDSHAKES.filter(([kind]) => kind !== 'zoom'))
      expect(await ask(url, request), `${kind} of ${service}`).toMatchObject({ status: 200, ...expected });
    expect(sent).toEqual([]);
  });

  it.each([
    ['a wrong signature', 'secret', { headers: { 'X-Webhook-Signature': 'zz' } }],
    ['an empty header', 'secret', { headers: { 'X-Hook-Secret': '' } }],
    ['a challenge that is no text', 'challenge', { body: '{"challenge":{"a":1}}' }],
    ['an empty challenge', 'challenge', { body: '{"challenge":""}' }],
    ['a list', 'challenge', { body: '[{"challenge":"x"}]' }],
    ['a challenge in another place', 'challenge', { body: '{"data":{"challenge":"x"}}' }],
    ['a challenge that is too long', 'challenge', { body: JSON.stringify({ challenge: 'x'.repeat(5_000) }) }],
    ['no token', 'token', { query: '?validationToken=' }],
    ['another parameter', 'token', { query: '?token=x' }],
    ['another kind', 'token', { headers: { 'X-Hook-Secret': 'x' } }],
  ])('is not seen in a request with %s', async (_, kind, request) => {
    const { url, sent } = await startReceiver({ webhook: `      handshake: ${kind}\n` });
    expect((await ask(url, request)).status).toBe(401);
    expect(sent).toEqual([]);
  });

  it('allows only the methods that it needs', async () => {
    for (const [kinds, allow] of [
      ['secret', 'POST'],
      ['token', 'POST, GET'],
      ['probe', 'POST, GET, HEAD'],
    ]) {
      const { url } = await startReceiver({ webhook: `      handshake: ${kinds}\n` });
      const response = await fetch(url + HOOK, { method: 'DELETE' });
      expect([response.status, response.headers.get('allow')], kinds).toEqual([405, allow]);
    }
    const { url } = await startReceiver({ webhook: '      handshake: [token, challenge]\n' });
    expect((await fetch(url + HOOK)).status).toBe(405);
  });

  it('is answered at the path of each connection only, and as text that no browser takes for a page', async () => {
    const { url } = await startReceiver({ webhook: '      handshake: token\n' });
    expect((await fetch(`${url}/hooks/polled?validationToken=x`, { method: 'POST' })).status).toBe(404);
    const response = await fetch(`${url}${HOOK}?validationToken=${encodeURIComponent('<script>')}`);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it('works before the secret is known, if the service sends it in the handshake', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'worktrack-hook-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'secret');
    const webhook = `      handshake: secret\n      signature: { secret: { file: ${file} } }\n`;
    const { url, post, checkSecrets, logged } = await startReceiver({ webhook });
    await checkSecrets();
    expect(logged.join()).toContain('503 until the file contains the secret');
    expect((await post('{"resource":"tasks"}')).status).toBe(503);
    const answered = await ask(url, { headers: { 'X-Hook-Secret': SECRET } });
    expect(answered).toMatchObject({ status: 200, secret: SECRET });
    expect(logged.join()).not.toContain(SECRET);
    writeFileSync(file, SECRET, { mode: 0o600 });
    expect((await post('{"resource":"tasks"}', sign('{"resource":"tasks"}'))).status).toBe(202);
  });
});
