import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** The packages that a command loads, as Node's coverage tells; whether the command succeeds does not matter. */
async function loadedBy(...args: string[]): Promise<string[]> {
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
  const packages = files.flatMap((url) => /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
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
});
