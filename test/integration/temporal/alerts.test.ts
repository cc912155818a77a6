import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { DEMO_ORGANIZATION } from '../../../src/simulator/index.js';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { freePort } from '../../support/ports.js';
import { startWorkerProcess } from '../../support/processes.js';
import { type Sample, type Scrape, scrape } from '../../support/prometheus.js';
import { findPromtool } from '../../support/promtool.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { endLocks, fileIn, stage, timeEntriesCsv, writeBack } from '../../support/write-back.js';

const ALERTS = resolve(import.meta.dirname, '../../../src/assets/prometheus-alerts.yaml');
const promtool = findPromtool();
const KEY = 'wt_alerts_5c1d';
/** Minutes between two samples. Prometheus takes a series without a sample for five minutes as ended. */
const STEP = 2;
/** Samples with the values of the healthy worker. */
const HEALTHY = 30;
const HOURS = 36;

describe.skipIf(promtool === null)('the alerts, on the metrics of a real worker', () => {
  let stack: Stack;
  afterEach(async () => {
    await endLocks(stack);
    await stack.stop();
  });

  it('are silent while all is well, and each fires for its cause', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { projects: 5, tasks: 5, 'time-entries': 5 } },
      apiKey: KEY,
      resources: '[projects, tasks, time-entries, { name: invoices, path: invoices }]',
    });
    const { admin } = stack.simulator;
    admin.keys.add({
      ...{ key: KEY, name: 'alerts', organization: DEMO_ORGANIZATION },
      grants: ['projects:read', 'time-entries:read', 'time-entries:write'],
    });
    const address = `127.0.0.1:${await freePort()}`;
    await startWorkerProcess(stack, {}, ['--metrics', address]);
    const { connection } = stack;
    const value = async (name: string, labels: Record<string, string> = {}) =>
      (await scrape(address)).value({ name: `worktrack_${name}`, labels: { connection, ...labels } });

    // Healthy: two published resources and a batch that is written.
    await stack.export({ resources: ['projects', 'time-entries'] });
    expect((await writeBack(stack, await batch(timeEntriesCsv(3)))).outcome).toBe('written');
    const healthy = await scrape(address);

    // Sick: a grant is missing, a list does not exist, a row is invalid, and the service throttles and then fails.
    await stack.export({ resources: ['tasks', 'invoices'] });
    const rejected = 'description,durationSeconds:integer,startedAt\nx,-1,x\n';
    expect((await writeBack(stack, await batch(rejected))).counts.rejected).toBe(1);
    const throttled = { kind: 'status', status: 429, retryAfter: 0 } as const;
    admin.faults.add({ match: { resource: 'projects' }, fault: throttled, remaining: 4 });
    await stack.export({ resources: ['projects'] });
    const busy = await scrape(address);
    admin.faults.add({ fault: { kind: 'status', status: 503 } });
    const open = await stage(stack, await batch(timeEntriesCsv(2, 10)));
    await startWriteBack(stack.temporal, open, { taskQueue: stack.taskQueue });
    const handle = await stack.temporal.client.workflow.start('exportWorkflow', {
      workflowId: `${connection}-sick`,
      taskQueue: stack.taskQueue,
      args: [{ connection, resources: ['projects'] }],
    });
    await until(
      async () =>
        ((await value('run_retrying_seconds', { resource: 'projects' })) ?? 0) > 0 &&
        ((await value('write_back_oldest_open_batch_age_seconds')) ?? 0) > 0,
      'the run retries and the batch is open',
    );
    const sick = await scrape(address);
    await handle.terminate('end of the test');

    const of = (resource: string) => ({ connection, resource });
    const fires = (alertname: string, hour: number, labels: object, severity = 'warning') => ({
      expr: `ALERTS{alertname="${alertname}", alertstate="firing"}`,
      eval_time: `${hour * 60 + HEALTHY * STEP}m`,
      exp_samples: [
        { labels: seriesText('ALERTS', { alertname, alertstate: 'firing', severity, ...labels }), value: 1 },
      ],
    });
    const neverAt = (hour: number) => ({
      expr: 'ALERTS{alertstate="firing"}',
      eval_time: `${hour}h`,
      exp_samples: [],
    });
    const tests = [
      {
        name: 'healthy',
        input_series: seriesOf(healthy, healthy).filter(isPublished),
        promql_expr_test: [1, 12, 30].map(neverAt),
      },
      {
        name: 'sick',
        input_series: seriesOf(healthy, sick),
        promql_expr_test: [
          { ...neverAt(0), eval_time: `${(HEALTHY - 1) * STEP}m` },
          fires('WorktrackRunRefused', 0.5, of('tasks'), 'critical'),
          fires('WorktrackRunFailed', 0.5, of('invoices')),
          fires('WorktrackRowsNotWritten', 0.5, { connection }),
          fires('WorktrackRunRetrying', 1, of('projects')),
          fires('WorktrackWriteBackOpen', 7, { connection }),
        ],
      },
      {
        name: 'throttled',
        input_series: seriesOf(healthy, busy),
        promql_expr_test: [fires('WorktrackThrottled', 1.5, { connection })],
      },
      {
        name: 'for longer than a day',
        input_series: seriesOf(healthy, sick).map((one) => ({ ...one, values: `${one.values} stale` })),
        promql_expr_test: [
          {
            ...fires('WorktrackDataTooOld', 28, of('projects'), 'critical'),
            expr: 'ALERTS{alertname="WorktrackDataTooOld", alertstate="firing", resource="projects"}',
          },
          {
            ...fires('WorktrackNeverPublished', 28, of('invoices')),
            expr: 'ALERTS{alertname="WorktrackNeverPublished", alertstate="firing", resource="invoices"}',
          },
          fires('WorktrackNoWorker', HOURS + 2, {}, 'critical'),
        ],
      },
    ];
    const file = join(stack.folder, 'alerts.test.yaml');
    const all = {
      rule_files: [ALERTS],
      evaluation_interval: '1m',
      tests: tests.map((one) => ({ interval: `${STEP}m`, ...one })),
    };
    await writeFile(file, stringify(all, { aliasDuplicateObjects: false }));
    const checked = spawnSync(promtool!, ['test', 'rules', file], { encoding: 'utf8' });
    expect(`${checked.stdout}${checked.stderr}`).toContain('SUCCESS');
    expect(checked.status).toBe(0);

    async function batch(csv: string) {
      return { resource: 'time-entries', file: await fileIn(stack, csv) } as const;
    }
  });
});

/** The other resources have no published run from the beginning. */
function isPublished({ series }: { readonly series: string }): boolean {
  return !/resource="(tasks|invoices)"/.test(series);
}

/**
 * What Prometheus has stored: the values of the first scrape for an hour, then those of the second. After that, ages grow
 * with the time, and requests come at the rate of the second scrape; everything else stays as it is.
 */
function seriesOf(before: Scrape, after: Scrape): { series: string; values: string }[] {
  return after.samples
    .filter(({ name }) => name.startsWith('worktrack_'))
    .map((sample) => ({
      series: seriesText(sample.name, sample.labels),
      values: valuesOf(sample, before, after),
    }));
}

function valuesOf({ name, labels, value }: Sample, before: Scrape, after: Scrape): string {
  const first = before.value({ name, labels });
  const steps = (HOURS * 60) / STEP;
  const isSick = before !== after;
  const grows =
    isSick && /_seconds$/.test(name)
      ? STEP * 60 * Math.sign(value)
      : isSick && /requests_total$/.test(name)
        ? value - (first ?? 0)
        : 0;
  return `${first === null ? `_x${HEALTHY}` : `${first}x${HEALTHY - 1}`} ${value}+${grows}x${steps}`;
}

function seriesText(name: string, labels: object): string {
  const shown = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return `${name}{${shown.join(', ')}}`;
}
