import { it } from 'vitest';
import { noticesWorkflowId } from '../../../src/core/contract/index.js';
import { createNoticeSender } from '../../../src/temporal/client/notice-sender.js';
import { until } from '../../support/stack.js';
import { mirrorStatus, record, stack, started } from './recorder.js';

it('records change notices', async () => {
  await started({ yaml: '    sync: { minInterval: 2s }\n' });
  const id = noticesWorkflowId(stack.connection, 'projects');
  const handle = stack.temporal.client.workflow.getHandle(id);
  const send = () => createNoticeSender(stack.temporal, stack)(stack.connection, 'projects', 1);
  const notices = (path: string, runId?: string) => record('changeNoticeWorkflow', path, id, runId);
  await send();
  await handle.result();
  await notices('one');

  // Notices before, during and after the first run lead to two runs with a minimum interval.
  stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    fault: { kind: 'latency', ms: 2_000 },
  });
  for (let i = 0; i < 3; i++) await send();
  await until(async () => (await mirrorStatus()).active?.phase === 'read', 'the run is in progress');
  await send();
  stack.simulator.admin.faults.clear();
  await until(async () => (await mirrorStatus()).active === null, 'the first run has ended');
  await send();
  await handle.result();
  await notices('while-running');

  stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    fault: { kind: 'status', status: 403 },
  });
  await send();
  await handle.result();
  await notices('run-failed');
  stack.simulator.admin.faults.clear();

  stack.simulator.admin.faults.add({
    match: { resource: 'projects' },
    fault: { kind: 'latency', ms: 20_000 },
  });
  await send();
  await until(async () => (await mirrorStatus()).active !== null, 'the run is in progress');
  const { runId } = await handle.describe();
  while ((await handle.describe()).runId === runId) await Promise.all(Array.from({ length: 10 }, send));
  await notices('continued-as-new', runId);
  await handle.cancel();
  await until(async () => (await handle.describe()).status.name === 'CANCELLED', 'it is cancelled');
  await notices('cancelled');
});
