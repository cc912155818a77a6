import { it } from 'vitest';
import { requestSync } from '../../../src/temporal/client/start.js';
import { until } from '../../support/stack.js';
import { mirror, mirrorStatus, ran, record, stack, started } from './recorder.js';

it('records a rollback and the run after it, and a purge', async () => {
  await started({
    resources: '[time-entries]',
    simulator: { awkward: false, counts: { 'time-entries': 20 } },
  });
  const first = (await stack.export()).runs[0]!.runId!;
  const created = stack.simulator.admin.create('time-entries', { startedAt: new Date().toISOString() });
  await stack.export();
  await ran('rollbackWorkflow', 'to-an-earlier-run', { resource: 'time-entries', to: first });
  await ran('rollbackWorkflow', 'to-no-run', { resource: 'time-entries', to: '20200101T000000Z-00000000' });
  await stack.export();
  await ran('purgeWorkflow', 'of-a-record', { resource: 'time-entries', key: [created] });
  await record('resourceMirrorWorkflow', 'rolled-back-and-purged', stack.mirrorId('time-entries'));
});

it('records a backfill during a nightly run, a failed one, and the update sync', async () => {
  await started({
    simulator: { awkward: false, counts: { projects: 200 } },
    yaml: '    sync: { pageSize: 20 }\n',
  });
  await stack.export();
  const rule = stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    fault: { kind: 'latency', ms: 100 },
  });
  stack.simulator.admin.touch('projects', { count: 100, pick: 'spread' });
  const nightly = stack.export();
  await ran('backfillWorkflow', 'during-a-nightly-run', {});
  await nightly;
  stack.simulator.admin.faults.remove(rule);
  await ran('backfillWorkflow', 'of-no-resource', { resources: ['nothing'] });
  const { connection, taskQueue } = stack;
  await requestSync(stack.temporal, { connection, resource: 'projects' }, { taskQueue });
  await until(async () => (await mirrorStatus()).active === null, 'the mirror rests');
  await mirror('backfilled');
});
