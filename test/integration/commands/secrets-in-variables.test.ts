import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../support/processes.js';

const MARK = 'Q7zMarkedSecretOfCommands';

/** Each command with a variable and a damage, so that each two of these meet at least once in the long suite. */
const COMMANDS = [
  ['doctor'],
  ['doctor', '--json'],
  ['export'],
  ['export', '--json'],
  ['schedule', 'describe'],
  ['status', '--json'],
  ['webhook', '--log-format', 'json'],
  ['worker', '--log-format', 'json'],
  ['history'],
  ['backfill', '--resource', 'tasks'],
] as const;
const VARIABLES = {
  TEMPORAL_API_KEY: (value: string) => value,
  profile: (value: string) => value,
  KEY: (value: string) => value,
  AWS_SECRET_ACCESS_KEY: (value: string) => value,
  AWS_SESSION_TOKEN: (value: string) => value,
  WORKTRACK_WEBHOOK_SECRET: (value: string) => value,
  HTTPS_PROXY: (value: string) => `http://user:${encodeURIComponent(value)}@127.0.0.1:1`,
} as const;
const DAMAGES = {
  'a line break at its end': `${MARK}\n`,
  'a blank inside': `${MARK} ${MARK}`,
  'a line break inside': `${MARK}\n${MARK}x`,
  'a label': `Bearer ${MARK}`,
  'a character outside ASCII': `${MARK}\u2026`,
  'no damage': MARK,
} as const;

type Case = readonly [command: string, variable: keyof typeof VARIABLES, damage: keyof typeof DAMAGES];

/** Every `step`-th combination, so that all commands, variables and damages are among ten. */
function casesOf(count: number): Case[] {
  const [variables, damages] = [Object.keys(VARIABLES), Object.keys(DAMAGES)];
  return Array.from({ length: count }, (_, at) => {
    const turn = Math.floor(at / COMMANDS.length);
    return [
      COMMANDS[at % COMMANDS.length]!.join(' '),
      variables[(at + turn) % variables.length] as Case[1],
      damages[(at + 2 * turn) % damages.length] as Case[2],
    ];
  });
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-secrets-'));
  await writeFile(
    join(folder, 'worktrack.yaml'),
    `connections:
  acme:
    baseUrl: http://127.0.0.1:1
    apiKey: { env: KEY }
    lake: { url: "s3://lake", endpoint: "http://127.0.0.1:1", region: eu-central-1 }
    resources: [tasks]
    webhook: { listen: "127.0.0.1:0" }
`,
  );
});
afterAll(() => rm(folder, { recursive: true }));

describe('a secret in a variable', () => {
  // Side by side: most commands wait until they give up.
  it.concurrent.each(casesOf(process.env.WORKTRACK_LONG ? 60 : 10))(
    '%s shows nothing of %s with %s',
    async (command, variable, damage) => {
      const value = VARIABLES[variable](DAMAGES[damage]);
      const own = await mkdtemp(join(folder, 'case-'));
      const profile = join(own, 'temporal.toml');
      await writeFile(
        profile,
        `[profile.default]\napi_key = ${JSON.stringify(variable === 'profile' ? value : 'x'.repeat(9))}\n`,
      );
      const env = {
        ...{ HOME: own, TEMPORAL_ADDRESS: '127.0.0.1:1', WORKTRACK_REACH_TIMEOUT: '2s' },
        ...{ KEY: 'ordinary-key-1', WORKTRACK_WEBHOOK_SECRET: 'ordinary-secret-1' },
        ...{
          AWS_ACCESS_KEY_ID: 'a',
          AWS_SECRET_ACCESS_KEY: 'ordinary-secret-2',
          AWS_EC2_METADATA_DISABLED: 'true',
        },
        ...(variable === 'profile' ? { TEMPORAL_CONFIG_FILE: profile } : { [variable]: value }),
      };
      const args = [...command.split(' '), '--config', join(folder, 'worktrack.yaml')];
      const { stdout, stderr, code } = await runCommand({ env: process.env, folder: own }, args, env);
      const files = await Promise.all(
        (await readdir(own, { recursive: true, withFileTypes: true }))
          .filter((entry) => entry.isFile() && entry.name !== 'temporal.toml')
          .map((entry) => readFile(join(entry.parentPath, entry.name), 'utf8')),
      );
      const written = [stdout, stderr, ...files].join('\n');
      expect(code).not.toBe(0);
      expect(stdout + stderr).not.toBe('');
      expect(written.toLowerCase()).not.toContain(MARK.toLowerCase());
      expect(written).not.toContain(Buffer.from(MARK).toString('base64').slice(0, 30));
    },
  );
});
