import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openStore, toObjectKey } from '../../../../src/lake/store/index.js';

const folder = mkdtempSync(join(tmpdir(), 'worktrack-credentials-'));
const KEY = toObjectKey('tasks/latest.json');
let server: Server;
/** The access key of each request; the newest one is last. */
const seen: string[] = [];
/** How the server answers. */
let accepts: (accessKeyId: string) => boolean = () => true;
let expects = true;

beforeAll(async () => {
  const answer: Parameters<typeof createServer>[1] = (request, response) => {
    const id = /Credential=([^/]+)/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    seen.push(id);
    request.resume();
    request.on('end', () => {
      if (!accepts(id)) {
        const body =
          '<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>';
        return response.writeHead(400, { 'content-type': 'application/xml' }).end(body);
      }
      return response.writeHead(200, { etag: '"1"' }).end();
    });
  };
  server = createServer(answer);
  server.on('checkContinue', (request, response) => {
    if (!expects) return response.writeHead(417, { connection: 'close' }).end();
    response.writeContinue();
    return server.emit('request', request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'config'));
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(folder, 'credentials'));
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  writeFileSync(join(folder, 'config'), '');
  writeFileSync(join(folder, 'credentials'), '');
  seen.length = 0;
  accepts = () => true;
  expects = true;
});
afterEach(() => vi.unstubAllEnvs());

function store(profile?: string) {
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return openStore({
    ...{ url: 's3://lake/acme', endpoint, region: 'eu-west-1', forcePathStyle: true },
    ...(profile === undefined ? {} : { profile }),
  });
}

function credentials(id: string): void {
  writeFileSync(
    join(folder, 'credentials'),
    `[default]\naws_access_key_id = ${id}\naws_secret_access_key = secret-of-${id}\n`,
  );
}

async function problem(profile?: string): Promise<string> {
  const one = store(profile);
  const error = await one.write(KEY, Buffer.from('{}')).catch((caught: unknown) => caught);
  one.close();
  return error instanceof Error ? error.message : `written: ${seen.join()}`;
}

describe('The credentials of a store', () => {
  it('are read again from the file when the store says that they have expired', async () => {
    credentials('OLD');
    const one = store();
    await one.write(KEY, Buffer.from('{}'));
    credentials('NEW');
    accepts = (id) => id === 'NEW';
    await expect(one.write(KEY, Buffer.from('{}'))).rejects.toThrow('the credentials have expired');
    await expect
      .poll(() =>
        one.write(KEY, Buffer.from('{}')).then(
          () => seen.at(-1),
          () => null,
        ),
      )
      .toBe('NEW');
    one.close();
  });

  it('are found in a file that is written after the store was opened', async () => {
    const one = store();
    await expect(one.write(KEY, Buffer.from('{}'))).rejects.toThrow('no credentials were found');
    credentials('LATER');
    await one.write(KEY, Buffer.from('{}'));
    expect(seen).toEqual(['LATER']);
    one.close();
  });

  it.each<[string, () => string | undefined, RegExp]>([
    [
      'no source',
      () => undefined,
      /no credentials were found \(.*no variable, profile, container or instance/,
    ],
    ['an unknown profile', () => 'missing', /profile: \[missing\]/],
    [
      'a program that fails',
      () => {
        const program = join(folder, 'fails');
        writeFileSync(program, '#!/bin/sh\necho "the vault is sealed" >&2\nexit 3\n');
        chmodSync(program, 0o755);
        writeFileSync(join(folder, 'config'), `[profile vault]\ncredential_process = ${program}\n`);
        return 'vault';
      },
      /no credentials were found .*the vault is sealed/s,
    ],
    [
      'a missing token file of a web identity',
      () => {
        vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', join(folder, 'no-token'));
        vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::111122223333:role/worktrack');
        return undefined;
      },
      /a file that the AWS SDK reads for the credentials does not exist .*no-token/,
    ],
    [
      'an access key with a line break',
      () => {
        vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIA\nID');
        vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret-of-the-key');
        return undefined;
      },
      /AWS_ACCESS_KEY_ID contains a space, a line break/,
    ],
  ])('name the reason if there are none: %s', async (_, prepare, expected) => {
    const profile = prepare();
    const message = await problem(profile).catch((error: Error) => error.message);
    expect(message).toMatch(expected);
    expect(message).not.toMatch(/lake\.endpoint/);
    expect(seen).toEqual([]);
  });

  it('name a program that does not answer, and wait for it the next time', async () => {
    const program = join(folder, 'slow');
    const answer = JSON.stringify({ Version: 1, AccessKeyId: 'SLOW', SecretAccessKey: 'secret-of-slow' });
    const go = join(folder, 'go');
    writeFileSync(program, `#!/bin/sh\nuntil [ -e ${go} ]; do sleep 0.1; done\necho '${answer}'\n`);
    chmodSync(program, 0o755);
    writeFileSync(join(folder, 'config'), `[profile slow]\ncredential_process = ${program}\n`);
    const one = store('slow');
    await expect(one.write(KEY, Buffer.from('{}'))).rejects.toThrow(
      /no answer within 9 s from the credential_process of the profile "slow"/,
    );
    writeFileSync(go, '');
    await one.write(KEY, Buffer.from('{}'));
    expect(seen.at(-1)).toBe('SLOW');
    one.close();
  });
});

describe('A store, or a proxy, that refuses Expect: 100-continue', () => {
  it('gets large bodies without it', async () => {
    credentials('ID');
    expects = false;
    const one = store();
    const body = Buffer.alloc(3 * 1024 * 1024, 'x');
    const part = toObjectKey('tasks/snapshots/dt=2026-11-21/run=1/part-00000-1a2b3c4d.csv');
    await one.write(part, body);
    await one.write(part, body);
    expect(seen).toEqual(['ID', 'ID']);
    one.close();
  });
});
