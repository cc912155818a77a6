import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config/index.js';
import { sdkEndpoint } from '../../../src/config/sdk-endpoint.js';

const folder = mkdtempSync(join(tmpdir(), 'worktrack-endpoint-'));
afterAll(() => rmSync(folder, { recursive: true }));
const OWN = 'http://127.0.0.1:7070';

function profileFile(text: string): string {
  const file = join(folder, 'config');
  writeFileSync(file, text);
  return file;
}

describe('The endpoint of the AWS SDK', () => {
  it.each<[string, Record<string, string>, string | undefined, string, string | null]>([
    ['nothing is set', {}, undefined, '', null],
    [
      'the variable of S3',
      { AWS_ENDPOINT_URL_S3: OWN, AWS_ENDPOINT_URL: 'http://other' },
      undefined,
      '',
      OWN,
    ],
    ['the variable of all services', { AWS_ENDPOINT_URL: ` ${OWN}\n` }, undefined, '', OWN],
    ['an empty variable', { AWS_ENDPOINT_URL_S3: '', AWS_ENDPOINT_URL: OWN }, undefined, '', OWN],
    [
      'ignored variables',
      { AWS_ENDPOINT_URL_S3: OWN, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' },
      undefined,
      '',
      null,
    ],
    ['the default profile', {}, undefined, `[default]\nendpoint_url = ${OWN} # ours\n`, OWN],
    ['a profile of the lake', {}, 'store', `[profile store]\nendpoint_url=${OWN}\n`, OWN],
    [
      'a profile of the environment',
      { AWS_PROFILE: 'a' },
      undefined,
      `[profile "a"]\r\nendpoint_url = ${OWN}\r\n`,
      OWN,
    ],
    ['another profile', { AWS_PROFILE: 'b' }, undefined, `[profile a]\nendpoint_url = ${OWN}\n`, null],
    [
      'the services of a profile',
      {},
      'a',
      `[profile a]\nservices = local\nendpoint_url = http://other\n[services local]\nsqs =\n  endpoint_url = http://queue\ns3 =\n  endpoint_url = ${OWN}\n`,
      OWN,
    ],
    [
      'a profile that ignores it',
      {},
      'a',
      `[profile a]\nendpoint_url = ${OWN}\nignore_configured_endpoint_urls = true\n`,
      null,
    ],
  ])('is found: %s', (_, env, profile, file, expected) => {
    expect(sdkEndpoint(profile, { ...env, AWS_CONFIG_FILE: profileFile(file) })).toBe(expected);
  });

  it('is the endpoint of each lake in S3 that names none, and decides whether lakes overlap', () => {
    const file = join(folder, 'worktrack.yaml');
    const one = (name: string, lake: string) =>
      `  ${name}: { baseUrl: "https://tracker.example.com", apiKey: { env: KEY }, resources: [tasks], lake: ${lake} }\n`;
    const load = (text: string) => {
      writeFileSync(file, `connections:\n${text}`);
      return loadSettings({ file, cwd: folder, env: { AWS_ENDPOINT_URL_S3: OWN, AWS_CONFIG_FILE: '/none' } });
    };
    const { connections } = load(
      one('a', '{ url: "s3://lake/a" }') +
        one('b', '{ url: "s3://lake/b", endpoint: "http://127.0.0.1:9000" }') +
        one('c', '{ url: "file:///tmp/lake" }'),
    );
    expect(connections.map(({ lake }) => lake.endpoint)).toEqual([OWN, 'http://127.0.0.1:9000', undefined]);
    expect(() =>
      load(one('a', '{ url: "s3://lake/a" }') + one('b', `{ url: "s3://lake/a/b", endpoint: "${OWN}" }`)),
    ).toThrow(/is inside, or contains the lake of a/);
  });
});
