import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConfigurationError } from '../../../src/core/errors.js';
import { temporalConfig } from '../../../src/temporal/client/connect.js';
import { codeBlocks, pageAt } from '../../support/docs.js';

/** A block of the page on Temporal Cloud. */
function block(language: string): string {
  const found = codeBlocks([pageAt('docs/how-to/temporal-cloud.md')]).find(
    (one) => one.language === language,
  );
  if (found === undefined) throw new Error(`the page on Temporal Cloud has no block of ${language}`);
  return found.text;
}

describe('the documented setup of Temporal Cloud', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-docs-'));
    for (const name of Object.keys(process.env))
      if (name.startsWith('TEMPORAL_')) vi.stubEnv(name, undefined);
    vi.stubEnv('TEMPORAL_CONFIG_FILE', join(folder, 'temporal.toml'));
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });

  it('connects with an API key, over TLS', () => {
    for (const line of block('ini').split('\n')) {
      const [, name, value] = /^(\w+)=(.+)$/.exec(line)!;
      vi.stubEnv(name!, value);
    }
    expect(temporalConfig()).toEqual({
      namespace: 'worktrack.a1b2c',
      connectionOptions: {
        address: 'eu-central-1.aws.api.temporal.io:7233',
        apiKey: 'put-the-key-here',
        tls: true,
        metadata: undefined,
      },
    });
  });

  it('connects with a client certificate from a profile, which variables override, and options override both', async () => {
    await writeFile(join(folder, 'client.pem'), 'certificate');
    await writeFile(join(folder, 'client.key'), 'key');
    await writeFile(join(folder, 'temporal.toml'), block('toml').replaceAll('/etc/worktrack/', `${folder}/`));
    const { namespace, connectionOptions } = temporalConfig();
    expect(namespace).toBe('worktrack.a1b2c');
    expect(connectionOptions.address).toBe('worktrack.a1b2c.tmprl.cloud:7233');
    const { clientCertPair } = connectionOptions.tls as {
      clientCertPair: { crt: Uint8Array; key: Uint8Array };
    };
    expect(Buffer.concat([clientCertPair.crt, clientCertPair.key]).toString()).toBe('certificatekey');

    vi.stubEnv('TEMPORAL_NAMESPACE', 'of-a-variable');
    expect(temporalConfig().namespace).toBe('of-a-variable');
    expect(temporalConfig({ namespace: 'of-an-option' }).namespace).toBe('of-an-option');
  });

  it('takes an empty variable for unset, and removes white space at the ends of others', () => {
    for (const name of ['API_KEY', 'NAMESPACE', 'ADDRESS', 'TLS', 'PROFILE', 'CONFIG_FILE'])
      vi.stubEnv(`TEMPORAL_${name}`, ' \n');
    expect(temporalConfig()).toMatchObject({
      namespace: 'default',
      connectionOptions: { address: 'localhost:7233' },
    });
    expect(temporalConfig().connectionOptions.tls ?? false).toBe(false);
    vi.stubEnv('TEMPORAL_NAMESPACE', 'acme\r\n');
    vi.stubEnv('TEMPORAL_ADDRESS', '\ttemporal:7233\n');
    expect(temporalConfig()).toMatchObject({
      namespace: 'acme',
      connectionOptions: { address: 'temporal:7233' },
    });
  });

  it.each([
    ['TEMPORAL_ADDRESS', '"temporal:7233"'],
    ['TEMPORAL_ADDRESS', "'temporal:7233'"],
    ['TEMPORAL_ADDRESS', 'http://temporal:7233'],
    ['TEMPORAL_ADDRESS', 'temporal:7233\nother'],
    ['TEMPORAL_ADDRESS', 'temporal:7233/'],
    ['TEMPORAL_ADDRESS', 'temporal 7233'],
    ['TEMPORAL_ADDRESS', 'temporal:port'],
    ['TEMPORAL_NAMESPACE', '"default"'],
  ])('is a configuration error that names %s if it is %j', (name, value) => {
    vi.stubEnv(name, value);
    expect(() => temporalConfig()).toThrow(ConfigurationError);
    expect(() => temporalConfig()).toThrow(name);
  });

  it.each(['temporal', 'temporal:7233', '10.0.0.1:7233', '[::1]:7233', 'a-b_c.example.com.:65535'])(
    'takes %s as an address',
    (address) => {
      expect(temporalConfig({ address }).connectionOptions.address).toBe(address);
      expect(() => temporalConfig({ address: `https://${address}` })).toThrow('--address');
    },
  );

  it('connects with a certificate from variables', async () => {
    const pem = new TextEncoder().encode('certificate');
    await writeFile(join(folder, 'client.pem'), pem);
    for (const name of ['CLIENT_CERT', 'CLIENT_KEY', 'SERVER_CA_CERT'])
      vi.stubEnv(`TEMPORAL_TLS_${name}_PATH`, join(folder, 'client.pem'));
    vi.stubEnv('TEMPORAL_TLS_SERVER_NAME', 'temporal.example.com');
    expect(temporalConfig().connectionOptions.tls).toMatchObject({
      serverNameOverride: 'temporal.example.com',
      clientCertPair: { crt: pem, key: pem },
      serverRootCACertificate: pem,
    });
  });
});
