import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createLargeEntries } from '../../support/large-records.js';
import { idOf } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';
import {
  ACCOUNT_LAKE,
  CREATING,
  DENIED,
  demandsAccount,
  type PolicyProxy,
  startPolicyProxy,
} from '../../support/s3-policy.js';
import { IS_LONG, longOnly } from '../../support/seeds.js';
import { type Stack, startStack } from '../../support/stack.js';
import { endLocks, fileIn, timeEntriesCsv } from '../../support/write-back.js';

describe('a bucket whose policy requires encryption, tags and a paying requester', () => {
  let proxy: PolicyProxy;
  let stack: Stack;

  beforeAll(async () => {
    proxy = await startPolicyProxy(inject('servers').s3Endpoint);
    stack = await startStack({
      s3Endpoint: proxy.url,
      lake: ACCOUNT_LAKE,
      simulator: { counts: { projects: 5, 'time-entries': 0 } },
      resources: '[projects, time-entries]',
      // Parts that are sent by multipart uploads, and several of them, so that unchanged ones are copied.
      yaml: '    csv: { compression: none, partSize: 9MiB }\n    tables: { format: delta }\n',
    });
    if (IS_LONG) createLargeEntries(stack.simulator);
    await stack.startWorker();
  });
  afterAll(async () => {
    if (stack !== undefined) await endLocks(stack);
    await stack?.stop();
    await proxy?.close();
  });

  const run = (...args: string[]) =>
    runCommand(stack, [...args, '--config', stack.configFile, '--task-queue', stack.taskQueue]);
  const command = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args);
    expect(code, `${args.join(' ')}: ${stderr}`).toBe(0);
    return stdout;
  };

  // In `npm test`, s3-policy.test.ts runs the same commands with such a bucket.
  longOnly('is used by every command with the settings of the account', async () => {
    proxy.demand(demandsAccount);
    await command('doctor');
    const first = JSON.parse(await command('export', '--json')) as {
      runs: { resource: string; runId: string }[];
    };
    const { admin } = stack.simulator;
    const [entry] = admin.records('time-entries', 'listed').map(idOf);
    admin.update('time-entries', entry!, { description: 'changed' });
    await command('export');
    await command('write-back', 'time-entries', await fileIn(stack, timeEntriesCsv(20)));
    const { runId } = first.runs.find(({ resource }) => resource === 'projects')!;
    await command('rollback', '--resource', 'projects', '--to', runId);
    await command('export', '--resource', 'projects');
    const [project] = admin.records('projects').map(idOf);
    await command('purge', '--resource', 'projects', '--key', project!);
    for (const reader of ['status', 'history', 'verify', 'report']) await command(reader);
    expect(proxy.denied).toEqual([]);
  });

  it('is named by doctor with the setting that is missing', async () => {
    proxy.demand((name, headers) =>
      CREATING.includes(name) && headers['x-amz-storage-class'] === undefined ? DENIED : null,
    );
    const { code, stdout } = await run('doctor');
    expect(code).toBe(2);
    expect(stdout).toMatch(/explicit\s+deny/);
    expect(stdout).toMatch(/lake\.encryption/);
  });
});
