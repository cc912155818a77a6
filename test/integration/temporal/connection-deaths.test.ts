import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Connection, WorkflowFailedError } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTemporalDevServer } from '../../../src/servers/index.js';
import { connectTemporal, type TemporalClient } from '../../../src/temporal/client/connect.js';
import { type Authority, type Certificate, createAuthority } from '../../support/certificates.js';
import { freePort } from '../../support/ports.js';
import { type CommandProcess, startCommand } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';
import { startTemporalGate } from '../../support/temporal-gate.js';

/** A way for a worker's connection to die. */
interface Death {
  /** Variables and options of the worker. */
  readonly env: NodeJS.ProcessEnv;
  readonly args?: readonly string[];
  /** Kills the connection, or makes Temporal reject the worker. */
  kill(): void | Promise<void>;
  /** What the log must say. */
  readonly cause: RegExp;
  /** Makes the worker acceptable again; its process stays. */
  repair(): void | Promise<void>;
  /** A client of the server and namespace, which does not go through what dies. */
  readonly temporal: TemporalClient;
  /** What the log must say after the repair. */
  readonly says?: string;
}

/** Longer than Temporal may fail before a worker counts as disconnected, and shorter than the time between two log lines. */
const MOVE_MS = 31_000;
/** A worker whose clock SIGUSR2 moves. */
const MOVABLE = {
  NODE_OPTIONS: `--require ${fileURLToPath(new URL('../../support/shifted-clock.cjs', import.meta.url))}`,
  WORKTRACK_TEST_CLOCK_STEP: String(MOVE_MS),
};

const RARE_PROBES = `--require ${fileURLToPath(new URL('../../support/rare-probes.cjs', import.meta.url))}`;

describe('a worker whose connection to Temporal dies', () => {
  let stack: Stack;
  let authority: Authority;
  let caFile: string;
  const ends: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    stack = await startStack({ resources: '[projects]', simulator: { counts: { projects: 3 } } });
    authority = createAuthority('servers');
    caFile = file('ca.pem', authority.crt);
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
    await stack?.stop();
  });

  function file(name: string, text: string): string {
    const path = join(stack.folder, name);
    writeFileSync(path, text);
    return path;
  }

  async function gate(options: Partial<Parameters<typeof startTemporalGate>[0]> = {}) {
    const target = options.target ?? stack.servers.temporalAddress;
    const opened = await startTemporalGate({ certificate: authority.issue('gate'), ...options, target });
    ends.push(() => opened.close());
    return opened;
  }

  function start(queue: string, health: number, { env, args = [] }: Pick<Death, 'env' | 'args'>) {
    const command = startCommand(
      stack,
      [
        ...['worker', '--config', stack.configFile, '--task-queue', queue],
        ...['--health', String(health), ...args],
      ],
      env,
    );
    ends.push(() => command.signal('SIGKILL'));
    return command;
  }

  /** Runs a worker through death and repair. SIGHUP has it look at its connection now, in place of within ten seconds. */
  async function survive(name: string, queue: string, death: Death): Promise<void> {
    const health = await freePort();
    const command = start(queue, health, { ...death, env: { ...MOVABLE, ...death.env } });
    const answer = (path: string) => healthOf(command, health, path);
    const becomes = (status: number): Promise<void> =>
      until(async () => (await answer('/readyz')).status === status, `${name}: ${status}`);
    const logs = (text: string): Promise<void> =>
      until(async () => (await command.output()).stderr.includes(text), `${name}: it logs ${text}`);
    await becomes(200);
    await death.kill();
    command.child.kill('SIGHUP');
    await logs('has not accepted');
    expect((await answer('/readyz')).status, `${name}, at its first failure`).toBe(200);
    command.child.kill('SIGUSR2');
    await becomes(503);
    expect(await answer('/readyz'), name).toEqual({ status: 503, body: '{"state":"disconnected"}\n' });
    expect((await answer('/healthz')).status, name).toBe(200);
    const log = (await command.output()).stderr;
    const lines = log.split('\n').filter((line) => line.includes('has not accepted'));
    expect(lines, name).toHaveLength(1);
    expect(lines[0], name).toMatch(death.cause);
    expect(log.split('\n').length, `${name}: ${log}`).toBeLessThan(20);
    await death.repair();
    command.child.kill('SIGHUP');
    await becomes(200);
    await logs(death.says ?? 'Temporal accepts this worker again');
  }

  /** Whether the worker takes tasks again: its activity says that the configuration has no such connection. */
  async function serves(name: string, taskQueue: string, { client }: TemporalClient): Promise<void> {
    const served = client.workflow.execute('exportWorkflow', {
      workflowId: `${taskQueue}-export`,
      taskQueue,
      args: [{ connection: 'unknown' }],
    });
    await expect(served, name).rejects.toThrow(WorkflowFailedError);
  }

  /** A namespace of this test's own on the shared server, which workers can already use. */
  async function createNamespace(name: string): Promise<void> {
    const { workflowService } = stack.temporal.client.connection;
    await workflowService.registerNamespace({
      namespace: name,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
    const isKnown = () =>
      workflowService.listWorkflowExecutions({ namespace: name, pageSize: 1 }).then(
        () => true,
        () => false,
      );
    await until(isKnown, `the namespace ${name}`);
  }

  const deaths: Record<string, () => Promise<Death>> = {
    async certificate() {
      const [old, next] = [createAuthority('old'), createAuthority('next')];
      const write = ({ crt, key }: Certificate) => [file('client.pem', crt), file('client.key', key)];
      const [crt, key] = write(old.issue('worker'));
      const { address, change } = await gate({ clientAuthority: old.crt });
      return {
        env: {
          ...{ TEMPORAL_ADDRESS: address, TEMPORAL_TLS_SERVER_CA_CERT_PATH: caFile },
          ...{ TEMPORAL_TLS_CLIENT_CERT_PATH: crt, TEMPORAL_TLS_CLIENT_KEY_PATH: key },
        },
        kill: () => change({ clientAuthority: next.crt }),
        cause: /the server (closed the new connection|ended the TLS handshake)/,
        repair: () => void write(next.issue('worker')),
        temporal: stack.temporal,
        says: 'because the address or the credentials have changed',
      };
    },
    async 'API key'() {
      let valid = 'first';
      const profile = (): string =>
        file('temporal.toml', `[profile.default]\naddress = "${address}"\napi_key = "${valid}"\n`);
      const { address } = await gate({
        refuse: (_, { authorization }) =>
          authorization === `Bearer ${valid}` ? null : { status: 16, message: 'Request unauthorized.' },
      });
      return {
        env: {
          ...{ TEMPORAL_CONFIG_FILE: profile(), TEMPORAL_ADDRESS: undefined },
          TEMPORAL_TLS_SERVER_CA_CERT_PATH: caFile,
        },
        kill: () => {
          valid = 'second';
        },
        cause: /it rejects the credentials \(Request unauthorized\.\)/,
        repair: () => void profile(),
        temporal: stack.temporal,
        says: 'because the address or the credentials have changed',
      };
    },
    async 'right to poll'() {
      let mayPoll = true;
      const { address } = await gate({
        refuse: (path) =>
          mayPoll || !path.includes('Poll') ? null : { status: 7, message: 'no write access' },
      });
      return {
        env: { TEMPORAL_ADDRESS: address, TEMPORAL_TLS_SERVER_CA_CERT_PATH: caFile },
        kill: () => {
          mayPoll = false;
        },
        cause: /it rejects the credentials \(no write access\)/,
        repair: () => {
          mayPoll = true;
        },
        temporal: stack.temporal,
      };
    },
    async namespace() {
      const name = `deleted-${stack.taskQueue}`;
      await createNamespace(name);
      const temporal = await connectTemporal({
        address: stack.servers.temporalAddress,
        namespace: name,
      });
      ends.push(() => temporal.close());
      return {
        env: { TEMPORAL_NAMESPACE: name },
        kill: async () => {
          await (temporal.client.connection as Connection).operatorService.deleteNamespace({
            namespace: name,
          });
        },
        cause: new RegExp(`it has no namespace "${name}". Create the namespace`),
        repair: () => createNamespace(name),
        temporal,
      };
    },
    async server() {
      const port = await freePort();
      const start = () =>
        startTemporalDevServer({
          ...{ executable: stack.servers.temporalCli, headless: true, port },
          ...{ logFile: join(stack.folder, 'own.log'), dbFile: join(stack.folder, 'own.db') },
        });
      let server = await start();
      ends.push(() => server.stop());
      const temporal = await connectTemporal({ address: server.address });
      ends.push(() => temporal.close());
      return {
        env: { TEMPORAL_ADDRESS: server.address },
        kill: () => server.kill(),
        cause: /Connection refused/,
        repair: async () => {
          server = await start();
        },
        temporal,
      };
    },
    async 'black hole'() {
      const proxy = await startTcpProxy(stack.servers.temporalAddress);
      ends.push(() => proxy.close());
      return {
        env: { TEMPORAL_ADDRESS: proxy.address },
        kill: () => proxy.stall(),
        cause: /no (answer|response) within 8 s/,
        repair: () => proxy.resume(),
        temporal: stack.temporal,
      };
    },
    async "server's certificate"() {
      const { address, change } = await gate();
      return {
        env: { TEMPORAL_ADDRESS: address, TEMPORAL_TLS_SERVER_CA_CERT_PATH: caFile },
        kill: () => change({ certificate: authority.issue('gate', -1) }),
        cause: /the server's certificate has expired/,
        repair: () => change({ certificate: authority.issue('gate') }),
        temporal: stack.temporal,
      };
    },
  };

  it('is not ready 30 s after the first failure, logs the cause once, and recovers without a restart', async () => {
    // All together, because some take half a minute of waiting. In `npm test` two of them, each in a process.
    const outcomes = await Promise.allSettled(
      drawn(Object.entries(deaths), 2).map(async ([name, prepare]) => {
        const death = await prepare();
        const queue = `${stack.taskQueue}-${name.replace(/\W/g, '-')}`;
        await survive(name, queue, death);
        await serves(name, queue, death.temporal);
      }),
    );
    expect(outcomes.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))).toEqual([]);
  });

  it('looks immediately for new credentials on SIGHUP', async () => {
    let valid = 'first';
    let refused = 0;
    const { address } = await gate({
      refuse(_, { authorization }) {
        if (authorization === `Bearer ${valid}`) return null;
        refused++;
        return { status: 16, message: 'Request unauthorized.' };
      },
    });
    const profile = (): string =>
      file('hang-up.toml', `[profile.default]\naddress = "${address}"\napi_key = "${valid}"\n`);
    const health = await freePort();
    const command = start('hang-up', health, {
      env: {
        ...{ TEMPORAL_CONFIG_FILE: profile(), TEMPORAL_ADDRESS: undefined },
        ...{ TEMPORAL_TLS_SERVER_CA_CERT_PATH: caFile, NODE_OPTIONS: RARE_PROBES },
      },
    });
    await until(async () => (await healthOf(command, health, '/readyz')).status === 200, 'ready');
    valid = 'second';
    profile();
    command.child.kill('SIGHUP');
    const changed = 'because the address or the credentials have changed';
    await until(async () => (await command.output()).stderr.includes(changed), 'it is connected again');
    const before = refused;
    await serves('SIGHUP', `hang-up`, stack.temporal);
    expect(refused).toBe(before);
    expect((await command.output()).stderr).not.toContain('has not accepted');
  });

  it('ends with exit code 4 after --give-up-after', async () => {
    let isAccepted = true;
    const { address } = await gate({
      refuse: () => (isAccepted ? null : { status: 7, message: 'removed from the account' }),
    });
    const health = await freePort();
    const command = start('give-up', health, {
      env: { TEMPORAL_ADDRESS: address, TEMPORAL_TLS_SERVER_CA_CERT_PATH: caFile },
      args: ['--give-up-after', '1s'],
    });
    await until(async () => (await healthOf(command, health, '/readyz')).status === 200, 'ready');
    isAccepted = false;
    expect(await command.exited).toBe(4);
    expect((await command.output()).stderr).toMatch(
      /Temporal at \S+ has not accepted this worker since \S+: it rejects the credentials \(removed from the account\)\nRenew the certificate/,
    );
  });
});

async function healthOf(command: CommandProcess, port: number, path: string) {
  if (command.child.exitCode !== null) throw new Error((await command.output()).stderr);
  const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null);
  return answer === null ? { status: 0, body: '' } : { status: answer.status, body: await answer.text() };
}
