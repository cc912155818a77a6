import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { drawn, IS_LONG, longOnly } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const CLI = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));
const isRoot = process.getuid?.() === 0;

/** An environment where `export --local` works. */
interface Environment {
  readonly env: (folder: string) => NodeJS.ProcessEnv;
  /** Words in front of the command. */
  readonly prefix?: readonly string[];
  readonly says?: RegExp;
}

const WORKS: Readonly<Record<string, Environment>> = {
  'HOME=/ and LANG=C': {
    env: () => ({ HOME: '/', LANG: 'C', LC_ALL: 'C' }),
    says: /a temporary folder, because HOME/,
  },
  'a proxy for everything, and few open files': {
    env: (folder) => ({
      HOME: folder,
      ...{ http_proxy: 'http://127.0.0.1:9', https_proxy: 'http://127.0.0.1:9' },
      ...{ HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' },
    }),
    prefix: ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh'],
  },
  ...(isRoot
    ? {
        'another uid, without a passwd entry and HOME': {
          env: () => ({}),
          prefix: ['setpriv', '--reuid', '54321', '--regid', '54321', '--clear-groups'],
          says: /State and logs: \S+temporal-worktrack-54321[\s\S]*a temporary folder, because HOME/,
        } satisfies Environment,
      }
    : {}),
};

// Side by side: each starts its own servers and waits for them.
describe.concurrent('export --local', () => {
  let stack: Stack;
  let folder: string;
  const started: number[] = [];
  beforeAll(async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { projects: 3 } },
      resources: '[projects]',
    });
    // Other users must be able to enter it, and nothing else may use this temporary folder.
    folder = await mkdtemp(join(tmpdir(), 'worktrack-environments-'));
    await chmod(folder, 0o777);
    // Another user may not enter the folder of this user's cache.
    const temporal = join(folder, 'temporal');
    await writeFile(temporal, await readFile(stack.servers.temporalCli));
    await chmod(temporal, 0o755);
  });
  afterAll(async () => {
    for (const pid of started) if (existsSync(`/proc/${pid}`)) process.kill(-pid, 'SIGKILL');
    await stack?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Starts the command with nothing but these variables and a lake in a folder. */
  async function exportLocal(name: string, { env, prefix = [] }: Environment) {
    const own = join(folder, name.replace(/\W+/g, '-'));
    for (const one of [own, join(own, 'lake'), join(own, 'tmp')]) {
      await mkdir(one, { recursive: true });
      await chmod(one, 0o777);
    }
    await writeFile(
      join(own, 'worktrack.yaml'),
      `connections:
  acme:
    baseUrl: ${stack.simulator.url}
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "file://${own}/lake" }
    resources: [projects]
`,
    );
    const [program = '', ...args] = [...prefix, process.execPath, CLI, 'export', '--local', '--json'];
    const child = spawn(program, args, {
      cwd: own,
      env: {
        ...{ PATH: '/usr/bin:/bin', TMPDIR: join(own, 'tmp'), WORKTRACK_API_KEY: DEMO_KEY },
        ...{
          WORKTRACK_TEMPORAL_CLI: join(folder, 'temporal'),
          AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
        },
        ...env(own),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    started.push(child.pid!);
    const printed = { stdout: '', stderr: '' };
    child.stdout!.on('data', (text) => (printed.stdout += String(text)));
    child.stderr!.on('data', (text) => (printed.stderr += String(text)));
    const exited = once(child, 'close').then(([code]) => code as number | null);
    const state = async (): Promise<string[]> => {
      const root = join(own, '.local', 'state', 'temporal-worktrack');
      const [digest = ''] = await readdir(root).catch(() => []);
      return (await readdir(join(root, digest)).catch(() => [])).map((file) => join(root, digest, file));
    };
    return { printed, exited, state, kill: () => process.kill(-child.pid!, 'SIGKILL') };
  }

  it.each(drawn(Object.entries(WORKS), 1))('works with %s', async (name, environment) => {
    const { printed, exited } = await exportLocal(name, environment);
    expect(await exited, printed.stderr).toBe(0);
    expect(JSON.parse(printed.stdout)).toMatchObject({ outcome: 'published', runs: [{ rows: 3 }] });
    expect(printed.stderr).not.toMatch(/Unexpected error|Error:/);
    if (environment.says !== undefined) expect(printed.stderr).toMatch(environment.says);
  });

  // test/unit/cli/local-database.test.ts: what becomes of a state that Temporal cannot use.
  longOnly(
    'works after it was killed while it created its state, and with state that Temporal cannot use',
    async () => {
      const environment = { env: (own: string) => ({ HOME: own }) };
      const killed = await exportLocal('killed', environment);
      await until(
        async () => (await killed.state()).some((file) => file.endsWith('.new')),
        'it creates its state',
      );
      killed.kill();
      await killed.exited;
      const second = await exportLocal('killed', environment);
      expect(await second.exited, second.printed.stderr).toBe(0);
      const database = (await second.state()).find((file) => file.endsWith('temporal.db'))!;
      await writeFile(database, (await readFile(database)).subarray(0, 8192));
      const third = await exportLocal('killed', environment);
      expect(await third.exited, third.printed.stderr).toBe(0);
      expect(third.printed.stderr).toContain(`It was set aside as ${database}.unusable`);
      expect(JSON.parse(third.printed.stdout)).toMatchObject({ outcome: 'published', runs: [{ rows: 3 }] });
    },
  );

  // In `npm test`, the export of another user shows that the servers' folders are found without an entry and HOME.
  it.runIf(IS_LONG && isRoot)('works as a demo for a user without an entry and HOME', async () => {
    const own = join(folder, 'demo');
    await mkdir(own);
    await chmod(own, 0o777);
    const versitygw = join(folder, 'versitygw');
    await writeFile(versitygw, await readFile(stack.servers.versitygw), { mode: 0o755 });
    const args = ['--reuid', '54321', '--regid', '54321', '--clear-groups', process.execPath, CLI, 'demo'];
    const child = spawn('setpriv', args, {
      cwd: own,
      env: {
        ...{ PATH: '/usr/bin:/bin', TMPDIR: own, WORKTRACK_OFFLINE: '1' },
        ...{ WORKTRACK_TEMPORAL_CLI: join(folder, 'temporal'), WORKTRACK_VERSITYGW: versitygw },
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    started.push(child.pid!);
    let stderr = '';
    child.stdout.resume();
    child.stderr.on('data', (text) => (stderr += String(text)));
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code, stderr).toBe(0);
  });

  it('says which variable to set if it has no folder at all', async () => {
    const { printed, exited } = await exportLocal('nothing', {
      env: (own) => ({ HOME: '/', TMPDIR: join(own, 'worktrack.yaml') }),
    });
    expect(await exited).toBe(2);
    expect(printed.stderr).toMatch(
      /There is no folder for the state: HOME cannot be used, nor \S+: a part of the path is a file\.\nSet XDG_STATE_HOME/,
    );
  });
});
