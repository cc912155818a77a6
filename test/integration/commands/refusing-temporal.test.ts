import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAuthority } from '../../support/certificates.js';
import { startCommand } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import { type Stack, startStack } from '../../support/stack.js';
import { type Refusal, startTemporalGate, type TemporalGate } from '../../support/temporal-gate.js';

const DOWN: Refusal = { status: 14, message: 'store operation failed' };
const LIMITED: Refusal = { status: 8, message: 'namespace rate limit exceeded' };
const DENIED: Refusal = { status: 7, message: 'Request unauthorized.' };

/** A frontend that accepts connections, although what is behind it serves no calls. */
describe('commands with a Temporal that answers but refuses calls', () => {
  let stack: Stack;
  let gate: TemporalGate;
  /** Called with the method, such as `DescribeNamespace`. */
  let refuse: (method: string) => Refusal | null;
  const called: string[] = [];
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    stack = await startStack({ resources: '[tasks]', simulator: { counts: { tasks: 2 } } });
    const worker = await stack.startWorker();
    expect(await stack.export()).toMatchObject({ outcome: 'published' });
    await worker.stop();
    const authority = createAuthority('servers');
    gate = await startTemporalGate({
      target: stack.servers.temporalAddress,
      certificate: authority.issue('gate'),
      refuse(path) {
        const method = path.slice(path.lastIndexOf('/') + 1);
        called.push(method);
        // All that a connection needs, and what a frontend knows without a database.
        return method === 'GetSystemInfo' ? null : refuse(method);
      },
    });
    const ca = join(stack.folder, 'ca.pem');
    await writeFile(ca, authority.crt);
    env = {
      ...{ TEMPORAL_ADDRESS: gate.address, TEMPORAL_TLS_SERVER_CA_CERT_PATH: ca },
      WORKTRACK_REACH_TIMEOUT: '2s',
      // The gate's address is no name.
      NODE_OPTIONS: '--no-deprecation',
    };
  });
  beforeEach(() => {
    called.length = 0;
  });
  afterAll(async () => {
    await gate?.close();
    await stack?.stop();
  });

  /** In a separate process, because a call that a command gives up would be repeated in the next one. */
  async function run(args: string, more: NodeJS.ProcessEnv = {}) {
    const target = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const command = startCommand(stack, [...args.split(' '), ...target], { ...env, ...more });
    const code = await command.exited;
    return { code, ...(await command.output()) };
  }

  it('show the lake and say why, and --check ends with 4', async () => {
    refuse = () => DOWN;
    const note = `Temporal at ${gate.address} is unreachable: store operation failed.`;
    const status = await run('status --check');
    expect(status).toMatchObject({ code: 4, stderr: `${note} Showing latest.json.\n` });
    expect(status.stdout).toMatch(/^tasks +2 /m);
    const history = await run('history');
    expect(history).toMatchObject({ code: 0, stderr: `${note} Showing published runs only.\n` });
    refuse = () => LIMITED;
    const limited = await run('status --check');
    expect(limited.code).toBe(4);
    expect(limited.stderr).toContain('it limits requests: namespace rate limit exceeded (DescribeNamespace)');
  });

  it('end with 2 if it has no such namespace, or does not let the user read it', async () => {
    refuse = () => null;
    for (const command of ['status --check', 'history', 'report']) {
      const { code, stderr } = await run(`${command} --namespace typo`);
      expect([code, stderr]).toEqual([2, expect.stringContaining('has no namespace "typo"')]);
    }
    refuse = () => DENIED;
    const { code, stderr } = await run('status --check');
    expect(code).toBe(2);
    expect(stderr).toContain('Request unauthorized. (DescribeNamespace)');
  });

  it.each(['DescribeSchedule', 'DescribeWorkflowExecution', 'ListWorkflowExecutions'])(
    'say that runs may be missing if only %s fails, and --check ends with 4',
    async (refused) => {
      refuse = (method) => (method === refused ? DOWN : null);
      // The time limit of the lake includes the calls to Temporal, which have 4 s each.
      const { code, stdout, stderr } = await run('status --check', { WORKTRACK_REACH_TIMEOUT: '30s' });
      expect(stdout).toMatch(/^tasks +2 /m);
      expect([code, stderr]).toEqual([
        4,
        `Temporal at ${gate.address} did not answer every request: store operation failed. Failed and running runs may be missing.\n`,
      ]);
    },
  );

  it('end with 2 if only one right is missing', async () => {
    refuse = (method) => (method === 'DescribeSchedule' ? DENIED : null);
    const { code, stdout, stderr } = await run('status --check');
    expect(stdout).toMatch(/^tasks +2 /m);
    expect([code, stderr]).toEqual([
      2,
      `Temporal at ${gate.address} rejected a request: Request unauthorized. (DescribeSchedule). Failed and running runs may be missing.\n`,
    ]);
  });

  it('need one request more than before, and find nothing amiss without a worker', async () => {
    refuse = () => null;
    expect(await run('status --check')).toMatchObject({ code: 0, stderr: '' });
    expect(called.filter((method) => method === 'DescribeNamespace')).toHaveLength(1);
  });

  const COMMANDS = [
    ...['schedule apply', 'schedule describe', 'schedule pause', 'schedule trigger', 'schedule delete'],
    ...['unpin', 'replay --from-server'],
  ];
  // Each is a process.
  it.each(drawn(COMMANDS, 3))('end with 4, the reason and what to do: %s', async (command) => {
    refuse = () => (command === 'schedule describe' ? LIMITED : DOWN);
    // The calls of `unpin` have 4 s each.
    const limit = command === 'unpin' ? '6s' : '2s';
    const { code, stderr } = await run(command, { WORKTRACK_REACH_TIMEOUT: limit });
    const [reason, remedy] =
      command === 'schedule describe'
        ? [
            /it limits requests: namespace rate limit exceeded \(DescribeSchedule\)/,
            /Wait, or raise the limit/,
          ]
        : [/store operation failed/, /Check that it is running/];
    expect(stderr).toMatch(/has been unreachable for \d s: /);
    expect(stderr).toMatch(reason);
    expect(stderr).toMatch(remedy);
    expect([code, stderr.includes('Unexpected error')]).toEqual([4, false]);
  });

  it('name the cause for each of several connections', async () => {
    refuse = () => DENIED;
    for (const command of ['export --no-wait', 'replay --from-server', 'schedule pause']) {
      const { code, stdout, stderr } = await run(`${command} --all`);
      expect([code, stdout + stderr]).toEqual([2, expect.stringContaining('Request unauthorized.')]);
      expect(stdout + stderr).not.toContain('Unexpected error');
    }
  });

  it('continue as soon as it answers', async () => {
    let refusals = 0;
    refuse = (method) => (method === 'CreateSchedule' && refusals++ < 3 ? DOWN : null);
    const applied = await run('schedule apply');
    expect([applied.code, refusals]).toEqual([0, 4]);
    expect((await run('schedule delete')).code).toBe(0);
  });
});
