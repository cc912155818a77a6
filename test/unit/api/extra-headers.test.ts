import { afterEach, describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../../src/core/errors.js';
import { client, HTTP, json, PAGE, parseJson, rejection, service, TASKS } from './support.js';

const VARIABLE = 'WORKTRACK_UNIT_TEST_GATEWAY';

describe('Headers of the configuration', () => {
  afterEach(() => {
    delete process.env[VARIABLE];
  });

  it('go with every request, and replace none that it must have', async () => {
    process.env[VARIABLE] = 'Gateway secret-123456';
    const { url, seen } = await service((_, response) => json(response, 200, PAGE));
    const headers = { 'X-Gateway-Id': 'plain', 'X-Gateway-Secret': { env: VARIABLE }, 'User-Agent': 'ours' };
    const one = client(url, { http: { ...HTTP, headers } });
    await one.listPage(TASKS, parseJson);
    await one.fetchById({ ...TASKS, id: 'p1' }, parseJson);
    expect(seen).toHaveLength(2);
    for (const { headers: sent } of seen)
      expect(sent).toMatchObject({
        'x-gateway-id': 'plain',
        'x-gateway-secret': 'Gateway secret-123456',
        'user-agent': 'ours',
        authorization: expect.stringMatching(/^Bearer wt_live/),
      });
  });

  it('are redacted from what the service answers, if they are secrets', async () => {
    process.env[VARIABLE] = 'secret-123456';
    const { url } = await service((_, response) =>
      json(response, 400, { message: 'bad header secret-123456' }),
    );
    const one = client(url, { http: { ...HTTP, headers: { 'X-Gateway': { env: VARIABLE } } } });
    const error = await rejection(one.listPage(TASKS, parseJson));
    expect(String(error)).toContain('bad header');
    expect(String(error)).not.toContain('secret-123456');
  });

  it('are a configuration error if a secret is missing', async () => {
    const { url, seen } = await service((_, response) => json(response, 200, PAGE));
    const one = client(url, { http: { ...HTTP, headers: { 'X-Gateway': { env: VARIABLE } } } });
    expect(await rejection(one.listPage(TASKS, parseJson))).toBeInstanceOf(ConfigurationError);
    expect(seen).toEqual([]);
  });
});
