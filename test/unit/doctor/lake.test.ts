import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { checkLake } from '../../../src/doctor/check-lake.js';

/** A store that answers every request with the same S3 error. */
const server = createServer((incoming, outgoing) => {
  incoming.resume().on('end', () => {
    outgoing.writeHead(400, { 'content-type': 'application/xml' });
    outgoing.end('<Error><Code>ExpiredToken</Code><Message>The token has expired</Message></Error>');
  });
});

afterEach(async () => {
  vi.unstubAllEnvs();
  server.close();
  await once(server, 'close');
});

describe('the check of the lake', () => {
  it('reports expired credentials as a problem of the configuration', async () => {
    vi.stubEnv('AWS_PROFILE', undefined);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'id');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const lake = { url: 's3://lake', endpoint, region: 'us-east-1', forcePathStyle: true };
    const findings = await checkLake({ lake } as unknown as ConnectionSettings, 60_000);
    const problems = findings.filter(({ state }) => state === 'problem');
    expect(problems).not.toEqual([]);
    for (const problem of problems) {
      expect(problem).toMatchObject({ cause: 'configuration' });
      expect(problem.message).toContain('the credentials have expired');
    }
  });
});
