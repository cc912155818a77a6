import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { VERSION } from '../../../src/core/version.js';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { followWriteBack } from '../../../src/temporal/follow/follow-write-back.js';
import { startWorkerProcess } from '../../support/processes.js';
import { RowService, rowOf } from '../../support/row-service.js';
import { type Stack, until } from '../../support/stack.js';
import {
  fileIn,
  stage,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
} from '../../support/write-back.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const ROWS = 60;
const SENT = 15;

/** Installs a later build, whose batches have another layout. Returns its program. */
async function otherBuild(stack: Stack): Promise<string> {
  const folder = join(stack.folder, 'other-build');
  await mkdir(folder);
  for (const name of ['src', 'activities', 'workflows', 'workflow-bundle.js', 'workflow-bundle.versioned.js'])
    await cp(join(ROOT, 'dist', name), join(folder, 'dist', name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const own = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as object;
  await writeFile(join(folder, 'package.json'), JSON.stringify({ ...own, version: '9.8.7' }));
  const layout = join(folder, 'dist/src/write-back/sealed.js');
  const code = await readFile(layout, 'utf8');
  await writeFile(layout, code.replace('BATCH_LAYOUT = 2', 'BATCH_LAYOUT = 3'));
  return resolve(folder, 'dist/src/cli/main.js');
}

it('sends no row of a batch that another build began, names that build, and leaves the rest to it', async () => {
  const service = await RowService.start();
  const stack = await startWriteBackStack({ baseUrl: service.url });
  try {
    let release = (): void => {};
    const held = new Promise<null>((done) => {
      release = () => done(null);
    });
    service.respond = ({ number }) => (number > SENT ? held : null);
    const own = await stack.startWorker();
    const source = { resource: 'time-entries', file: await fileIn(stack, timeEntriesCsv(ROWS)) };
    const input = { ...(await stage(stack, source)), readBack: false };
    const { workflowId } = await startWriteBack(stack.temporal, input, { taskQueue: stack.taskQueue });
    await until(() => service.writes.length > SENT, 'some rows are written, and others are being sent');
    await own.stop();
    release();
    const before = service.writes.length;
    const other = await startWorkerProcess(stack, {}, [], await otherBuild(stack));
    const handle = stack.temporal.client.workflow.getHandle(workflowId);
    const failures = async (): Promise<string> =>
      JSON.stringify((await handle.describe()).raw.pendingActivities?.map((one) => one.lastFailure?.message));
    await until(
      async () => (await failures()).includes('(9.8.7) reads layout 3'),
      'the other build has tried',
    );
    expect(await failures()).toContain(`written by worktrack ${VERSION}`);
    await other.signal('SIGTERM');
    await other.exited;
    expect(service.writes.length).toBe(before);
    await stack.startWorker();
    const result = await followWriteBack(stack.temporal, workflowId);
    expect(result).toMatchObject({ outcome: 'written', counts: { created: ROWS } });
    expect(new Set(service.records.map(rowOf)).size).toBe(ROWS);
    expect(service.records.length).toBe(ROWS);
  } finally {
    await stopWriteBackStack(stack);
    await service.stop();
  }
});
