import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_KEY, DEMO_ORGANIZATION } from '../../../src/simulator/index.js';
import { pollers, runCommand, startCommand, startWorkerProcess } from '../../support/processes.js';
import { type Stack, startStack, until } from '../../support/stack.js';

/** Nothing listens on the discard port of loopback. */
const NOBODY = '127.0.0.1:9';
/** For servers that are down. Those that are up may take their time on a slow machine. */
const IMPATIENT = { WORKTRACK_REACH_TIMEOUT: '5s' };

interface Check {
  connection: string | null;
  check: string;
  state: 'ok' | 'warning' | 'problem';
  message: string;
  remedy: string | null;
}

describe('worktrack doctor', () => {
  let stack: Stack;

  beforeAll(async () => {
    stack = await startStack({
      s3: true,
      resources: '[projects, tasks]',
      simulator: { counts: { projects: 3, tasks: 2 } },
    });
  });
  afterAll(() => stack?.stop());
  afterEach(() => {
    const { admin } = stack.simulator;
    admin.configure({ pageMax: 1000, tooLargeLimit: 'clamp' });
    admin.setNow(Date.now());
    admin.runClock();
    admin.keys.setPlan(DEMO_ORGANIZATION, 'api');
  });

  async function runDoctor({
    args = [],
    env = {},
    config = stack.configFile,
  }: {
    args?: string[];
    env?: NodeJS.ProcessEnv;
    config?: string;
  } = {}) {
    const all = ['doctor', '--config', config, '--task-queue', stack.taskQueue, '--json', ...args];
    const { code, stdout, stderr } = await runCommand(stack, all, env);
    expect(stdout + stderr).not.toContain(DEMO_KEY);
    expect(stdout + stderr).not.toMatch(/\n\s+at /);
    const { outcome, checks } = JSON.parse(stdout) as { outcome: string; checks: Check[] };
    for (const { state, remedy } of checks) {
      if (state === 'ok') expect(remedy).toBeNull();
      else expect(remedy).toMatch(/^[A-Z].+\.$/s);
    }
    const bad = checks.filter(({ state }) => state !== 'ok');
    return {
      code,
      outcome,
      checks,
      /** All problems, except for the worker that most of these tests do not start. */
      bad: bad.filter(({ check }) => check !== 'worker'),
    };
  }

  async function configWith(change: (yaml: string) => string): Promise<string> {
    const file = join(stack.folder, 'changed.yaml');
    await writeFile(file, change(await readFile(stack.configFile, 'utf8')));
    return file;
  }

  it('reports no problems for a healthy setup, and leaves no objects in the lake', async () => {
    const worker = await stack.startWorker();
    await until(async () => (await pollers(stack)).length > 0, 'the worker polls');
    const { code, outcome, checks } = await runDoctor();
    expect(checks.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect([code, outcome]).toEqual([0, 'ok']);
    const said = checks.map(({ check, message }) => `${check}: ${message}`).join('\n');
    expect(said).toMatch(/^configuration: .*1 connection$/m);
    expect(said).toContain('key: found in the environment variable WORKTRACK_API_KEY');
    expect(said).toContain('grant: projects: readable');
    expect(said).toContain('grant: tasks: readable');
    expect(said).toContain('page size: requested and applied 1000');
    expect(said).toMatch(
      /lake: .*: write, read, list, copy, upload in parts, conditional write, clock, delete$/m,
    );
    expect(said.match(/^clock: .* differ by less than \d+ s$/gm)?.length).toBe(2);
    expect(said).toMatch(/^temporal: .*namespace "default", server \d+\.\d+/m);
    expect(said).toContain(`worker: polling task queue "${stack.taskQueue}"`);
    expect(said).toMatch(/^versions: temporal-worktrack \d.*Node\.js \d.*SDK \d/m);
    const left = await readdir(stack.lakeFolder, { recursive: true }).catch(() => []);
    expect(left.filter((name) => /_doctor-|_probe-/.test(name))).toEqual([]);
    const text = await runCommand(stack, [
      'doctor',
      '--config',
      stack.configFile,
      '--task-queue',
      stack.taskQueue,
    ]);
    expect(text.code).toBe(0);
    expect(text.stdout).toMatch(/^ok +grant \(projects\) +readable$/m);
    expect(text.stdout).toMatch(/No problems found\.\n$/);
    await worker.stop();
  });

  it('warns if no worker is polling the task queue, and shows how to start one', async () => {
    const args = ['--task-queue', 'a-queue-without-workers'];
    const { code, outcome, checks } = await runDoctor({ args });
    expect([code, outcome]).toEqual([0, 'warning']);
    const worker = checks.find(({ check }) => check === 'worker');
    expect(worker).toMatchObject({
      state: 'warning',
      message: expect.stringContaining('a-queue-without-workers'),
    });
    expect(worker?.remedy).toContain('worktrack worker');
  });

  it('exits with 3 for an unknown key, and sends only one request with it', async () => {
    stack.simulator.admin.resetStats();
    const { code, bad } = await runDoctor({ env: { WORKTRACK_API_KEY: 'wt_nobody_knows_it' } });
    expect(code).toBe(3);
    expect(bad[0]).toMatchObject({ check: 'key', state: 'problem', message: expect.stringContaining('401') });
    expect(JSON.stringify(bad)).not.toContain('wt_nobody_knows_it');
    expect(stack.simulator.admin.stats().requests).toBe(1);
    // It is not called as the line of the key that was found.
    const words = ['doctor', '--config', stack.configFile, '--task-queue', stack.taskQueue];
    const { stdout } = await runCommand(stack, words, { WORKTRACK_API_KEY: 'wt_nobody_knows_it' });
    expect(stdout).toMatch(/^problem +key \(service\) /m);
  });

  it('exits with 3 for a missing grant, names its resource, and checks the others', async () => {
    stack.simulator.admin.keys.add({
      key: 'half-a-key',
      name: 'half',
      organization: DEMO_ORGANIZATION,
      grants: ['tasks:read'],
    });
    const { code, bad, checks } = await runDoctor({ env: { WORKTRACK_API_KEY: 'half-a-key' } });
    expect(code).toBe(3);
    expect(bad).toMatchObject([{ check: 'grant', state: 'problem' }]);
    expect(bad[0]?.message).toMatch(/^projects: the key may not read it \(403/);
    expect(bad[0]?.remedy).toContain('Create a new key that may read projects');
    expect(checks).toContainEqual(expect.objectContaining({ state: 'ok', message: 'tasks: readable' }));
    expect(checks).toContainEqual(expect.objectContaining({ check: 'page size', state: 'ok' }));
  });

  it('exits with 3 for a plan without API access', async () => {
    stack.simulator.admin.keys.setPlan(DEMO_ORGANIZATION, 'none');
    const { code, bad } = await runDoctor();
    expect(code).toBe(3);
    expect(bad[0]).toMatchObject({
      check: 'service',
      state: 'problem',
      message: expect.stringContaining('plan'),
    });
  });

  it('exits with 2 if the key is not set, and still checks lake and Temporal', async () => {
    const { code, bad, checks } = await runDoctor({ env: { WORKTRACK_API_KEY: undefined } });
    expect(code).toBe(2);
    expect(bad).toMatchObject([{ check: 'key', state: 'problem' }]);
    expect(bad[0]?.message).toContain('WORKTRACK_API_KEY is not set');
    expect(checks).toContainEqual(expect.objectContaining({ check: 'lake', state: 'ok' }));
    expect(checks).toContainEqual(expect.objectContaining({ check: 'temporal', state: 'ok' }));
  });

  it('warns about a key file that every user can read', async () => {
    const keyFile = join(stack.folder, 'key');
    await writeFile(keyFile, `${DEMO_KEY}\n`);
    await chmod(keyFile, 0o644);
    // The other tests begin with an empty lake.
    const config = await configWith((yaml) =>
      yaml.replace('{ env: WORKTRACK_API_KEY }', `{ file: ${keyFile} }`).replace('/lake"', '/other-lake"'),
    );
    const open = await runDoctor({ config });
    expect(open.code).toBe(0);
    expect(open.bad).toMatchObject([{ check: 'key', state: 'warning' }]);
    expect(open.bad[0]?.remedy).toContain(`chmod o-rwx ${keyFile}`);
    const target = ['--config', config, '--task-queue', stack.taskQueue];
    const command = await startWorkerProcess({ ...stack, configFile: config });
    const exported = await runCommand(stack, ['export', ...target]);
    await command.signal('SIGTERM');
    for (const { stderr } of [exported, await command.output()])
      expect(stderr).toContain(
        `warning: ${stack.connection}: every user of this machine can read the API key`,
      );
    expect(exported.code).toBe(0);
    await chmod(keyFile, 0o600);
    expect((await runDoctor({ config })).bad).toEqual([]);
  });

  it('warns about every other secret in a file that every user can read, as the commands do', async () => {
    // The doctor connects to the host of the URL, and sends nothing.
    const url = `${stack.simulator.url}/T0`;
    const files = { signature: 'the-secret-of-the-hook', url, header: 'Bearer with-a-space' };
    const path = (name: string): string => join(stack.folder, `secret-${name}`);
    for (const [name, secret] of Object.entries(files)) {
      await writeFile(path(name), `${secret}\n`);
      await chmod(path(name), 0o644);
    }
    const config = await configWith(
      (yaml) => `${yaml}    webhook: { signature: { secret: { file: ${path('signature')} } } }
    notify: { url: { file: ${path('url')} }, headers: { Authorization: { file: ${path('header')} } } }
`,
    );
    const says = [
      `every user of this machine can read the webhook secret in the file ${path('signature')}`,
      `every user of this machine can read the URL for alerts in the file ${path('url')}`,
      `every user of this machine can read the header Authorization of alerts in the file ${path('header')}`,
    ];
    const open = await runDoctor({ config });
    expect(open.code).toBe(0);
    expect(open.bad.map(({ state, message }) => `${state}: ${message}`)).toEqual(
      says.map((message) => `warning: ${message}`),
    );
    expect(open.bad[1]?.remedy).toContain(`chmod o-rwx ${path('url')}`);
    const command = startCommand(stack, ['worker', '--config', config, '--task-queue', stack.taskQueue]);
    const said = async (): Promise<string> => (await command.output().catch(() => ({ stderr: '' }))).stderr;
    await until(async () => (await said()).includes(says[2]!), 'the worker warns');
    await command.signal('SIGTERM');
    const stderr = await said();
    for (const message of says) expect(stderr).toContain(`warning: ${stack.connection}: ${message}`);
    for (const secret of Object.values(files)) expect(stderr).not.toContain(secret);
    for (const name of Object.keys(files)) await chmod(path(name), 0o600);
    expect((await runDoctor({ config })).bad).toEqual([]);
  });

  it('exits with 2 for S3 credentials that the store rejects', async () => {
    const { code, bad } = await runDoctor({ env: { AWS_SECRET_ACCESS_KEY: 'not-the-secret' } });
    expect(code).toBe(2);
    expect(bad).toMatchObject([{ check: 'lake', state: 'problem' }]);
    expect(bad[0]?.message).toContain('credentials are not accepted');
    expect(bad[0]?.remedy).toContain('AWS_ACCESS_KEY_ID');
  });

  it('exits with 2 for a bucket that does not exist', async () => {
    const config = await configWith((yaml) =>
      yaml.replace(`s3://${stack.bucket}/`, 's3://no-such-bucket-here/'),
    );
    const { code, bad } = await runDoctor({ config });
    expect(code).toBe(2);
    expect(bad).toMatchObject([{ check: 'lake', state: 'problem' }]);
    expect(bad[0]?.message).toContain('there is no such bucket');
    expect(bad[0]?.remedy).toMatch(/^Create it at/);
  });

  it('exits with 4 if Temporal is down, and still checks the rest', async () => {
    const { code, bad, checks } = await runDoctor({ args: ['--address', NOBODY], env: IMPATIENT });
    expect(code).toBe(4);
    expect(bad).toMatchObject([{ check: 'temporal', state: 'problem' }]);
    expect(bad[0]?.message).toContain(NOBODY);
    expect(bad[0]?.remedy).toContain('TEMPORAL_ADDRESS');
    expect(checks).toContainEqual(expect.objectContaining({ message: 'tasks: readable' }));
  });

  it('exits with 2 for a namespace that does not exist', async () => {
    const { code, bad } = await runDoctor({ args: ['--namespace', 'nowhere'] });
    expect(code).toBe(2);
    expect(bad).toMatchObject([
      { check: 'temporal', state: 'problem', message: expect.stringContaining('nowhere') },
    ]);
  });

  it('exits with 4 if service and store are down', async () => {
    const config = await configWith((yaml) =>
      yaml
        .replace(stack.simulator.url, `http://${NOBODY}`)
        .replace(stack.servers.s3Endpoint, `http://${NOBODY}`),
    );
    const { code, bad } = await runDoctor({ config, env: IMPATIENT });
    expect(code).toBe(4);
    expect(
      bad
        .filter(({ state }) => state === 'problem')
        .map(({ check }) => check)
        .sort(),
    ).toEqual(['lake', 'service']);
  });

  it('warns about a different service clock, with the difference and its direction', async () => {
    stack.simulator.admin.setNow(Date.now() - 600_000);
    const { code, outcome, bad } = await runDoctor();
    expect([code, outcome]).toEqual([0, 'warning']);
    expect(bad).toMatchObject([{ check: 'clock', state: 'warning' }]);
    expect(bad[0]?.message).toMatch(/is (59\d|6\d\d) s behind this machine's$/);
    expect(bad[0]?.remedy).toContain('NTP');
  });

  it('reports the page size that the service applies, and the one that it accepts if it rejects the configured one', async () => {
    stack.simulator.admin.configure({ pageMax: 200 });
    expect((await runDoctor()).checks).toContainEqual(
      expect.objectContaining({
        check: 'page size',
        state: 'ok',
        message: 'requested 1000, applied 200',
      }),
    );
    stack.simulator.admin.configure({ tooLargeLimit: 'refuse' });
    const { code, bad } = await runDoctor();
    expect(code).toBe(0);
    expect(bad).toMatchObject([{ check: 'page size', state: 'warning' }]);
    expect(bad[0]?.message).toContain('rejects pages of 1000 records and accepts 125');
    expect(bad[0]?.remedy).toContain('sync.pageSize: 125');
  });

  it('exits with 2 for a list that the service does not have, and for a key that records do not have', async () => {
    const config = await configWith((yaml) =>
      yaml.replace(
        '[projects, tasks]',
        '[{ name: projects, key: [number] }, { name: invoices, path: invoices }]',
      ),
    );
    const { code, bad } = await runDoctor({ config });
    expect(code).toBe(2);
    expect(bad.map(({ message }) => message)).toEqual([
      'projects: readable, but its records have no "number"',
      'invoices: the service has no list at "invoices" (404)',
    ]);
  });

  it('exits with 2 for an invalid configuration, and runs the checks that need none', async () => {
    const config = await configWith((yaml) => yaml.replace('baseUrl:', 'baseURL:'));
    const { code, bad, checks } = await runDoctor({ config });
    expect(code).toBe(2);
    expect(bad[0]).toMatchObject({ check: 'configuration', state: 'problem' });
    expect(bad[0]?.message).toContain('baseUrl');
    expect(checks).toContainEqual(expect.objectContaining({ check: 'temporal', state: 'ok' }));
  });
});
