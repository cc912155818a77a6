import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { checkLake } from '../../../src/doctor/check-lake.js';

/** A store that answers every request with the same S3 error. */
const server = createServer((incoming, outgoing) => {
  incoming.resume().on('end', () => {
    outgoing.writeHead(400, { 'content-type': 'application/xml' });
    outgoing.end('<Error><Code>ExpiredToken</Code><Message>The token has expired</Message></Error>');
  });
});

afterEach(() => vi.unstubAllEnvs());
afterAll(async () => {
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

describe.skipIf(process.platform === 'win32')('a lake in a folder', () => {
  it.each([
    [0o700, 'ok', 'only its owner can read the folder (its mode is 0700)'],
    [0o750, 'ok', 'its owner and its group can read the folder (its mode is 0750)'],
    [0o755, 'warning', 'every user of this machine can read the folder (its mode is 0755)'],
    [0o701, 'warning', 'every user of this machine can read the folder (its mode is 0701)'],
  ])('a folder with mode %o has a finding about who can read it', async (mode, state, message) => {
    const folder = await mkdtemp(join(tmpdir(), 'worktrack-doctor-'));
    await chmod(folder, mode);
    const lake = { url: pathToFileURL(folder).href };
    const found = await checkLake({ lake, resources: [] } as unknown as ConnectionSettings, 60_000);
    await rm(folder, { recursive: true });
    expect(found.filter((one) => one.state === 'problem')).toEqual([]);
    expect(found).toContainEqual(expect.objectContaining({ check: 'lake', state, message }));
    if (state === 'warning')
      expect(found.find((one) => one.message === message)?.remedy).toContain('chmod o-rwx');
  });
});
