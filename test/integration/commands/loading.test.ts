import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const CLI = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-loading-'));
  await writeFile(
    join(folder, 'worktrack.yaml'),
    `connections:
  acme:
    baseUrl: http://127.0.0.1:9
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "${pathToFileURL(folder).href}" }
    resources: [tasks]
`,
  );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Loaded {
  /** Files of any kind, without Node's own modules. */
  readonly files: readonly string[];
  /** Their packages, such as `commander` and, in the bundle, `temporalio-client`. */
  readonly packages: readonly string[];
}

/** What a command loads, as Node's coverage tells; whether the command succeeds does not matter. */
async function loadedBy(...args: string[]): Promise<Loaded> {
  const coverage = await mkdtemp(join(folder, 'coverage-'));
  const env = {
    ...process.env,
    NODE_V8_COVERAGE: coverage,
    WORKTRACK_API_KEY: 'secret',
    WORKTRACK_REACH_TIMEOUT: '1s',
    TEMPORAL_ADDRESS: '127.0.0.1:9',
  };
  await new Promise((done) => execFile(process.execPath, [CLI, ...args], { cwd: folder, env }, done));
  const [report] = await readdir(coverage);
  const { result } = JSON.parse(await readFile(join(coverage, report!), 'utf8')) as {
    result: { url: string }[];
  };
  const files = result.map(({ url }) => url).filter((url) => url.startsWith('file:'));
  const packages = files.flatMap((url) => {
    const inBundle = /\/dist\/src\/bundle\/packages\/(.+)-[\w-]{8}\.js$/.exec(url)?.[1];
    const installed = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
    return inBundle ?? installed ?? [];
  });
  return { files, packages: [...new Set(packages)].sort() };
}

describe('the command line', () => {
  it('loads nothing but its parser to print help', async () => {
    for (const args of [['--help'], ['export', '--help'], ['--version']])
      expect((await loadedBy(...args)).packages, args.join(' ')).toEqual(['commander']);
  });

  it('loads neither Temporal nor the AWS SDK for commands on a lake in a folder', async () => {
    const configured = ['commander', 'yaml', 'zod'];
    expect((await loadedBy('config', 'check')).packages).toEqual(configured);
    expect((await loadedBy('ddl')).packages).toEqual(configured);
    expect((await loadedBy('cat', 'tasks')).packages).toEqual([...configured, 'csv-stringify'].sort());
  });

  it('names only files that exist', async () => {
    const folders = [dirname(CLI), join(dirname(CLI), '../bundle'), join(dirname(CLI), '../bundle/packages')];
    for (const place of folders) {
      for (const name of (await readdir(place)).filter((one) => one.endsWith('.js'))) {
        const text = await readFile(join(place, name), 'utf8');
        for (const [, to] of text.matchAll(/(?:^import .*?|\bimport\()"(\.[^"]+)"/gm))
          expect(existsSync(join(place, to!)), `${name} imports ${to}`).toBe(true);
      }
    }
  });

  it('loads a client of Temporal, but no worker and no AWS SDK, to show or start runs', async () => {
    for (const args of [['status'], ['history'], ['export']]) {
      const { packages, files } = await loadedBy(...args);
      expect(packages, args.join(' ')).toContain('temporalio-client');
      expect(packages.filter((name) => /worker|core-bridge|aws|smithy|undici/.test(name))).toEqual([]);
      // The commands are bundled. From their own files they would load 500.
      expect(files.length).toBeLessThan(60);
    }
  });
});
