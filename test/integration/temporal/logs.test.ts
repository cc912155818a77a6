import { afterEach, describe, expect, it } from 'vitest';
import { configFingerprint } from '../../../src/config/index.js';
import { VERSION } from '../../../src/core/version.js';
import { freePort } from '../../support/ports.js';
import { runCommand, startWorkerProcess } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import { type Stack, startStack } from '../../support/stack.js';
import { endLocks, fileIn, timeEntriesCsv, writeBack } from '../../support/write-back.js';

type Line = Record<string, unknown> & { readonly message: string };

const MISTAKES: [string, string[], number][] = [
  ['a wrong option', ['--health', 'here'], 2],
  ['an unknown option', ['--helth', '1'], 2],
  ['a missing configuration', ['--config', '/nowhere.yaml'], 2],
];

describe('a worker log as JSON', () => {
  let stack: Stack;
  afterEach(async () => {
    await endLocks(stack);
    await stack.stop();
  });

  it('has the run, the phase and the attempt in every line of an activity', async () => {
    stack = await startStack({
      simulator: { counts: { projects: 5 } },
      resources: '[projects, { name: invoices, path: invoices }]',
    });
    const worker = await startWorkerProcess(stack, {}, [
      ...['--log-format', 'json', '--log-level', 'debug', '--health', String(await freePort())],
    ]);
    const { runs } = await stack.export();
    const rows = await fileIn(stack, timeEntriesCsv(3));
    await writeBack(stack, { resource: 'time-entries', file: rows });
    await worker.signal('SIGTERM');
    const { stdout, stderr } = await worker.output();
    expect(stdout).toBe('');
    const lines = linesOf(stderr);
    const { resources } = stack.settings.connections[0]!;
    expect(lines[0]).toMatchObject({
      ...{ version: VERSION, taskQueue: stack.taskQueue, namespace: 'default' },
      connections: [
        {
          name: stack.connection,
          resources: resources.map(({ name }) => name),
          fingerprint: configFingerprint(stack.settings.connections[0]!),
        },
      ],
    });
    expect(lines.map(({ message }) => message)).toContainEqual(expect.stringMatching(/^Health on http/));
    expect(lines.map(({ message }) => message)).toContainEqual(expect.stringMatching(/^SIGTERM: draining/));
    expect(stderr).not.toContain('taskToken');
    const batch = { connection: stack.connection, resource: 'time-entries', batchId: expect.any(String) };
    expect(lines.find(({ message }) => message === 'write-back started')).toMatchObject(batch);
    expect(lines.find(({ message }) => message === 'write-back ended')).toMatchObject({
      ...{ ...batch, outcome: 'written', rows: 3, created: 3, rejected: 0, unsent: 0 },
    });
    for (const line of lines) {
      expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      expect(line.level).toMatch(/^(trace|debug|info|warn|error)$/);
    }
    const ofRuns = lines.filter(({ activityType }) =>
      /^worktrack\.(?!planExport|.*(?:WriteBack|claimRows|sendRows|writeResults))/.test(String(activityType)),
    );
    // The SDK writes the first line of each activity before it decodes the activity's arguments.
    const messages = ofRuns.filter(({ message }) => message !== 'Activity started');
    expect(messages.length).toBeGreaterThan(3);
    for (const line of messages) {
      const run = runs.find(({ resource }) => resource === line.resource);
      // An attempt in memory has the second of the request and its own digits.
      const [second] = run!.runId!.split('-');
      expect(line).toMatchObject({
        connection: stack.connection,
        runId: expect.stringMatching(new RegExp(`^${second}-`)),
        attempt: expect.any(Number),
        phase: expect.stringMatching(/^(prepare|read|settle|merge|publish|follow|sweep)$/),
      });
    }
    expect(messages.find(({ message }) => message === 'published')).toMatchObject({
      resource: 'projects',
      phase: 'publish',
      level: 'info',
      inserted: 5,
      rows: 5,
    });
    expect(
      messages.find(({ resource, message }) => resource === 'invoices' && /fail/i.test(message)),
    ).toMatchObject({
      phase: 'read',
      level: 'warn',
    });
    expect(stderr).not.toContain(stack.env.WORKTRACK_API_KEY);
  });

  it('has no stack of a failure that is retried', async () => {
    stack = await startStack({ simulator: { counts: { projects: 5 } }, resources: '[projects]' });
    const worker = await startWorkerProcess(stack, {}, ['--log-format', 'json']);
    stack.simulator.admin.faults.add({ fault: { kind: 'status', status: 503 }, remaining: 12 });
    await stack.export();
    await worker.signal('SIGTERM');
    const failed = linesOf((await worker.output()).stderr).filter(
      ({ errorType }) => errorType === 'Transient',
    );
    expect(failed).not.toEqual([]);
    for (const { error } of failed) expect(error).not.toContain('\n');
  });

  it.each(drawn(MISTAKES, 1))('is JSON even if the worker cannot start: %s', async (_, args, exitCode) => {
    stack = await startStack({ resources: '[projects]' });
    const place = ['worker', '--config', stack.configFile, '--log-format', 'json', ...args];
    const { code, stdout, stderr } = await runCommand(stack, place);
    expect(code, stderr).toBe(exitCode);
    expect(stdout).toBe('');
    const lines = linesOf(stderr);
    expect(lines.at(-1)).toMatchObject({ level: 'error', message: expect.stringMatching(/\w/) });
  });
});

/** @throws SyntaxError if a line is not JSON */
function linesOf(text: string): Line[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}
