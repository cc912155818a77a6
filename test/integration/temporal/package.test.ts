import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { codeBlocks, pageAt } from '../../support/docs.js';
import { examplesModule } from '../../support/public-api.js';
import { IS_LONG, longOnly } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { endLocks, fileIn, timeEntriesCsv } from '../../support/write-back.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const MODULES = join(ROOT, 'node_modules');

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** Runs a program to its end and gives what it printed, however it ended. */
async function run(program: string, args: readonly string[], cwd: string, env = process.env) {
  try {
    const { stdout } = await promisify(execFile)(program, args, { cwd, env, maxBuffer: 2 ** 26 });
    return { code: 0, stdout, printed: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, printed: stdout + stderr };
  }
}

const node = (script: string, args: readonly string[], cwd: string, env?: NodeJS.ProcessEnv) =>
  run(process.execPath, [join(MODULES, script), ...args], cwd, env);

describe('the packed package', () => {
  let folder: string;
  let tarball: string;
  let app: string;
  let installed: string;
  let building: ReturnType<typeof node> | undefined;
  /** Compiles the application with `NodeNext`, once. */
  const built = () => {
    building ??= node('typescript/bin/tsc', ['-p', '.'], app);
    return building;
  };

  /** The examples, with the package from its tarball. Everything else is what the package cannot do without. */
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-package-'));
    const packed = await run(
      'npm',
      ['pack', '--json', '--ignore-scripts', '--pack-destination', folder],
      ROOT,
    );
    expect(packed.code, packed.printed).toBe(0);
    tarball = join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz'))!);
    app = join(folder, 'app');
    installed = join(app, 'node_modules/temporal-worktrack');
    await cp(join(ROOT, 'examples'), app, { recursive: true });
    await mkdir(installed, { recursive: true });
    const unpacked = await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed], folder);
    expect(unpacked.code, unpacked.printed).toBe(0);
    const { dependencies, peerDependencies, peerDependenciesMeta } = await manifest(installed);
    const needed = Object.keys({ ...dependencies, ...peerDependencies });
    for (const name of [...needed, '@temporalio/testing', '@types/node', 'typescript']) {
      if (peerDependenciesMeta[name]?.optional !== true) await link(name);
    }
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('contains code and documentation, but no tests, no source maps and no path of the build machine', async () => {
    const entries = await readdir(installed, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
    expect(files.filter((name) => !/^(dist|docs|examples)\//.test(name)).sort()).toEqual([
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'package.json',
    ]);
    expect(files).toContain('docs/tutorial.md');
    const isExample = (name: string): boolean => name.startsWith('examples/');
    expect(
      files.filter((name) => !isExample(name) && /(^|\/)test\/|\.test\.|\.map$|(?<!\.d)\.ts$/.test(name)),
    ).toEqual([]);
    expect(files.filter((name) => isExample(name) && /node_modules|\/dist\/|-lock/.test(name))).toEqual([]);
    for (const name of files) {
      const text = await readFile(join(installed, name), 'utf8');
      const [, map = ''] = /sourceMappingURL=data:\S+?;base64,(\S+)/.exec(text) ?? [];
      const all = text + Buffer.from(map, 'base64').toString('utf8');
      if (all.includes(ROOT)) throw new Error(`${name} names ${ROOT}`);
    }
  });

  it('contains every file that its pages link to', async () => {
    const entries = await readdir(installed, { recursive: true, withFileTypes: true });
    const pages = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.md'));
    expect(pages.length).toBeGreaterThan(25);
    const missing: string[] = [];
    for (const { parentPath, name } of pages) {
      const text = await readFile(join(parentPath, name), 'utf8');
      for (const [, inText, inTag] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)|\b(?:src|href)="([^"#]+)/g)) {
        const link = inText ?? inTag!;
        if (/^[a-z]+:/.test(link)) continue;
        if (!existsSync(join(parentPath, link))) missing.push(`${name}: ${link}`);
      }
    }
    expect(missing).toEqual([]);
  });

  it('passes attw and publint', async () => {
    // All modules are ES modules, which Node's oldest that we promise can `require`, too.
    const types = await node(
      '@arethetypeswrong/cli/dist/index.js',
      [tarball, '--profile', 'esm-only', '--no-color', '--no-emoji'],
      folder,
    );
    expect(types.code, types.printed).toBe(0);
    for (const entry of ['workflows', 'workflows/versioned', 'workflows/traces', 'simulator'])
      expect(types.stdout).toContain(`temporal-worktrack/${entry}`);
    const linted = await node('publint/src/cli.js', ['run', tarball, '--strict'], folder);
    expect(linted.code, linted.printed).toBe(0);
  });

  it('type-checks in an application with `NodeNext` and with `Bundler`, even without skipLibCheck', async () => {
    const bundler = ['-p', '.', '--noEmit', '--module', 'ESNext', '--moduleResolution', 'Bundler'];
    for (const { code, printed } of [await built(), await node('typescript/bin/tsc', bundler, app)])
      expect(code, printed).toBe(0);
    // The SDK's types do not pass this with TypeScript 7; ours must.
    const { printed } = await node(
      'typescript/bin/tsc',
      ['-p', '.', '--noEmit', '--skipLibCheck', 'false'],
      app,
    );
    expect(printed.split('\n').filter((line) => line.includes('temporal-worktrack/'))).toEqual([]);
  });

  it('needs no casts and no `any` in the examples, which are a strict project', async () => {
    const { compilerOptions } = JSON.parse(await readFile(join(app, 'tsconfig.json'), 'utf8')) as {
      readonly compilerOptions: Readonly<Record<string, unknown>>;
    };
    expect(compilerOptions).toMatchObject({ strict: true, noUncheckedIndexedAccess: true });
    const names = await readdir(join(app, 'src'), { recursive: true });
    for (const name of names.filter((one) => one.endsWith('.ts'))) {
      const text = await readFile(join(app, 'src', name), 'utf8');
      const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '').replaceAll(/\* as |as const/g, '');
      expect(code, name).not.toMatch(/\bas [A-Za-z{(]|\bany\b|@ts-|[\w)\]]!/);
    }
  });

  it('has examples in its docstrings that type-check', async () => {
    await mkdir(join(app, 'docstrings'));
    await writeFile(join(app, 'docstrings/examples.ts'), examplesModule());
    const config = {
      extends: '../tsconfig.json',
      compilerOptions: { rootDir: '.', noEmit: true },
      include: ['.'],
    };
    await writeFile(join(app, 'docstrings/tsconfig.json'), JSON.stringify(config));
    const { code, printed } = await node('typescript/bin/tsc', ['-p', 'docstrings'], app);
    expect(code, printed).toBe(0);
  });

  it('works in a CommonJS application, by `require`, also for its workflow bundle', async () => {
    const compiled = await node('typescript/bin/tsc', ['-p', 'commonjs'], app);
    expect(compiled.code, compiled.printed).toBe(0);
    const main = join(app, 'dist/commonjs/main.cjs');
    expect(await readFile(main, 'utf8')).toContain('require("temporal-worktrack")');
    const { version } = await manifest(ROOT);
    expect((await run(process.execPath, [main], app)).printed).toBe(`${version} acme\n`);
    const bundle = `const { bundleWorkflowCode } = require('@temporalio/worker');
      bundleWorkflowCode({ workflowsPath: require.resolve('./dist/commonjs/workflows.cjs'), logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error: console.error } })
        .then(({ code }) => console.log(code.includes('resourceMirrorWorkflow')));`;
    expect((await run(process.execPath, ['-e', bundle], app)).printed).toBe('true\n');
  });

  it('can be tested in the time-skipping environment: a child workflow and the workflow of onPublished', async () => {
    expect((await built()).printed).toBe('');
    const env = { ...process.env, TEMPORAL_TEST_SERVER: inject('servers').testServer };
    const tested = () => run(process.execPath, ['--test', 'dist/test/'], app, env);
    let { code, printed } = await tested();
    // The SDK gives the server, which runs on Java, five seconds to start. A busy machine exceeds them.
    for (let more = 0; more < 10 && printed.includes('did not start within 5s'); more++)
      ({ code, printed } = await tested());
    expect(code, printed).toBe(0);
    expect(printed).toMatch(/pass 1\b/);
  });

  // demo.test.ts runs it; the long test below runs the demo of the package.
  longOnly('runs the demo, even without DuckDB in the application', async () => {
    const { temporalCli, versitygw } = inject('servers');
    const env = {
      ...process.env,
      ...{ FORCE_COLOR: undefined, TEMPORAL_ADDRESS: undefined, WORKTRACK_CONFIG: undefined },
      ...{ WORKTRACK_TEMPORAL_CLI: temporalCli, WORKTRACK_VERSITYGW: versitygw },
    };
    const main = join(installed, 'dist/src/cli/main.js');
    const { code, printed } = await run(process.execPath, [main, 'demo', '--rows', '300'], app, env);
    expect(code, printed).toBe(0);
    expect(printed).toMatch(/computed by (?:DuckDB|this command, without DuckDB)/);
    expect(printed).toContain('all projects');
    const { bin } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as { bin: object };
    // `npx temporal-worktrack` runs the only command of the package, whatever its name.
    expect(Object.keys(bin)).toEqual(['worktrack']);
  });

  // Each installation takes a minute of CPU time. The application of the other tests has only the dependencies in package.json.
  // npm 10 comes with Node 20 and 22.
  describe.each(IS_LONG ? ['10', '11'] : [])(
    'in an empty folder, installed by npm %s as the guide on embedding says',
    (npm) => {
      let place: string;
      const blocks = codeBlocks([pageAt('docs/how-to/embed.md')]).slice(0, 5);
      const [install = '', ...scripts] = blocks.map(({ text }) => text);
      beforeAll(async () => {
        place = join(folder, `empty-${npm}`);
        await mkdir(place);
        const commands = install.replace('./temporal-worktrack-0.2.0.tgz', tarball);
        const args = ['exec', '--yes', `--package=npm@${npm}`, '--', 'bash', '-euc', commands];
        const { code, printed } = await run('npm', args, place, outside());
        expect(code, printed).toBe(0);
      });
      const command = (...args: string[]) =>
        run(join(place, 'node_modules/.bin/worktrack'), args, place, outside());

      it('prints its version, and runs the demo, whose hints can be typed there', async () => {
        const { version } = await manifest(ROOT);
        expect((await command('--version')).stdout).toBe(`${version}\n`);
        const { temporalCli, versitygw } = inject('servers');
        const servers = { WORKTRACK_TEMPORAL_CLI: temporalCli, WORKTRACK_VERSITYGW: versitygw };
        const demo = await run(
          join(place, 'node_modules/.bin/worktrack'),
          ['demo', '--rows', '300'],
          place,
          outside(servers),
        );
        expect(demo.code, demo.printed).toBe(0);
        const [, hint] = /To keep the servers running: `(.+)`$/m.exec(demo.stdout)!;
        expect(hint).toBe('npx worktrack demo --keep');
        const [program = '', ...args] = hint!.replace('demo --keep', '--version').split(' ');
        expect((await run(program, ['--no-install', ...args], place, outside())).stdout).toBe(`${version}\n`);
      });

      it('runs a worker, an export and a replay as the guide on embedding writes them', async () => {
        for (const script of scripts) {
          const [, name = ''] = /^\/\/ (\S+\.js)\n/.exec(script)!;
          await writeFile(join(place, name), script);
        }
        const stack = await startStack({
          connection: 'acme',
          ...{ resources: '[projects]', simulator: { counts: { projects: 3 } } },
        });
        await cp(stack.configFile, join(place, 'worktrack.yaml'));
        const { TEMPORAL_ADDRESS, WORKTRACK_API_KEY, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = stack.env;
        const keys = { TEMPORAL_ADDRESS, WORKTRACK_API_KEY, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY };
        const worker = spawn(process.execPath, ['worker.js'], { cwd: place, env: outside(keys) });
        const ended = once(worker, 'close');
        try {
          const exported = await run(process.execPath, ['export.js'], place, outside(keys));
          expect(exported.printed).toContain("published [ 'projects: 3' ]");
          await until(async () => {
            const replayed = await run(process.execPath, ['replay.js'], place, outside(keys));
            expect(replayed.printed).not.toContain('diverged');
            return /mirror\/projects replayed/.test(replayed.printed);
          }, 'the history of the mirror is listed and replays');
        } finally {
          worker.kill('SIGTERM');
          await ended;
          await stack.stop();
        }
      });
    },
  );

  // To npm, all versions of DuckDB are prereleases, so each tested one is listed in package.json.
  longOnly('writes and reads tables with each version of DuckDB that it allows', async () => {
    const { peerDependencies } = await manifest(ROOT);
    const versions = peerDependencies['@duckdb/node-api']!.split(' || ');
    expect(versions.length).toBeGreaterThan(1);
    const built = 'temporal-worktrack/dist/src/table/';
    const script = `
      import { decodeCheckpoint, encodeCheckpoint } from './node_modules/${built}log/checkpoint.js';
      import { useEngine } from './node_modules/${built}parquet/engine.js';
      const body = await encodeCheckpoint([{ txn: { appId: 'a', version: 7 } }]);
      const version = await useEngine({}, ({ ask }) => ask('version', null));
      console.log(version, JSON.stringify(await decodeCheckpoint(body)));`;
    for (const version of versions) {
      const place = join(folder, `duckdb-${version}`);
      await mkdir(place);
      await writeFile(join(place, 'package.json'), '{"private":true}');
      await writeFile(join(place, 'tables.mjs'), script);
      const packages = [tarball, `@duckdb/node-api@${version}`];
      const npm = await run('npm', ['install', '--no-audit', '--no-fund', ...packages], place, outside());
      expect(npm.code, npm.printed).toBe(0);
      const { stdout, printed } = await run(process.execPath, ['tables.mjs'], place, outside());
      const [release] = version.split('-');
      expect(stdout, printed).toBe(`v${release} [{"txn":{"appId":"a","version":7}}]\n`);
    }
  });

  /** The environment of a user, outside of this project: npm gives its own settings to the processes that it starts. */
  function outside(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    const own = Object.entries(process.env).filter(
      ([name]) =>
        !/^(npm_(?!config_registry)|FORCE_COLOR$|TEMPORAL_|WORKTRACK_|NODE_ENV$|VITEST)/i.test(name),
    );
    return { ...Object.fromEntries(own), ...more };
  }

  describe('an example with a service', () => {
    let stack: Stack;
    beforeAll(async () => {
      stack = await startStack({
        simulator: { awkward: false, counts: { projects: 12, tasks: 30, 'time-entries': 5 } },
        resources: '[projects, tasks, time-entries]',
      });
    });
    afterAll(async () => {
      if (stack !== undefined) await endLocks(stack);
      await stack?.stop();
    });

    describe('the examples', { shuffle: false }, () => {
      let worker: ChildProcess;
      let log = '';
      let env: NodeJS.ProcessEnv;
      const example = (script: string, ...args: string[]) =>
        run(process.execPath, [`dist/${script}`, ...args], app, env);

      beforeAll(async () => {
        expect((await built()).printed).toBe('');
        const config = join(app, 'worktrack.yaml');
        const hook = `    onPublished: { workflow: loadWarehouse, taskQueue: ${stack.taskQueue} }\n`;
        await writeFile(config, (await readFile(stack.configFile, 'utf8')) + hook);
        env = {
          ...stack.env,
          WORKTRACK_CONFIG: config,
          TASK_QUEUE: stack.taskQueue,
          CONNECTION: stack.connection,
        };
        worker = spawn(process.execPath, ['dist/embed-plugin/worker.js'], { cwd: app, env });
        for (const stream of [worker.stdout!, worker.stderr!]) {
          stream.on('data', (chunk) => {
            log += String(chunk);
          });
        }
      });
      afterAll(async () => {
        const exited = once(worker, 'close');
        worker.kill('SIGTERM');
        expect(await exited, log).toEqual([0, null]);
      });

      it('embed-plugin: a worker with the plugin serves a client that follows an export', async () => {
        const { code, stdout, printed } = await example('embed-plugin/export.js');
        expect(code, printed + log).toBe(0);
        expect(JSON.parse(stdout)).toEqual({
          outcome: 'published',
          rows: [
            ['projects', 12],
            ['tasks', 30],
            ['time-entries', 5],
          ],
        });
      });

      it('export-from-workflow: a workflow uses the result of a successful and of a failed export', async () => {
        const { code, stdout, printed } = await example('export-from-workflow/start.js');
        expect(code, printed + log).toBe(0);
        expect(stdout).toBe('47 rows are in the lake\n');
        const fault = stack.simulator.admin.faults.add({
          match: { resource: 'tasks' },
          fault: { kind: 'status', status: 403 },
        });
        const refused = await example('export-from-workflow/start.js');
        stack.simulator.admin.faults.remove(fault);
        expect(refused.stdout, refused.printed).toBe('not exported: tasks\n');
      });

      it('on-published: each published run starts the workflow once', async () => {
        const { client } = stack.temporal;
        const query = `WorkflowId STARTS_WITH 'worktrack/${stack.connection}/on-published/tasks/'`;
        let started: string[] = [];
        // The list is eventually consistent.
        await until(async () => {
          started = [];
          for await (const { workflowId } of client.workflow.list({ query })) started.push(workflowId);
          return started.length >= 2;
        }, 'the workflows are listed');
        // One of each export above; the one that was refused published no tasks.
        expect(started).toHaveLength(2);
        for (const workflowId of started) await client.workflow.getHandle(workflowId).terminate();
      });

      it('write-back-from-rows: writes rows of an iterable once', async () => {
        const before = stack.simulator.admin.records('time-entries').length;
        for (let time = 0; time < 2; time++) {
          const { code, stdout, printed } = await example('write-back-from-rows/main.js', '3');
          expect(code, printed + log).toBe(0);
          expect(JSON.parse(stdout)).toMatchObject({ outcome: 'written', counts: { created: 3 } });
        }
        expect(stack.simulator.admin.records('time-entries')).toHaveLength(before + 3);
      });

      // `write-back-from-rows` writes from an application; `write-back/commands.test.ts` reports faulty lines of files.
      longOnly(
        'write-back-from-app: writes a file once, and reports the faulty line of another',
        async () => {
          const file = await fileIn(stack, timeEntriesCsv(3));
          const first = await example('write-back-from-app/main.js', file);
          expect(first.code, first.printed + log).toBe(0);
          expect(JSON.parse(first.stdout)).toMatchObject({ outcome: 'written', counts: { created: 3 } });
          const records = stack.simulator.admin.records('time-entries').length;
          expect((await example('write-back-from-app/main.js', file)).code).toBe(0);
          expect(stack.simulator.admin.records('time-entries')).toHaveLength(records);
          const faulty = await example('write-back-from-app/main.js', await fileIn(stack, 'a,b\n1\n'));
          expect(faulty.code).toBe(2);
          expect(faulty.printed).toContain('line 2');
        },
      );

      it('can use the simulated service in their tests', async () => {
        const script =
          "const { startSimulator } = await import('temporal-worktrack/simulator');" +
          'const service = await startSimulator({ counts: { projects: 1 } });' +
          "console.log(service.admin.records('projects').length); await service.close();";
        const { stdout, printed } = await run(process.execPath, ['--input-type=module', '-e', script], app);
        expect(stdout, printed).toBe('1\n');
      });
    });

    it('names the packages to install if traces are requested without them', async () => {
      const main = join(installed, 'dist/src/cli/main.js');
      const { code, printed } = await run(process.execPath, [main, 'export', '--traces'], app, {
        ...stack.env,
        WORKTRACK_CONFIG: stack.configFile,
      });
      expect(code, printed).toBe(2);
      expect(printed).toContain("Cannot find package '@opentelemetry/api'");
      const { peerDependenciesMeta } = await manifest(installed);
      // The other optional packages are those for tables, queries and workbooks.
      const needed = Object.keys(peerDependenciesMeta).filter(
        (name) => !/^(@duckdb|fflate|saxes)/.test(name),
      );
      expect(needed).toHaveLength(4);
      // No optional peer, because its own peers pin another version of the SDK, and npm then refuses the installation.
      for (const name of [...needed, '@temporalio/interceptors-opentelemetry-v2'])
        expect(printed).toContain(` ${name}@`);
      expect(printed).not.toContain('    at ');
    });

    it('runs the command, with two copies of protobufjs as a plain installation has them', async () => {
      await detach('@temporalio/common', 'protobufjs');
      const main = join(installed, 'dist/src/cli/main.js');
      const { version } = await manifest(ROOT);
      expect((await run(process.execPath, [main, '--version'], app)).stdout.trim()).toBe(version);
      const history = join(ROOT, 'test/replay/histories/exportWorkflow.published.json');
      const replayed = await run(process.execPath, [main, 'replay', history], app);
      expect(replayed.code, replayed.printed).toBe(0);
    });
  });

  /** Gives the application its own copy of a module, which contains a copy of one dependency. */
  async function detach(name: string, dependency: string): Promise<void> {
    const copy = join(app, 'node_modules', name);
    await rm(copy);
    await cp(join(MODULES, name), copy, { recursive: true });
    const { dependencies } = await manifest(copy);
    for (const one of Object.keys(dependencies)) {
      if (one !== dependency) await link(one);
    }
    await cp(join(MODULES, dependency), join(copy, 'node_modules', dependency), { recursive: true });
  }

  async function link(name: string): Promise<void> {
    const path = join(app, 'node_modules', name);
    if (existsSync(path)) return;
    await mkdir(dirname(path), { recursive: true });
    await symlink(join(MODULES, name), path);
  }
});

async function manifest(of: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(of, 'package.json'), 'utf8')) as Manifest;
}
