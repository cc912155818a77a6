import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

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
afterAll(() => rm(folder, { recursive: true, force: true }));

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const BUNDLED = 'dist/cli/';

/** The files that a command loads, as Node's coverage tells; whether the command succeeds does not matter. */
async function filesOf(args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<string[]> {
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

/** The packages that a command loads, from their own files or from the bundle. */
async function loadedBy(...args: string[]): Promise<string[]> {
  const bundled = JSON.parse(await readFile(join(ROOT, BUNDLED, 'packages.json'), 'utf8')) as Record<
    string,
    readonly string[]
  >;
  const packages = (await filesOf(args)).flatMap((file) =>
    file.startsWith(join(ROOT, BUNDLED))
      ? bundled[basename(file)]!
      : (/^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []),
  );
  return [...new Set(packages)].sort();
}

describe('the command line', () => {
  it('loads only its parser and its colors to print help', async () => {
    for (const args of [['--help'], ['export', '--help'], ['--version']])
      expect(await loadedBy(...args), args.join(' ')).toEqual(['commander', 'picocolors']);
  });

  it('loads neither Temporal nor the AWS SDK for commands on a lake in a folder', async () => {
    const configured = ['commander', 'picocolors', 'yaml', 'zod'];
    expect(await loadedBy('config', 'check')).toEqual(configured);
    expect(await loadedBy('ddl')).toEqual(configured);
    expect(await loadedBy('cat', 'tasks')).toEqual(configured);
  });

  it('loads a client of Temporal, but no worker and no AWS SDK, to show or start runs', async () => {
    for (const args of [['status'], ['history'], ['export']]) {
      const packages = await loadedBy(...args);
      expect(packages, args.join(' ')).toContain('@temporalio/client');
      expect(packages.filter((name) => /worker|core-bridge|aws|smithy/.test(name))).toEqual([]);
    }
  });

  it('loads no Temporal for commands on a lake in a bucket', async () => {
    for (const args of [['cat', 'tasks'], ['ddl']]) {
      const packages = await loadedBy('--config', 'bucket.yaml', ...args);
      expect(packages, args.join(' ')).toContain('@aws-sdk/client-s3');
      expect(packages.filter((name) => /temporal|grpc|protobuf|undici/.test(name))).toEqual([]);
    }
  });

  it('loads few files, because Node resolves and opens each of them', async () => {
    for (const [most, ...args] of [
      [15, '--help'],
      [25, 'config', 'check'],
      [45, 'cat', 'tasks'],
      [60, 'status'],
      [60, 'export'],
    ] as const)
      expect((await filesOf(args)).length, args.join(' ')).toBeLessThanOrEqual(most);
  });

  it('keeps the compiled code of the bundle, and makes it again only if it is damaged', async () => {
    const env = { XDG_CACHE_HOME: await mkdtemp(join(folder, 'cache-')), WORKTRACK_CACHE: '' };
    const kept = join(env.XDG_CACHE_HOME, 'temporal-worktrack', 'compiled-commands');
    const written = async () =>
      Promise.all(
        (await readdir(kept)).sort().map(async (name) => [name, (await stat(join(kept, name))).ino]),
      );
    await filesOf(['config', 'check'], env);
    const first = await written();
    expect(first.length).toBeGreaterThan(5);
    await filesOf(['config', 'check'], env);
    expect(await written()).toEqual(first);
    const [[damaged]] = first as [[string]];
    await writeFile(join(kept, damaged), 'no code');
    await filesOf(['config', 'check'], env);
    expect((await stat(join(kept, damaged))).size).toBeGreaterThan(100);
    expect((await written()).slice(1)).toEqual(first.slice(1));
  });

  it('works without a folder for compiled code', async () => {
    await writeFile(join(folder, 'file'), '');
    for (const place of ['/dev/null/none', join(folder, 'file')]) {
      const env = { ...process.env, WORKTRACK_CACHE: place };
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [CLI, '--version'], { env });
      expect(stdout).toMatch(/^\d+\.\d+\.\d+/);
      expect(stderr).toBe('');
    }
  });

  it('leaves every import of the bundle to its loader', async () => {
    for (const name of (await readdir(join(ROOT, BUNDLED))).filter((one) => one.endsWith('.cjs')))
      expect(await readFile(join(ROOT, BUNDLED, name), 'utf8'), name).not.toMatch(/\bimport\(/);
  });

  it("loads no bundled copy of the SDK together with a module of the user's", async () => {
    await writeFile(join(folder, 'converter.mjs'), 'export const dataConverter = { payloadCodecs: [] };\n');
    for (const [args, env] of [
      [['status', '--data-converter', 'converter.mjs'], {}],
      [['status'], { WORKTRACK_DATA_CONVERTER: 'converter.mjs' }],
    ] as const) {
      const files = await filesOf(args, env);
      expect(files).toContain(await realpath(join(folder, 'converter.mjs')));
      expect(files.filter((file) => file.startsWith(join(ROOT, BUNDLED)))).toEqual([]);
    }
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
