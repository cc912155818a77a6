import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { METRICS } from '../../../src/core/metrics.js';
import { VERSION } from '../../../src/core/version.js';
import { freePort } from '../../support/ports.js';
import { startCommand, startWorkerProcess } from '../../support/processes.js';
import { scrape } from '../../support/prometheus.js';
import { longOnly } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const ROWS = 25;

describe('the metrics of a worker', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('count every run, page, request and wait, by connection and resource, and contain no secret', async () => {
    stack = await startStack({
      simulator: { seed: 3, awkward: false, counts: { projects: ROWS, tasks: 5 } },
      resources: '[projects, tasks, { name: invoices, path: invoices }]',
      yaml: '    sync: { pageSize: 10 }\n',
    });
    const address = `127.0.0.1:${await freePort()}`;
    await startWorkerProcess(stack, {}, ['--metrics', address]);
    stack.simulator.admin.faults.add({
      match: { resource: 'projects' },
      fault: { kind: 'status', status: 429, retryAfter: 1 },
      remaining: 1,
    });
    expect((await stack.export()).outcome).toBe('failed');
    const of = (name: string, resource: string, more: Record<string, string> = {}) => ({
      name,
      labels: { connection: stack.connection, resource, ...more },
    });
    /** Metrics per connection have no label for the resource. */
    const all = (name: string, more: Record<string, string> = {}) => ({
      name,
      labels: { connection: stack.connection, ...more },
    });
    const first = await scrape(address);
    const pages = Math.ceil(ROWS / 10) + 1;
    expect(first.value(of('worktrack_runs_total', 'projects', { outcome: 'published' }))).toBe(1);
    expect(first.value(of('worktrack_runs_total', 'invoices', { outcome: 'failed' }))).toBe(1);
    // The service asked for a second, so the run took longer than one.
    expect(first.value(of('worktrack_run_seconds_total', 'projects'))).toBeGreaterThanOrEqual(1);
    expect(first.value(all('worktrack_changed_rows_total', { outcome: 'inserted' }))).toBe(ROWS + 5);
    expect(first.value(of('worktrack_snapshot_rows', 'projects'))).toBe(ROWS);
    expect(first.value(all('worktrack_fetched_pages_total'))).toBe(pages);
    expect(first.value(all('worktrack_fetched_rows_total'))).toBe(ROWS + 5);
    const bytes = first.value(all('worktrack_fetched_bytes_total'))!;
    const { admin } = stack.simulator;
    const sent = [...admin.records('projects', 'listed'), ...admin.records('tasks', 'listed')].join(
      '',
    ).length;
    expect(bytes).toBeGreaterThan(sent);
    expect(bytes).toBeLessThan(2 * sent);
    expect(first.value(all('worktrack_requests_total', { outcome: 'ok' }))).toBe(pages);
    expect(first.value(all('worktrack_requests_total', { outcome: 'throttled' }))).toBe(1);
    expect(first.value(all('worktrack_requests_total', { outcome: 'not-found' }))).toBe(1);
    expect(first.value(all('worktrack_rate_limit_waits_total'))).toBeGreaterThanOrEqual(1);
    expect(first.value(all('worktrack_rate_limit_wait_seconds_total'))).toBeGreaterThanOrEqual(1);
    expect(first.value(all('worktrack_merge_seconds_total'))).toBeGreaterThanOrEqual(0);
    // The overlap, at least: what changed within it is read again.
    const freshness = first.value(of('worktrack_freshness_seconds', 'projects'))!;
    expect(freshness).toBeGreaterThanOrEqual(300);
    expect(freshness).toBeLessThan(600);

    stack.simulator.admin.touch('projects', { count: 2, pick: 'spread' });
    await stack.export({ resources: ['projects'] });
    const second = await scrape(address);
    expect(second.value(of('worktrack_runs_total', 'projects', { outcome: 'published' }))).toBe(2);
    expect(second.value(all('worktrack_changed_rows_total', { outcome: 'updated' }))).toBe(2);

    expect(second.value(of('worktrack_never_published', 'projects'))).toBe(0);
    expect(second.value(of('worktrack_never_published', 'invoices'))).toBe(1);
    expect(second.value({ name: 'worktrack_build_info', labels: { version: VERSION } })).toBe(1);
    const known = new Set<string>(Object.values(METRICS).map(({ name }) => name));
    const ours = second.samples.filter(({ name }) => name.startsWith('worktrack_'));
    for (const { name, labels } of ours) {
      expect(known, name).toContain(name);
      for (const label of Object.keys(labels)) expect(LABELS, name).toContain(label);
    }
    expect(second.text).not.toContain(stack.env.WORKTRACK_API_KEY);
    expect(second.text).not.toContain(stack.env.AWS_SECRET_ACCESS_KEY);
  });

  // test/unit/temporal/telemetry.test.ts: "have at most 66 series for a connection with four resources".
  longOnly('have at most 66 lines for a connection with four resources', async () => {
    stack = await startStack({
      simulator: {
        awkward: false,
        counts: { projects: 3, tasks: 3, 'time-entries': 3, 'calendar-entries': 3 },
      },
      resources: '[projects, tasks, time-entries, calendar-entries]',
    });
    const address = `127.0.0.1:${await freePort()}`;
    await startWorkerProcess(stack, {}, ['--metrics', address]);
    expect((await stack.export()).outcome).toBe('published');
    stack.simulator.admin.faults.add({
      match: { resource: 'tasks' },
      fault: { kind: 'status', status: 403 },
    });
    expect((await stack.export()).outcome).toBe('refused');
    const { text } = await scrape(address);
    const lines = text.split('\n').filter((line) => line.includes(`connection="${stack.connection}"`));
    expect(lines.length).toBeGreaterThan(20);
    expect(lines.length).toBeLessThanOrEqual(66);
  });

  it('show the age of the data in the lake even if this worker has published nothing', async () => {
    stack = await startStack({ simulator: { counts: { projects: 3 } }, resources: '[projects, tasks]' });
    const other = await stack.startWorker();
    await stack.export({ resources: ['projects'] });
    await other.stop();
    const address = `127.0.0.1:${await freePort()}`;
    await startWorkerProcess(stack, {}, ['--metrics', address]);
    const labels = { connection: stack.connection, resource: 'projects' };
    await until(async () => {
      // The worker of before counts as polling for a while, so this one may not listen yet.
      const found = await scrape(address).catch(() => null);
      return (found?.value({ name: 'worktrack_freshness_seconds', labels }) ?? null) !== null;
    }, 'the freshness is measured');
    expect((await scrape(address)).value({ name: 'worktrack_snapshot_rows', labels })).toBe(3);
  });

  it('exit with 2 for an address that is not available', async () => {
    stack = await startStack({ resources: '[projects]' });
    const run = async (address: string) => {
      const command = startCommand(stack, ['worker', '--config', stack.configFile, '--metrics', address]);
      return { code: await command.exited, ...(await command.output()) };
    };
    const bad = await run('nonsense');
    expect(bad.code).toBe(2);
    expect(bad.stderr).toContain('--metrics: found');
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
    const { port } = taken.address() as { port: number };
    const busy = await run(`127.0.0.1:${port}`);
    taken.close();
    expect(busy.code).toBe(2);
    expect(busy.stderr).toContain(`cannot serve metrics on 127.0.0.1:${port}`);
  });
});

/** The last one is of the SDK's exporter. */
const LABELS = ['connection', 'resource', 'outcome', 'version', 'node_version', 'service_name', 'namespace'];
