import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { startTemporalDevServer, type TemporalDevServer } from '../../../src/servers/index.js';
import { DEMO_ORGANIZATION, startSimulator } from '../../../src/simulator/index.js';
import { codeBlocks, PAGES, pageAt, shellCommands } from '../../support/docs.js';
import { createDocsWorld, type DocsWorld, FIRST_PAGE, type ShellRun } from '../../support/docs-world.js';
import { idOf } from '../../support/mirrored.js';
import { freePort } from '../../support/ports.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { endLocks } from '../../support/write-back.js';

/** Pages whose commands are run elsewhere: test/integration/commands/tutorial.test.ts, and what CI does. */
const OTHER_PAGES = ['docs/tutorial.md', 'CONTRIBUTING.md'];
const TYPED = [
  pageAt(FIRST_PAGE),
  ...PAGES.filter(({ path }) => ![FIRST_PAGE, ...OTHER_PAGES].includes(path)),
];

/** Commands that run until they are stopped. */
const LASTING = /^worktrack (worker|webhook|simulator)\b/;
/** The message of each of them when it is ready. */
const UP = /Worker on task queue|GET \/readyz|POST \/hooks\/|"url":/;

describe('every command of the documentation, page by page', { shuffle: false }, () => {
  let temporal: TemporalDevServer;
  let stack: Stack;
  let world: DocsWorld;
  let worker: ShellRun | null = null;

  beforeAll(async () => {
    temporal = await startTemporalDevServer({ executable: inject('servers').temporalCli, headless: true });
    stack = await startStack({
      s3: true,
      connection: 'acme',
      temporalAddress: temporal.address,
      resources: '[projects, tasks, time-entries, calendar-entries]',
      simulator: { counts: { projects: 20, tasks: 40, 'time-entries': 60, 'calendar-entries': 10 } },
    });
    world = await createDocsWorld(stack);
    const [file] = codeBlocks([pageAt('docs/how-to/write-back.md')]).filter(
      ({ language }) => language === 'csv',
    );
    const today = new Date().toISOString().slice(0, 10);
    const text = file!.text.replaceAll(/2026-11-\d\d/g, today);
    await writeFile(join(world.folder, 'november.csv'), `${text}\n`);
  });
  afterAll(async () => {
    await ended(worker);
    if (stack !== undefined) await endLocks(stack);
    await stack?.stop();
    await temporal?.stop();
  });

  async function ended(process: ShellRun | null): Promise<void> {
    if (process === null) return;
    process.child.kill('SIGTERM');
    expect(await process.exited, process.printed()).toBe(0);
  }

  /** Runs that replace those of the pages: the newest run of tasks, and the one before. */
  async function runsOfTasks(): Promise<string[]> {
    const { code, stdout } = await world.typed('worktrack history --resource tasks --json');
    expect(code).toBe(0);
    const { resources } = JSON.parse(stdout) as {
      resources: { runs: { runId: string; outcome: string }[] }[];
    };
    return resources[0]!.runs.filter(({ outcome }) => outcome === 'published').map(({ runId }) => runId);
  }

  /** The command with names of this stack in place of the made-up ones. */
  async function concrete(text: string): Promise<string> {
    let result = text
      .replace('https://tracker.example.com', stack.simulator.url)
      .replace('company-lake', stack.bucket)
      .replace('01KM0000000000000000000000', idOf(stack.simulator.admin.records('tasks')[0]!));
    for (const [address] of text.matchAll(/(?:0\.0\.0\.0|127\.0\.0\.1):\d+/g))
      result = result.replace(address, `127.0.0.1:${await freePort()}`);
    if (/20261121T020000Z/.test(result)) {
      const [newest, before] = await runsOfTasks();
      result = result.replace(/20261121T020000Z-\w+/, (text.includes('rollback') ? before : newest)!);
    }
    if (/--dt/.test(result)) {
      const pointer = await stack.store.read('tasks/latest.json' as ObjectKey);
      result = result.replace('2026-11-21', /dt=([\d-]+)/.exec(pointer.toString())![1]!);
    }
    return result;
  }

  /** Prepares the state that a command needs. */
  async function prepare(text: string, page: string): Promise<NodeJS.ProcessEnv> {
    const lake = `s3://${stack.bucket}/lake`;
    const webhook = `    webhook: { listen: "127.0.0.1:${await freePort()}" }\n`;
    if (text.startsWith('worktrack init')) await rm(join(world.folder, 'worktrack.yaml'), { force: true });
    else await world.writeConfig('worktrack.yaml', { lake, more: webhook, page });
    // A second Temporal server would take over the lake.
    if (text.includes('--local')) {
      return {
        WORKTRACK_CONFIG: await world.writeConfig('local.yaml', { lake: `s3://${stack.bucket}/local` }),
      };
    }
    // Not every machine has DuckDB's extension for S3.
    if (page === 'docs/how-to/query.md' && !text.includes('athena')) {
      return {
        WORKTRACK_CONFIG: await world.writeConfig('folder.yaml', {
          lake: pathToFileURL(stack.lakeFolder).href,
        }),
      };
    }
    return {};
  }

  async function last(process: ShellRun, text: string): Promise<void> {
    await until(() => {
      if (process.child.exitCode !== null) throw new Error(`it ended: ${process.printed()}`);
      return UP.test(process.printed());
    }, `${text} is up`);
    if (!text.startsWith('worktrack worker')) return ended(process);
    worker = process;
    const [, health] = /--health (\S+)/.exec(text) ?? [];
    if (health !== undefined)
      await until(async () => (await fetch(`http://${health}/readyz`)).ok, 'the worker is ready');
    const [, metrics] = /--metrics (\S+)/.exec(text) ?? [];
    if (metrics !== undefined)
      await until(
        async () => (await (await fetch(`http://${metrics}/metrics`)).text()).includes('temporal_'),
        'there are metrics',
      );
  }

  const commands = shellCommands(codeBlocks(TYPED)).filter(({ notRun }) => notRun === null);
  it.each(commands)('$page, line $line: $text', async ({ text, page }) => {
    const env = await prepare(text, page);
    const typed = await concrete(text);
    if (text.startsWith('worktrack worker')) {
      await ended(worker);
      worker = null;
    }
    if (LASTING.test(text)) return last(world.shell(`exec ${typed}`, env), typed);
    // A version can be made current as soon as the server has seen a worker of it.
    const patient = text.startsWith('temporal worker deployment');
    let run = await world.typed(typed, env);
    if (patient) {
      await until(async () => {
        if (run.code === 0) return true;
        run = await world.typed(typed, env);
        return false;
      }, text);
    }
    expect(run.code, run.printed).toBe(0);
  });

  it('runs in this test, apart from a few that a mark on the page explains', () => {
    const all = shellCommands(codeBlocks(TYPED));
    expect(commands.length).toBeGreaterThan(50);
    // Another test runs the others.
    const untested = all.filter(({ notRun }) => {
      const [test] = /test\/\S+\.test\.ts/.exec(notRun ?? '') ?? [];
      return notRun !== null && (test === undefined || !existsSync(test));
    });
    expect(untested.length).toBeLessThan(16);
  });

  it('shows in the page on troubleshooting what doctor prints', async () => {
    const simulator = await startSimulator({
      counts: { projects: 1, tasks: 1, 'time-entries': 1, 'calendar-entries': 1 },
      keys: [
        {
          ...{ key: 'half-a-key', name: 'half', organization: DEMO_ORGANIZATION },
          grants: ['projects:read', 'time-entries:read', 'calendar-entries:read'],
        },
      ],
    });
    try {
      const page = 'docs/how-to/troubleshoot.md';
      const [shown] = codeBlocks([pageAt(page)]).filter(({ language }) => language === 'text');
      await world.writeConfig('worktrack.yaml', {
        lake: `s3://${stack.bucket}/lake`,
        service: simulator.url,
      });
      const { exited, printed } = world.shell('worktrack doctor', { WORKTRACK_API_KEY: 'half-a-key' });
      expect(await exited, printed()).toBe(3);
      // The width of the columns depends on the checks that are shown.
      const linesOf = (text: string): string[] => text.split('\n').map((line) => line.replace(/\s+/g, ' '));
      const lines = linesOf(printed().replaceAll(simulator.url, 'https://tracker.example.com'));
      expect(lines).toEqual(expect.arrayContaining(linesOf(shown!.text)));
    } finally {
      await simulator.close();
    }
  });

  it('results in a lake without problems', async () => {
    await world.writeConfig('worktrack.yaml', { lake: `s3://${stack.bucket}/lake` });
    const { code, printed } = await world.typed('worktrack verify');
    expect(code, printed).toBe(0);
  });

  it('leaves nothing in the lake that docs/reference/lake.md does not list', async () => {
    // The run after the rollback moves aside what it left behind.
    const { code, printed } = await world.typed('worktrack export');
    expect(code, printed).toBe(0);
    const layout = codeBlocks([pageAt('docs/reference/lake.md')])
      .filter(({ language }) => language === '')
      .flatMap(({ text }) => text.split('\n'))
      .map((line) => patternOf(line.split(' ')[0]!));
    const keys: string[] = [];
    for await (const { key } of stack.store.list('')) keys.push(key);
    expect(keys.length).toBeGreaterThan(50);
    expect(keys.filter((key) => !layout.some((pattern) => pattern.test(key)))).toEqual([]);
    // Staged and quarantined files are removed or rare, and tables and checks are not configured here.
    const missing = layout.filter((pattern) => !keys.some((key) => pattern.test(key)));
    expect(missing.map(String).filter((pattern) => !/_staging|_quarantine|table/.test(pattern))).toEqual([]);
  });

  // demo.test.ts compares what it prints with the front page.
  it('begins with a demo, the last step of `npm run demo`', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const [, step] = /&& node dist\/src\/cli\/main\.js (demo)$/.exec(scripts.demo!) ?? [];
    expect(step).toBe('demo');
  });
});

/** What a line of the lake's layout stands for. */
function patternOf(line: string): RegExp {
  const pattern = line
    .replace('<lake>/', '')
    .replace(/[.]/g, '\\.')
    .replace('dt=2026-11-21', 'dt=\\d{4}-\\d\\d-\\d\\d')
    .replace('<runId>', '\\d{8}T\\d{6}Z-[0-9a-f]{8}')
    .replace(/<\w+>/g, '[\\w-]+')
    .replaceAll('*', '[^/]*')
    .replace('\\.\\.\\.', '.+');
  return new RegExp(`^${pattern}$`);
}
