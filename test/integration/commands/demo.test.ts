import { type ChildProcess, exec, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { computeHours, type HoursRow } from '../../../src/cli/demo/hours.js';
import { openStore } from '../../../src/lake/store/index.js';
import { codeBlocks, pageAt } from '../../support/docs.js';
import { longOnly } from '../../support/seeds.js';
import { until } from '../../support/stack.js';

const MAIN = resolve('dist/src/cli/main.js');

describe('`worktrack demo`', () => {
  let folder: string;
  let child: ChildProcess | null = null;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-demo-'));
  });
  afterEach(async () => {
    if (child?.exitCode === null) child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  function demo(...args: string[]): { printed: () => string; noted: () => string; exited: Promise<number> } {
    const { temporalCli, versitygw } = inject('servers');
    const started = spawn(process.execPath, [MAIN, 'demo', ...args], {
      cwd: folder,
      env: {
        ...process.env,
        ...{ FORCE_COLOR: undefined, TEMPORAL_ADDRESS: undefined, WORKTRACK_CONFIG: undefined },
        ...{ WORKTRACK_TEMPORAL_CLI: temporalCli, WORKTRACK_VERSITYGW: versitygw },
      },
    });
    child = started;
    let [out, err] = ['', ''];
    started.stdout.on('data', (chunk) => {
      out += String(chunk);
    });
    started.stderr.on('data', (chunk) => {
      err += String(chunk);
    });
    const exited = once(started, 'close').then(([code]) => Number(code));
    return { printed: () => out, noted: () => err, exited };
  }

  it('fits on one screen, prints what the front page shows, and its table is what DuckDB and the lake say', async () => {
    const { printed, noted, exited } = demo();
    expect(await exited, printed() + noted()).toBe(0);
    const lines = printed().trimEnd().split('\n');
    expect(lines.length, printed()).toBeLessThanOrEqual(24);
    // The path of this checkout can have any length.
    const asTyped = lines.map((line) => line.replace(/node \S+main\.js/, 'worktrack'));
    expect(asTyped.filter((line) => line.length > 80)).toEqual([]);
    expect(noted().match(/deletes are not detected/g)).toHaveLength(1);
    const [front] = codeBlocks([pageAt('README.md')]).filter(({ language }) => language === 'text');
    expect(lines).toEqual(expect.arrayContaining(front!.text.split('\n')));
    expect(printed()).toContain('computed by DuckDB');
    expect(printed()).toContain('Website relaunch, phase 2');
    expect(printed()).toContain('Write-back sends 12 rows; one response is lost; the service has 12 records');
    expect(printed()).toMatch(/^6\. The audit finds [\d,]+ rows, [\d,]+ cells equal$/m);
    const at = join(folder, '.worktrack/demo');
    for (const name of ['report.html', 'hours.sql', 'worktrack.yaml', 's3/demo-lake'])
      await stat(join(at, name));
    expect(await readFile(join(at, 'report.html'), 'utf8')).toContain('Hours by project and week');

    // The command that the demo prints last, while no server runs.
    const [, command] = /^ {3}(.*) 'FROM tasks LIMIT 5'$/m.exec(printed())!;
    const json = await promisify(exec)(`${command} --json < .worktrack/demo/hours.sql`, { cwd: folder });
    const { rows: queried } = JSON.parse(json.stdout) as { rows: HoursRow[] };
    const store = openStore({ url: `file://${join(at, 's3/demo-lake/worktrack')}` });
    const computed = await computeHours(store);
    store.close();
    const rounded = (rows: readonly object[]) =>
      (rows as HoursRow[])
        .map(({ project, week, hours }) => [project, week, Number(hours).toFixed(6)].join('|'))
        .sort();
    expect(rounded(queried)).toEqual(rounded(computed));
    expect(computed.length).toBeGreaterThan(20);
  });

  // `commands/tutorial.test.ts` works with a demo that was left running.
  longOnly('has awkward values only with --awkward, and leaves its servers running with --keep', async () => {
    const { printed, noted, exited } = demo('--rows', '200', '--awkward', '--keep');
    await until(() => printed().includes('In another terminal') || child?.exitCode !== null, 'it waits');
    expect(printed(), noted()).toContain('Ctrl-C stops them');
    const [, url] = /service +(http:\S+)/.exec(printed()) ?? [];
    const key = { Authorization: 'Bearer wt_demo_key_0123456789abcdef' };
    const list = await fetch(`${url}/api/public/v2/time-entries?limit=1000`, { headers: key });
    expect(await list.text()).toContain('onlyInTheLastRecord');
    expect((await stat(join(folder, '.worktrack/demo/env'))).mode & 0o777).toBe(0o600);
    child?.kill('SIGINT');
    expect(await exited).toBe(130);
  });
});
