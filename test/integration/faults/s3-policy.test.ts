import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CreateMultipartUploadCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { s3ClientConfig } from '../../../src/servers/index.js';
import { createLargeEntries } from '../../support/large-records.js';
import { idOf } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';
import {
  ACCOUNT_LAKE,
  allows,
  demandsAccount,
  needsOf,
  type Policy,
  type PolicyProxy,
  startPolicyProxy,
} from '../../support/s3-policy.js';
import { drawn, IS_LONG } from '../../support/seeds.js';
import { sharedS3 } from '../../support/shared-s3.js';
import { type Stack, startStack } from '../../support/stack.js';
import { endLocks, fileIn, timeEntriesCsv } from '../../support/write-back.js';

const ASSETS = fileURLToPath(new URL('../../../src/assets', import.meta.url));
const READERS = ['status', 'history', 'verify', 'report', 'ddl --dialect duckdb', 'cat projects'];
/** For people who remove noncurrent versions of objects after a purge; no command needs them. */
const OF_VERSIONS = ['s3:DeleteObjectVersion', 's3:ListBucketVersions'];

type Role = 'writer' | 'reader' | 'purge';

/** A policy that the package ships, for the stack's own bucket and prefix. */
function policyFor(bucket: string, role: Role): Policy {
  const text = readFileSync(join(ASSETS, `s3-policy-${role}.json`), 'utf8');
  return JSON.parse(text.replaceAll('company-lake', bucket).replaceAll('worktrack/', 'lake/')) as Policy;
}

function actionsOf({ Statement }: Policy): string[] {
  return Statement.flatMap(({ Action }) => Action);
}

/** The same statements without one action. */
function without({ Statement }: Policy, gone: string): Policy {
  return {
    Statement: Statement.map((one) => ({
      ...one,
      Action: [one.Action].flat().filter((action) => action !== gone),
    })),
  };
}

const WRITING = ['doctor', 'export', 'export --full', 'rollback', 'purge', 'write-back'];
const ALL = [...WRITING, ...READERS];
const NEEDED_TO_READ = ALL.filter((name) => !/^status/.test(name));

/** The commands that fail without a permission, and what the others say about it. */
const WITHOUT: Readonly<
  Record<string, { readonly fail: readonly string[]; readonly warn: readonly string[] }>
> = {
  's3:GetObject': { fail: NEEDED_TO_READ, warn: [] },
  's3:PutObject': {
    fail: ['doctor', 'export', 'export --full', 'rollback', 'purge', 'write-back'],
    warn: [],
  },
  's3:ListBucket': { fail: [...WRITING, 'verify', 'ddl --dialect duckdb'], warn: [] },
  's3:DeleteObject': { fail: ['purge'], warn: ['doctor', 'export', 'export --full'] },
  's3:AbortMultipartUpload': { fail: [], warn: ['doctor'] },
  's3:ListBucketMultipartUploads': { fail: ['purge'], warn: ['doctor'] },
};

describe('the policies for S3', { shuffle: false }, () => {
  let proxy: PolicyProxy;
  let stack: Stack;
  let runIds: string[];

  beforeAll(async () => {
    proxy = await startPolicyProxy(inject('servers').s3Endpoint);
    proxy.demand(demandsAccount);
    stack = await startStack({
      s3Endpoint: proxy.url,
      // Each command also has to send the settings of the account. The rights to set a tag and to use a key are not looked at.
      lake: ACCOUNT_LAKE,
      simulator: { counts: { projects: 5, 'time-entries': 0 } },
      resources: '[projects, time-entries]',
      // Parts that are sent by multipart uploads, and several of them, so that unchanged ones are copied.
      yaml: '    csv: { compression: none, partSize: 9MiB }\n    tables: { format: delta }\n',
    });
    createLargeEntries(stack.simulator);
    await stack.startWorker();
  });
  afterAll(async () => {
    if (stack !== undefined) await endLocks(stack);
    await stack?.stop();
    await proxy?.close();
  });

  const tryCommand = (...args: string[]) =>
    runCommand(stack, [...args, '--config', stack.configFile, '--task-queue', stack.taskQueue]);
  const command = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await tryCommand(...args);
    expect(code, `${args.join(' ')}: ${stderr}`).toBe(0);
    return stdout;
  };
  const change = () => {
    const { admin } = stack.simulator;
    for (const resource of ['projects', 'time-entries'] as const)
      admin.update(resource, idOf(admin.records(resource, 'listed')[0]!), {
        description: `changed ${Math.random()}`,
      });
  };
  const argsOf = async (name: string, gone: string): Promise<string[]> => {
    switch (name) {
      case 'export':
      case 'export --full':
        // A small resource reads as a large one does. It lists, uploads and removes less.
        return [...name.split(' '), ...(gone === 's3:GetObject' ? ['--resource', 'projects'] : [])];
      case 'rollback':
        return ['rollback', '--resource', 'projects', '--to', runIds.at(-1)!];
      case 'purge':
        return ['purge', '--resource', 'projects', '--key', '01KM0000000000000000000000'];
      case 'write-back':
        return [
          'write-back',
          'time-entries',
          await fileIn(stack, timeEntriesCsv(20, Math.floor(Math.random() * 1e6))),
        ];
      default:
        return name.split(' ');
    }
  };

  it('the policy of a reader reports an empty lake as empty, and not as access denied', async () => {
    const policy = policyFor(stack.bucket, 'reader');
    proxy.enforce(policy);
    await command('status');
    expect([...proxy.used].sort()).toEqual(actionsOf(policy).sort());
  });

  it('the policy of a writer allows everything that runs and commands need, and nothing else', async () => {
    const policy = policyFor(stack.bucket, 'writer');
    proxy.enforce(policy);
    await command('doctor');
    const first = JSON.parse(await command('export', '--json')) as Exported;
    await leaveUploadUnfinished(stack);
    change();
    await command('export', '--resource', 'time-entries');
    await command('backfill', '--resource', 'projects', '--reconcile');
    await command('write-back', 'time-entries', await fileIn(stack, timeEntriesCsv(20)));
    const { runId } = first.runs.find(({ resource }) => resource === 'projects')!;
    runIds = [runId];
    await command('rollback', '--resource', 'projects', '--to', runId);
    await command('export', '--resource', 'projects');
    for (const reader of READERS) await command(...reader.split(' '));

    // HeadBucket is denied and not needed: a missing object is still a 404.
    expect(proxy.denied.filter((what) => !/^s3:ListBucket HEAD \/[^/]+\/?$/.test(what))).toEqual([]);
    expect([...proxy.used].sort()).toEqual(actionsOf(policy).sort());
  });

  it('the policy of a purge allows a purge, and the removal of old versions', async () => {
    const policy = policyFor(stack.bucket, 'purge');
    proxy.enforce(policy);
    const [project] = stack.simulator.admin.records('projects').map(idOf);
    await command('purge', '--resource', 'projects', '--key', project!);
    expect(proxy.denied.filter((what) => !/^s3:ListBucket HEAD /.test(what))).toEqual([]);
    const unused = actionsOf(policy).filter((action) => !proxy.used.has(action));
    // There is no unfinished upload now.
    expect(unused.sort()).toEqual(['s3:AbortMultipartUpload', ...OF_VERSIONS]);
  });

  it('the policy of a reader allows the commands that only read', async () => {
    proxy.enforce(policyFor(stack.bucket, 'reader'));
    for (const reader of READERS) await command(...reader.split(' '));
    expect(proxy.denied).toEqual([]);
  });

  // In `npm test`, what a store that denies deletes means to a run is in store-refusals.test.ts, and what an unfinished upload
  // needs is in the policies of a writer and of a purge above.
  const inShort = ['s3:GetObject', 's3:PutObject', 's3:ListBucket'];
  const missing = Object.entries(WITHOUT).filter(([gone]) => IS_LONG || inShort.includes(gone));
  it.each(drawn(missing, 1))(
    'without %s, each command works, or its message names the permission',
    async (gone, { fail, warn }) => {
      const policy = policyFor(stack.bucket, 'writer');
      const failed: string[] = [];
      const warned: string[] = [];
      // The test before shows that readers need only what their own policy allows.
      const needsIt = actionsOf(policyFor(stack.bucket, 'reader')).includes(gone);
      const tryOne = async (name: string): Promise<void> => {
        const { code, stdout, stderr } = await tryCommand(...(await argsOf(name, gone)));
        const said = (stdout + stderr).replace(/\s+/g, ' ');
        if (code !== 0) failed.push(name);
        if (code !== 0) expect(said, `${name} without ${gone}`).toContain(gone);
        else if (said.includes(gone)) warned.push(name);
      };
      for (const name of WRITING) {
        change();
        proxy.enforce(without(policy, gone));
        await tryOne(name);
        proxy.enforce(policy);
      }
      proxy.enforce(without(policy, gone));
      if (needsIt) for (const reader of READERS) await tryOne(reader);
      expect(failed.sort()).toEqual([...fail].sort());
      // `status` and the report repeat the warnings and errors of runs.
      expect(warned).toEqual(expect.arrayContaining([...warn]));
      // Nothing is left behind that the whole policy does not repair.
      proxy.enforce(policy);
      const { runs } = JSON.parse(await command('export', '--json')) as Exported;
      runIds.push(runs.find(({ resource }) => resource === 'projects')!.runId);
      await command('verify');
    },
  );

  it('are evaluated in this test as S3 does', () => {
    const policy = policyFor(stack.bucket, 'writer');
    const asked = (method: string, url: string) =>
      needsOf(method, url, {}, Buffer.alloc(0)).every((need) => allows(policy, need));
    expect(asked('GET', `/${stack.bucket}/lake/projects/latest.json`)).toBe(true);
    expect(asked('GET', `/${stack.bucket}/lakes/projects/latest.json`)).toBe(false);
    expect(asked('GET', `/${stack.bucket}/?list-type=2&prefix=lake%2Fprojects%2F`)).toBe(true);
    expect(asked('GET', `/${stack.bucket}/?list-type=2&prefix=other%2F`)).toBe(false);
    expect(asked('GET', `/${stack.bucket}/?list-type=2`)).toBe(false);
    expect(() => asked('PUT', `/${stack.bucket}/lake/a?acl`)).toThrow('no permission is known');
  });
});

interface Exported {
  readonly runs: readonly { readonly resource: string; readonly runId: string }[];
}

/** Starts an upload like a worker that is killed in the middle of it. */
async function leaveUploadUnfinished({ bucket }: Stack): Promise<void> {
  const client = new S3Client(s3ClientConfig(sharedS3()));
  await client.send(
    new CreateMultipartUploadCommand({ Bucket: bucket, Key: 'lake/time-entries/snapshots/left' }),
  );
  client.destroy();
}
