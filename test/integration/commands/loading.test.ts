import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import module from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import protobuf from 'protobufjs/light.js';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { drawn } from '../../support/seeds.js';

const CLI = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-loading-'));
  const configuration = (lake: string) => `connections:
  acme:
    baseUrl: http://127.0.0.1:9
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { ${lake} }
    resources: [tasks]
`;
  await writeFile(join(folder, 'worktrack.yaml'), configuration(`url: "${pathToFileURL(folder).href}"`));
  await writeFile(
    join(folder, 'bucket.yaml'),
    configuration('url: "s3://bucket/lake", region: us-east-1, endpoint: "http://127.0.0.1:9"'),
  );
});
afterAll(() => {
  vi.unstubAllEnvs();
  return rm(folder, { recursive: true, force: true });
});

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const BUNDLED = 'dist/cli/';

const loaded = new Map<string, Promise<string[]>>();

/**
 * The files that a command loads, as Node's coverage tells; whether the command succeeds does not matter. Each command runs
 * once.
 */
function filesOf(args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const key = JSON.stringify([args, more]);
  const files = loaded.get(key) ?? run(args, more);
  loaded.set(key, files);
  return files;
}

async function run(args: readonly string[], more: NodeJS.ProcessEnv): Promise<string[]> {
  const coverage = await mkdtemp(join(folder, 'coverage-'));
  const env = {
    ...process.env,
    NODE_V8_COVERAGE: coverage,
    WORKTRACK_API_KEY: 'secret',
    WORKTRACK_REACH_TIMEOUT: '1s',
    TEMPORAL_ADDRESS: '127.0.0.1:9',
    AWS_ACCESS_KEY_ID: 'key',
    AWS_SECRET_ACCESS_KEY: 'secret',
    ...more,
  };
  await new Promise((done) => execFile(process.execPath, [CLI, ...args], { cwd: folder, env }, done));
  const [report] = await readdir(coverage);
  const { result } = JSON.parse(await readFile(join(coverage, report!), 'utf8')) as {
    result: { url: string }[];
  };
  return result.flatMap(({ url }) => (url.startsWith('file:') ? fileURLToPath(url) : []));
}

/** DuckDB, and what it needs to find its library. */
const DUCKDB = /^(@duckdb\/.*|detect-libc)$/;

type Packages = Readonly<Record<string, readonly string[]>>;

/** The packages in each file of the bundle. */
async function bundledPackages(): Promise<Packages> {
  return JSON.parse(await readFile(join(ROOT, BUNDLED, 'packages.json'), 'utf8')) as Packages;
}

/** The packages that a command loads, from their own files or from the bundle. */
async function loadedBy(...args: string[]): Promise<string[]> {
  const bundled = await bundledPackages();
  const packages = (await filesOf(args)).flatMap((file) =>
    file.startsWith(join(ROOT, BUNDLED))
      ? bundled[basename(file)]!
      : (/^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []),
  );
  return [...new Set(packages)].sort();
}

/** The fields of each message of `part`, as a protocol has them. */
function fieldsOf(protocol: protobuf.Namespace, part = protocol): Record<string, unknown> {
  const messages = (one: protobuf.ReflectionObject): protobuf.Type[] => [
    ...(one instanceof protobuf.Type ? [one] : []),
    ...(one instanceof protobuf.Namespace ? one.nestedArray.flatMap(messages) : []),
  ];
  return Object.fromEntries(
    messages(part).map(({ fullName }) => [fullName, Object.keys(protocol.lookupType(fullName).fields)]),
  );
}

/** From where a command loads Temporal's client. */
async function clientsOf(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const bundled = await bundledPackages();
  const files = await filesOf(args, env);
  const isBundled = (file: string) =>
    file.startsWith(join(ROOT, BUNDLED)) && bundled[basename(file)]!.includes('@temporalio/client');
  const isOwn = (file: string) => file.includes('/node_modules/@temporalio/client/');
  return [...(files.some(isBundled) ? ['bundle'] : []), ...(files.some(isOwn) ? ['package'] : [])];
}

// Side by side, because most commands wait until their server counts as unreachable.
describe.concurrent('the command line', () => {
  it('loads only its parser and its colors to print help', async () => {
    for (const args of [['--help'], ['export', '--help'], ['--version']])
      expect(await loadedBy(...args), args.join(' ')).toEqual(['commander', 'picocolors']);
  });

  it('loads neither Temporal nor the AWS SDK for commands on a lake in a folder', async () => {
    const configured = ['commander', 'picocolors', 'yaml', 'zod'];
    expect(await loadedBy('config', 'check')).toEqual(configured);
    expect(await loadedBy('ddl')).toEqual(configured);
    expect(await loadedBy('cat', 'tasks')).toEqual([...configured, 'csv-stringify'].sort());
    const query = (await loadedBy('query', 'FROM tasks')).filter((name) => !DUCKDB.test(name));
    expect(query).toEqual([...configured, 'csv-stringify'].sort());
  });

  it('loads a client of Temporal, but no worker and no AWS SDK, to show or start runs', async () => {
    for (const args of [['status'], ['history'], ['export']]) {
      const packages = await loadedBy(...args);
      expect(packages, args.join(' ')).toContain('@temporalio/client');
      expect(packages.filter((name) => /worker|core-bridge|aws|smithy/.test(name))).toEqual([]);
    }
  });

  it('loads no Temporal for commands on a lake in a bucket', async () => {
    for (const args of [['cat', 'tasks'], ['ddl'], ['query', 'FROM tasks']]) {
      const packages = await loadedBy('--config', 'bucket.yaml', ...args);
      expect(packages, args.join(' ')).toContain('@aws-sdk/client-s3');
      expect(packages.filter((name) => /temporal|grpc|protobuf|undici/.test(name))).toEqual([]);
    }
  });

  it('loads of the AWS SDK only what keys in the environment need', async () => {
    const packages = await loadedBy('--config', 'bucket.yaml', 'cat', 'tasks');
    expect(packages).toContain('@aws-sdk/credential-provider-env');
    const others = /nested-clients|token-providers|imds|credential-provider-(?!env$|node$|s$)/;
    expect(packages.filter((name) => others.test(name))).toEqual([]);
  });

  it('finds the keys of a profile with the bundled AWS SDK', async () => {
    await writeFile(
      join(folder, 'keys.json'),
      '{ "Version": 1, "AccessKeyId": "printed", "SecretAccessKey": "secret" }',
    );
    await writeFile(
      join(folder, 'profiles'),
      `[profile kept]
aws_access_key_id = kept
aws_secret_access_key = secret
[profile printed]
credential_process = cat ${join(folder, 'keys.json')}
`,
    );
    vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'profiles'));
    const sdk = module.createRequire(import.meta.url)(join(ROOT, BUNDLED, 'aws-sdk.cjs')) as Pick<
      typeof import('@aws-sdk/credential-providers'),
      'fromNodeProviderChain'
    >;
    for (const profile of ['kept', 'printed'])
      expect(await sdk.fromNodeProviderChain({ profile })()).toMatchObject({ accessKeyId: profile });
  });

  it('loads few files, because Node resolves and opens each of them', async () => {
    for (const [most, ...args] of [
      [5, '--help'],
      [12, 'config', 'check'],
      [20, 'cat', 'tasks'],
      [35, 'status'],
      [35, 'export'],
    ] as const)
      expect((await filesOf(args)).length, args.join(' ')).toBeLessThanOrEqual(most);
  });

  it("loads the SDK of a worker from its packages, and the worker's own code from the bundle", async () => {
    const bundled = await bundledPackages();
    const files = await filesOf(['worker']);
    const names = files.filter((file) => file.startsWith(join(ROOT, BUNDLED))).map((file) => basename(file));
    expect(files.some((file) => file.includes('/node_modules/@temporalio/worker/'))).toBe(true);
    expect(names).toContain('host.cjs');
    expect(names.flatMap((name) => bundled[name]!.filter((one) => one.startsWith('@temporalio/')))).toEqual(
      [],
    );
    expect(files.filter((file) => file.startsWith(join(ROOT, 'dist/src/')))).toEqual([CLI]);
  });

  it('has only ASCII in the bundle, because V8 keeps any other text with two bytes per character', async () => {
    for (const name of (await readdir(join(ROOT, BUNDLED))).filter((one) => one.endsWith('.cjs')))
      expect(await readFile(join(ROOT, BUNDLED, name), 'utf8'), name).toMatch(/^[\0-\x7f]*$/);
  });

  it('has the wrappers of modules as functions, which V8 compiles once, together with their file', async () => {
    for (const name of (await readdir(join(ROOT, BUNDLED))).filter((one) => one.endsWith('.cjs')))
      expect(await readFile(join(ROOT, BUNDLED, name), 'utf8'), name).not.toMatch(
        /\w+Min\(\(\([\w$, ]*\) => \{/,
      );
  });

  it("has a part of the SDK's protocol, unchanged and complete in itself, as text", async () => {
    const bundled = await bundledPackages();
    const [file] = Object.keys(bundled).filter((name) => bundled[name]!.includes('@temporalio/proto'));
    const code = await readFile(join(ROOT, BUNDLED, file!), 'utf8');
    const [, literal] = /\.addJSON\(JSON\.parse\((".*")\)\)/.exec(code)!;
    const part = protobuf.Root.fromJSON({ nested: JSON.parse(JSON.parse(literal!)) }).resolveAll();
    const fromClient = module.createRequire(
      module.createRequire(import.meta.url).resolve('@temporalio/client'),
    );
    const all = fromClient('@temporalio/proto/protos/json-module.js') as protobuf.Root;
    expect(all.toJSON()).toMatchObject(part.toJSON());
    expect(fieldsOf(part)).toEqual(fieldsOf(all, part));
    const calls = part.lookupService('temporal.api.workflowservice.v1.WorkflowService').methods;
    // Calls of the client, of a command, of clients that no command uses, and of none.
    expect(Object.keys(calls)).toEqual(
      expect.arrayContaining(['QueryWorkflow', 'GetSystemInfo', 'ListScheduleMatchingTimes']),
    );
    for (const other of [
      'StartActivityExecution',
      'RespondActivityTaskCompleted',
      'RespondWorkflowTaskCompleted',
    ])
      expect(calls).not.toHaveProperty(other);
  });

  it.runIf('enableCompileCache' in module)('lets Node keep the compiled code of the bundle', async () => {
    const cache = await mkdtemp(join(folder, 'cache-'));
    await filesOf(['config', 'check'], { NODE_COMPILE_CACHE: cache });
    expect(await readdir(cache)).toHaveLength(1);
  });

  it('works without a folder for compiled code', async () => {
    await writeFile(join(folder, 'file'), '');
    const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'file'), TMPDIR: join(folder, 'file') };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [CLI, '--version'], { env });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+/);
    expect(stderr).toBe('');
  });

  it("loads no bundled copy of the SDK together with a module of the user's", async () => {
    await writeFile(join(folder, 'converter.mjs'), 'export const dataConverter = { payloadCodecs: [] };\n');
    const ways: [args: string[], env: NodeJS.ProcessEnv][] = [
      [['status', '--data-converter', 'converter.mjs'], {}],
      [['status', '--data-converter=converter.mjs'], {}],
      [['--data-converter', 'converter.mjs', 'status'], {}],
      [['status'], { WORKTRACK_DATA_CONVERTER: 'converter.mjs' }],
    ];
    for (const [args, env] of drawn(ways, 1, ([words]) => words.length === 1)) {
      expect(await filesOf(args, env)).toContain(await realpath(join(folder, 'converter.mjs')));
      expect(await clientsOf(args, env), args.join(' ')).toEqual(['package']);
    }
  });

  it('loads the bundled copy of the SDK even if an argument has the name of another command', async () => {
    const likeCommands = [
      ['status', '--task-queue', 'worker'],
      ['history', '--namespace=replay'],
      ['export', '--resource', 'tasks', '--task-queue', 'demo'],
    ];
    for (const args of drawn(likeCommands, 1, ([name]) => name === 'status'))
      expect(await clientsOf(args), args.join(' ')).toEqual(['bundle']);
  });

  it('carries the licence of each bundled package', async () => {
    const texts = await readFile(join(ROOT, BUNDLED, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    const lists = JSON.parse(await readFile(join(ROOT, BUNDLED, 'packages.json'), 'utf8')) as Record<
      string,
      readonly string[]
    >;
    const names = new Set(Object.values(lists).flat());
    expect(names.size).toBeGreaterThan(20);
    for (const name of names) expect(texts).toContain(`\n${name} `);
  });
});
