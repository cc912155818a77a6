import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startExport, startWriteBack } from '../../../src/temporal/client/start.js';
import { type ExportView, followExport } from '../../../src/temporal/follow/follow-export.js';
import { followWriteBack, type WriteBackView } from '../../../src/temporal/follow/follow-write-back.js';
import { type RecordedHistory, replayHistories } from '../../../src/temporal/replay.js';
import { readStatus } from '../../../src/temporal/status/status.js';
import { dataConverter } from '../../support/encryption.mjs';
import { holdAnswer } from '../../support/hold.js';
import { runCommand, startCommand, startWorkerProcess } from '../../support/processes.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { endLocks, fileIn, stage, timeEntriesCsv } from '../../support/write-back.js';

shortenBackOffs();

const MODULE = fileURLToPath(new URL('../../support/encryption.mjs', import.meta.url));

describe("a user's encrypting data converter", { shuffle: false }, () => {
  let stack: Stack;
  /** The worker of this process. It bundles the workflows with the converter, which takes seconds of CPU time. */
  let worker: Awaited<ReturnType<Stack['startWorker']>>;
  beforeAll(async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { projects: 30 } },
      resources: '[projects, { name: nothing, path: nothing }]',
      yaml: '    sync: { pageSize: 10 }\n',
      dataConverter,
    });
    worker = await stack.startWorker();
  });
  afterAll(() => stack?.stop());

  it('an export is followed to its end, with the page and the failure of the current attempt', async () => {
    const { faults } = stack.simulator.admin;
    const trouble = { match: { resource: 'projects' }, fault: { kind: 'status', status: 503 } } as const;
    faults.add(trouble);
    const workflowId = await startExport(
      stack.temporal,
      { connection: stack.connection },
      { taskQueue: stack.taskQueue },
    );
    let last: ExportView | null = null;
    const following = followExport(stack.temporal, workflowId, {
      everyMs: 50,
      onView(view) {
        last = view;
      },
    });
    following.catch(() => {});
    const projects = () => last?.resources.find(({ resource }) => resource === 'projects');
    await until(() => (projects()?.failure ?? null) !== null, 'an attempt has failed');
    expect(projects()!.failure!.message).toContain('503');
    const held = holdAnswer(stack.simulator, { resource: 'projects', page: 2 });
    faults.clear();
    // Only a heartbeat knows of pages while the activity is still reading.
    const isReading = () => {
      const { stage, pages } = projects()!;
      return stage === 'read' && pages > 0 && pages < 3;
    };
    await until(isReading, 'a view has pages');
    held.release();
    const result = await following.catch((error: unknown) => error);
    // What fails carries its outcomes in the failure, which is encrypted too.
    expect(result).toMatchObject({
      outcome: 'failed',
      runs: [
        { resource: 'projects', outcome: 'published', rows: 30 },
        { resource: 'nothing', outcome: 'failed' },
      ],
    });
    const [status] = await readStatus(stack.temporal, stack.settings.connections[0]!, stack.store);
    expect(status).toMatchObject({ name: 'projects', source: 'mirror', rows: 30 });
  });

  it('a batch is followed to its end, with the rows and the failure of the current attempt', async () => {
    const { faults } = stack.simulator.admin;
    const writes = { resource: 'time-entries' };
    faults.add({ match: writes, fault: { kind: 'status', status: 503 } });
    const file = await fileIn(stack, timeEntriesCsv(80));
    const input = await stage(stack, { resource: 'time-entries', file });
    const { workflowId } = await startWriteBack(
      stack.temporal,
      { ...input, readBack: false },
      { taskQueue: stack.taskQueue },
    );
    let last: WriteBackView | null = null;
    const following = followWriteBack(stack.temporal, workflowId, {
      everyMs: 50,
      onView(view) {
        last = view;
      },
    });
    following.catch(() => {});
    const view = () => last;
    await until(() => (view()?.failure ?? null) !== null, 'an attempt has failed');
    expect(view()!.failure!.message).toContain('rows have no known outcome');
    const held = holdAnswer(stack.simulator, writes);
    faults.clear();
    // Only a heartbeat knows of rows while the activity is still sending.
    const isSending = () => {
      const { stage, done } = view()!;
      return stage === 'send' && done > 0 && done < 80;
    };
    await until(isSending, 'a view has rows');
    held.release();
    expect(await following).toMatchObject({ outcome: 'written', counts: { created: 80 } });
    await endLocks(stack);
  });

  it('no payload and no failure of a history can be read without the key, and all replay with it', async () => {
    const seen = new Set<string>();
    const histories: RecordedHistory[] = [];
    let payloads = 0;
    for await (const { type, workflowId, runId } of stack.workflows()) {
      if (type !== 'workerConfigurationWorkflow') seen.add(workflowId);
      const history = await stack.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
      visit(history.events!, (key, value) => {
        if (key === 'encoding') {
          payloads++;
          expect(Buffer.from(value as Uint8Array).toString()).toBe('binary/encrypted');
        }
        if (key === 'message' && value !== '') expect(value).toBe('Encoded failure');
        if (key === 'stackTrace') expect(value).toBe('');
      });
      histories.push({ name: workflowId, history });
    }
    for await (const replayed of replayHistories(histories, { dataConverter }))
      expect(replayed).toMatchObject({ outcome: 'replayed' });
    // The export and its two mirrors, the batch and its lock; not the published configuration of each worker.
    expect(seen.size).toBe(5);
    expect(payloads).toBeGreaterThan(20);
  });

  it('the commands take it from a module; commands and workers without it are named, and the work continues when all have it', async () => {
    const env = { WORKTRACK_DATA_CONVERTER: MODULE };
    const place = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    await worker.stop();
    const without = await startWorkerProcess(stack);
    const exporting = startCommand(stack, ['export', ...place, '--resource', 'projects', '--json'], env);
    const named = async () => (await exporting.output()).stderr.includes('the same --data-converter');
    await until(named, 'export names what the worker lacks');
    const { stderr } = await exporting.output();
    expect(stderr).toContain('Unknown encoding: binary/encrypted');
    expect(stderr).not.toContain('Start one in another terminal');
    await without.signal('SIGTERM');
    await startWorkerProcess(stack, env);
    expect(await exporting.exited).toBe(0);
    expect(JSON.parse((await exporting.output()).stdout)).toMatchObject({ outcome: 'published' });

    const [workflowId = ''] = /worktrack\/\S+\/export\/\S+/.exec((await exporting.output()).stderr) ?? [];
    const plain = await runCommand(stack, ['export', '--follow', workflowId, ...place]);
    expect([plain.code, plain.stderr]).toEqual([2, expect.stringContaining('the same --data-converter')]);
    expect(plain.stderr).not.toContain('Unexpected error');

    const replayed = await runCommand(stack, [
      ...['replay', '--from-server', '--workflow-id', stack.mirrorId('projects')],
      ...['--data-converter', MODULE],
    ]);
    expect(replayed.code, replayed.stdout + replayed.stderr).toBe(0);
    const slip = await runCommand(stack, ['status', ...place, '--data-converter', stack.configFile]);
    expect(slip.code).toBe(2);
    expect(slip.stderr).toContain(`${stack.configFile}, which --data-converter names, cannot be loaded`);
  });
});

/** Keys of the fields that hold the names of a workflow's patches. */
const PATCHES = ['patch-data', 'TemporalChangeVersion'];

function visit(value: unknown, see: (key: string, value: unknown) => void): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  for (const [key, inner] of Object.entries(value)) {
    // Temporal never encodes the names of patches, which its list of workflows shows.
    if (PATCHES.includes(key)) continue;
    see(key, inner);
    visit(inner, see);
  }
}
