import { it } from 'vitest';
import { tableKeys } from '../../../src/lake/documents/lake-layout.js';
import { ran, record, stack, started } from './recorder.js';

it('records a table that follows runs, a rollback and a purge, and a step that fails', async () => {
  await started({
    resources: '[time-entries]',
    simulator: { awkward: false, counts: { 'time-entries': 20 } },
    yaml: '    tables: { format: delta }\n',
  });
  const first = (await stack.export()).runs[0]!.runId!;
  const created = stack.simulator.admin.create('time-entries', { startedAt: new Date().toISOString() });
  const damaged = tableKeys('time-entries').commit(1);
  await stack.store.write(damaged, Buffer.from('{"add":'));
  await stack.export();
  await stack.store.remove([damaged]);
  await stack.export();
  await ran('rollbackWorkflow', 'with-a-table', { resource: 'time-entries', to: first });
  await stack.export();
  await ran('purgeWorkflow', 'with-a-table', { resource: 'time-entries', key: [created] });
  await record('resourceMirrorWorkflow', 'with-a-table', stack.mirrorId('time-entries'));
});
