import { CreateMultipartUploadCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { s3ClientConfig } from '../../../src/servers/index.js';
import { codeBlocks, pageAt } from '../../support/docs.js';
import { idOf } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';
import { allows, needsOf, type Policy, type PolicyProxy, startPolicyProxy } from '../../support/s3-policy.js';
import { sharedS3 } from '../../support/shared-s3.js';
import { type Stack, startStack } from '../../support/stack.js';
import { endLocks, fileIn, timeEntriesCsv } from '../../support/write-back.js';

const READING = ['s3:GetObject', 's3:ListBucket'];
const READERS = ['status', 'history', 'verify', 'report', 'ddl', 'cat projects'];

/** The policy of docs/how-to/aws.md, for the stack's own bucket and prefix. */
function policyFor(bucket: string): Policy {
  const block = codeBlocks([pageAt('docs/how-to/aws.md')]).find(({ language }) => language === 'json');
  return JSON.parse(
    block!.text.replaceAll('company-lake', bucket).replaceAll('worktrack/', 'lake/'),
  ) as Policy;
}

function actionsOf({ Statement }: Policy): string[] {
  return Statement.flatMap(({ Action }) => Action);
}

/** The same statements with only some of the actions. */
function only({ Statement }: Policy, actions: readonly string[]): Policy {
  return {
    Statement: Statement.map((one) => ({
      ...one,
      Action: [one.Action].flat().filter((action) => actions.includes(action)),
    })),
  };
}

describe('the IAM policy of the documentation', () => {
  let proxy: PolicyProxy;
  let stack: Stack;
  let policy: Policy;

  beforeAll(async () => {
    proxy = await startPolicyProxy(inject('servers').s3Endpoint);
    stack = await startStack({
      s3Endpoint: proxy.url,
      simulator: { counts: { projects: 5, 'time-entries': 30_000 } },
      resources: '[projects, time-entries]',
      // Parts that are sent by multipart uploads, and several of them, so that unchanged ones are copied.
      yaml: '    csv: { compression: none, partSize: 9MiB }\n',
    });
    policy = policyFor(stack.bucket);
    await stack.startWorker();
  });
  afterAll(async () => {
    if (stack !== undefined) await endLocks(stack);
    await stack?.stop();
    await proxy?.close();
  });

  const command = async (...args: string[]): Promise<string> => {
    const all = [...args, '--config', stack.configFile, '--task-queue', stack.taskQueue];
    const { code, stdout, stderr } = await runCommand(stack, all);
    expect(code, `${args.join(' ')}: ${stderr}`).toBe(0);
    return stdout;
  };

  it('reports an empty lake to readers as empty, and not as access denied', async () => {
    proxy.enforce(only(policy, READING));
    await command('status');
    expect(proxy.used).toEqual(new Set(READING));
  });

  it('allows everything that runs and commands need, and nothing else', async () => {
    proxy.enforce(policy);
    await command('doctor');
    const first = JSON.parse(await command('export', '--json')) as Exported;
    await leaveUploadUnfinished(stack);
    const { admin } = stack.simulator;
    const [entry] = admin.records('time-entries', 'listed').map(idOf);
    admin.update('time-entries', entry!, { description: 'changed' });
    await command('export');
    await command('backfill', '--resource', 'projects', '--reconcile');
    await command('write-back', 'time-entries', await fileIn(stack, timeEntriesCsv(20)));
    const { runId } = first.runs.find(({ resource }) => resource === 'projects')!;
    await command('rollback', '--resource', 'projects', '--to', runId);
    await command('export', '--resource', 'projects');
    const [project] = admin.records('projects').map(idOf);
    await command('purge', '--resource', 'projects', '--key', project!);
    for (const reader of READERS) await command(...reader.split(' '));

    // HeadBucket is denied and not needed: a missing object is still a 404.
    expect(proxy.denied.filter((what) => !/^s3:ListBucket HEAD \/[^/]+\/?$/.test(what))).toEqual([]);
    expect([...proxy.used].sort()).toEqual(actionsOf(policy).sort());
  });

  it('allows the commands that only read with its read actions alone', async () => {
    proxy.enforce(only(policy, READING));
    for (const reader of READERS) await command(...reader.split(' '));
    expect(proxy.denied).toEqual([]);
    expect(READING).toEqual(expect.arrayContaining([...proxy.used]));
  });

  it('names the missing action in the message of a denied request', async () => {
    const args = ['cat', 'projects', '--config', stack.configFile, '--task-queue', stack.taskQueue];
    proxy.enforce(only(policy, []));
    const { code, stderr } = await runCommand(stack, args);
    expect(code).toBe(2);
    expect(stderr).toContain('access is denied');
    for (const action of actionsOf(policy)) expect(stderr).toContain(action);
  });

  it('is evaluated in this test as S3 does', () => {
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
