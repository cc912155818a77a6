import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { runCommand } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import { type Stack, startStack } from '../../support/stack.js';

interface Mistake {
  readonly of: string;
  readonly args: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Changes the configuration. */
  readonly config?: (yaml: string) => string;
  readonly code: 1 | 2 | 3 | 4;
  /** What happened and where. */
  readonly says: RegExp;
  /** What to do next. */
  readonly remedy: RegExp;
}

const HELP = /Add --help to the command to see its options\.$/;
const CHECK = /Check that it is running and that its address is correct/;
const NOBODY = '127.0.0.1:9';
/** Leaves the configuration unchanged. */
const SAME = (yaml: string): string => yaml;

const USAGE: readonly Mistake[] = [
  {
    of: 'an unknown command',
    args: 'exprot',
    code: 2,
    says: /unknown command 'exprot'/,
    remedy: /Did you mean export\?/,
  },
  { of: 'an unknown option', args: 'export --ful', code: 2, says: /unknown option '--ful'/, remedy: HELP },
  {
    of: 'a missing option',
    args: 'rollback',
    code: 2,
    says: /'--resource <name>' not specified/,
    remedy: HELP,
  },
  {
    of: 'a missing argument',
    args: 'cat',
    code: 2,
    says: /missing required argument 'resource'/,
    remedy: HELP,
  },
  {
    of: 'a value that is not among the allowed',
    args: 'ddl --dialect oracle',
    code: 2,
    says: /Allowed choices are duckdb/,
    remedy: HELP,
  },
  {
    of: 'an invalid number',
    args: 'history --limit many',
    code: 2,
    says: /--limit must be a whole number.*"many"/,
    remedy: HELP,
  },
  {
    of: 'an invalid day',
    args: 'cat projects --dt 2026-02-30',
    code: 2,
    says: /--dt must be a day such as 2026-11-21/,
    remedy: HELP,
  },
  {
    of: 'an invalid time',
    args: 'backfill --since yesterday',
    code: 2,
    says: /--since "yesterday" is not a time/,
    remedy: /Write a date such as 2026-08-01/,
  },
  {
    of: 'an invalid run id',
    args: 'rollback --resource projects --to last',
    code: 2,
    says: /--to must be a run id such as/,
    remedy: HELP,
  },
  {
    of: 'options that exclude each other',
    args: 'backfill --since 2026-11-01 --reconcile',
    code: 2,
    says: /--since and reconcile exclude each other/,
    remedy: /Leave one of them out\.$/,
  },
  {
    of: 'missing options without a terminal',
    args: 'init --out new.yaml',
    code: 2,
    says: /--base-url and --lake are missing/,
    remedy: /pass the values as options/,
  },
  {
    of: 'no histories',
    args: 'replay',
    code: 2,
    says: /name history files, or use --from-server/,
    remedy: HELP,
  },
  {
    of: 'an unknown resource',
    args: 'export --resource project',
    code: 2,
    says: /no resource "project"; it has projects, tasks\..*Did you mean "?projects/,
    remedy: /Choose one of these, or add the resource/,
  },
  {
    of: 'an unknown resource to verify',
    args: 'verify --resource project',
    code: 2,
    says: /no resource "project"/,
    remedy: /Choose one of these, or add the resource/,
  },
  {
    of: 'an unknown connection',
    args: 'status --connection nobody',
    code: 2,
    says: /has no connection "nobody"; it has/,
    remedy: /Choose one of these with --connection/,
  },
  {
    of: 'a data converter that is not there',
    args: 'status --data-converter none.mjs',
    code: 2,
    says: /none\.mjs, which --data-converter names, cannot be loaded/,
    remedy: HELP,
  },
];

const CONFIGURATION: readonly Mistake[] = [
  {
    of: 'a file that is not there',
    args: 'status --config none.yaml',
    code: 2,
    says: /none\.yaml does not exist \(from --config\)/,
    remedy: /main\.js init/,
  },
  {
    of: 'a folder in place of the file',
    args: 'status --config folder',
    code: 2,
    says: /cannot read folder.*it is a folder/,
    remedy: /Make sure that it is a file/,
  },
  {
    of: 'a key that does not exist',
    args: 'config check',
    config: (yaml) => yaml.replace('resources:', 'resourses:'),
    code: 2,
    says: /resourses \(line \d+:\d+\)/,
    remedy: /Did you mean "?resources|Correct .*yaml/,
  },
  {
    of: 'a value that is wrong',
    args: 'export',
    config: (yaml) => yaml.replace('s3://', 'ftp://'),
    code: 2,
    says: /lake\.url \(line \d+:\d+\): found/,
    remedy: /allowed: s3:\/\/bucket/,
  },
  {
    of: 'a key in the file itself',
    args: 'export',
    config: (yaml) => yaml.replace('{ env: WORKTRACK_API_KEY }', DEMO_KEY),
    code: 2,
    says: /found a secret in the file itself \(not repeated here\)/,
    remedy: /put it into an environment variable or a file/,
  },
  {
    of: 'a lake in a bucket that is not there',
    args: 'verify',
    config: (yaml) => yaml.replace(/s3:\/\/[\w-]+\//, 's3://no-bucket-of-ours/'),
    code: 2,
    says: /there is no such bucket/,
    remedy: /Create it at .*, or correct lake\.url\./,
  },
  {
    of: 'S3 credentials that are wrong',
    args: 'cat projects',
    env: { AWS_SECRET_ACCESS_KEY: 'wrong' },
    code: 2,
    says: /the credentials are not accepted/,
    remedy: /Check AWS_ACCESS_KEY_ID/,
  },
  {
    of: 'a namespace that is not there',
    args: 'schedule describe --namespace nowhere',
    code: 2,
    says: /has no namespace "nowhere"/,
    remedy: /Correct TEMPORAL_NAMESPACE or --namespace/,
  },
  {
    of: 'a Temporal profile that is not there',
    args: 'schedule describe',
    env: { TEMPORAL_PROFILE: 'nobody' },
    code: 2,
    says: /Temporal's configuration cannot be read/,
    remedy: /Correct the TEMPORAL_\* variables/,
  },
  {
    of: 'a Schedule that is not there',
    args: 'schedule pause',
    code: 2,
    says: /There is no schedule yet/,
    remedy: /create it with `node \S+main\.js schedule apply --task-queue \S+`$/,
  },
  {
    of: 'a cron expression with an hour that does not exist',
    args: 'config check',
    config: (yaml) => `${yaml}    schedule: { cron: "0 25 * * *" }\n`,
    code: 2,
    says: /schedule\.cron \(line \d+:\d+\): "0 25 \* \* \*" has hour "25": out of range/,
    remedy: /allowed: 0 to 23/,
  },
  {
    of: 'a cron expression that Temporal rejects',
    args: 'schedule apply',
    config: (yaml) => `${yaml}    schedule: { cron: "@every soon" }\n`,
    code: 2,
    says: /Temporal rejects connections\.[\w-]+\.schedule \(cron "@every soon", timezone UTC\): /,
    remedy: /Correct connections\.[\w-]+\.schedule in the configuration\.$/,
  },
  {
    of: 'a schedule that only Temporal can check, without one to apply',
    args: 'config check',
    config: (yaml) => `${yaml}    schedule: { cron: "@every soon" }\n`,
    code: 2,
    says: /Temporal rejects connections\.[\w-]+\.schedule \(cron "@every soon", timezone UTC\): /,
    remedy: /Correct connections\.[\w-]+\.schedule in the configuration\.$/,
  },
  {
    of: 'an export that is not there',
    args: 'export --follow worktrack/none',
    code: 2,
    says: /There is no export "worktrack\/none" in the namespace "default"/,
    remedy: /Correct --follow\./,
  },
  {
    of: 'a resource without a snapshot',
    args: 'cat projects',
    code: 2,
    says: /projects/,
    remedy: /main\.js export/,
  },
];

/** Servers that do not answer are given up soon. */
const IMPATIENT = { WORKTRACK_REACH_TIMEOUT: '2s' };

const SERVERS: readonly Mistake[] = [
  {
    of: 'Temporal that a command cannot reach',
    args: `export --address ${NOBODY}`,
    env: IMPATIENT,
    code: 4,
    says: /Temporal at 127\.0\.0\.1:9 has been unreachable for 2 s/,
    remedy: CHECK,
  },
  {
    of: 'Temporal that a worker cannot reach',
    args: `worker --address ${NOBODY}`,
    env: IMPATIENT,
    code: 4,
    says: /Temporal at 127\.0\.0\.1:9 has been unreachable/,
    remedy: CHECK,
  },
  ...['cat projects', 'verify', 'ddl', 'status', 'history'].map(
    (args): Mistake => ({
      of: `a lake that ${args} cannot reach`,
      args,
      env: IMPATIENT,
      config: (yaml) => yaml.replace(/endpoint: "[^"]+"/, `endpoint: "http://${NOBODY}"`),
      code: 4,
      says: /The lake s3:\/\/\S+ has been unreachable for 2 s/,
      remedy: CHECK,
    }),
  ),
];

const SERVICE: readonly Mistake[] = [
  {
    of: 'a key that the service refuses',
    args: 'export --resource projects',
    code: 3,
    says: /refused: projects.*answered 401/,
    remedy: /check apiKey in the configuration and the key in the application/,
  },
];

describe('an error of the user has a message with what, where and what next, without a stack trace:', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ s3: true, resources: '[projects, tasks]', apiKey: 'wt_nobody_knows_it' });
    await mkdir(join(stack.folder, 'folder'));
  });
  afterAll(() => stack?.stop());

  async function make({ args, env = {}, config = SAME, code, says, remedy }: Mistake): Promise<void> {
    const file = join(stack.folder, 'worktrack.yaml');
    const yaml = await readFile(file, 'utf8');
    const words = args.split(' ');
    const target = ['--task-queue', stack.taskQueue];
    try {
      await writeFile(file, config(yaml));
      const result = await runCommand(stack, [...words, ...target], env);
      const { stderr } = result;
      expect(stderr).toMatch(says);
      expect(stderr.trimEnd()).toMatch(remedy);
      expect(result.code).toBe(code);
      expect(stderr + result.stdout).not.toMatch(/\n\s+at .*:\d+|Unexpected error/);
      expect(stderr + result.stdout).not.toContain(DEMO_KEY);
      expect(stderr + result.stdout).not.toContain('wt_nobody_knows_it');
    } finally {
      await writeFile(file, yaml);
    }
  }

  const ofLakes = SERVERS.filter(({ of }) => of.startsWith('a lake'));
  const servers = drawn(SERVERS, 2, (mistake) => !ofLakes.includes(mistake));
  for (const mistake of [...USAGE, ...CONFIGURATION, ...servers]) it(mistake.of, () => make(mistake));

  it('a request that the service refuses', async () => {
    const worker = await stack.startWorker();
    for (const mistake of SERVICE) await make(mistake);
    await worker.stop();
  });
});
