import { afterEach, describe, expect, it } from 'vitest';
import { startWorkerProcess } from '../../support/processes.js';
import { type Stack, startStack } from '../../support/stack.js';

type Line = Record<string, unknown> & { readonly message: string };

describe('the log of a worker as JSON', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('has the run, the phase and the attempt in every line of an activity', async () => {
    stack = await startStack({
      simulator: { counts: { projects: 5 } },
      resources: '[projects, { name: invoices, path: invoices }]',
    });
    const worker = await startWorkerProcess(stack, {}, ['--log-format', 'json', '--log-level', 'debug']);
    const { runs } = await stack.export();
    await worker.signal('SIGTERM');
    const { stderr } = await worker.output();
    const lines = stderr
      .trim()
      .split('\n')
      .map(lineOf)
      .filter((line) => line !== null);
    for (const line of lines) {
      expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      expect(line.level).toMatch(/^(trace|debug|info|warn|error)$/);
    }
    const ofRuns = lines.filter(({ activityType }) =>
      /^worktrack\.(?!planExport)/.test(String(activityType)),
    );
    // The SDK writes the first line of each activity before it decodes the activity's arguments.
    const messages = ofRuns.filter(({ message }) => message !== 'Activity started');
    expect(messages.length).toBeGreaterThan(8);
    for (const line of messages) {
      const run = runs.find(({ resource }) => resource === line.resource);
      expect(line).toMatchObject({
        connection: stack.connection,
        runId: run?.runId,
        attempt: expect.any(Number),
        phase: expect.stringMatching(/^(begin|extract|merge|publish|clean-up)$/),
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
      phase: 'extract',
      level: 'warn',
    });
    expect(stderr).not.toContain(stack.env.WORKTRACK_API_KEY);
  });
});

/** `null` for a line about starting or stopping the worker. */
function lineOf(text: string): Line | null {
  return text.startsWith('{') ? (JSON.parse(text) as Line) : null;
}
