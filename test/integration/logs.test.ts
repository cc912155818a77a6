import { afterEach, describe, expect, it } from 'vitest';
import { startWorkerProcess } from '../support/processes.js';
import { type Stack, startStack } from '../support/stack.js';

type Line = Record<string, unknown> & { readonly message: string };

describe('the log of a worker as JSON', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('says in every line of an activity which run it is of, its phase and its attempt', async () => {
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
    // The first line of each is the SDK's own, from before it has looked at what the activity is about.
    const told = ofRuns.filter(({ message }) => message !== 'Activity started');
    expect(told.length).toBeGreaterThan(8);
    for (const line of told) {
      const run = runs.find(({ resource }) => resource === line.resource);
      expect(line).toMatchObject({
        connection: stack.connection,
        runId: run?.runId,
        attempt: expect.any(Number),
        phase: expect.stringMatching(/^(begin|extract|merge|publish|clean-up)$/),
      });
    }
    expect(told.find(({ message }) => message === 'published')).toMatchObject({
      resource: 'projects',
      phase: 'publish',
      level: 'info',
      inserted: 5,
      rows: 5,
    });
    expect(
      told.find(({ resource, message }) => resource === 'invoices' && /fail/i.test(message)),
    ).toMatchObject({
      phase: 'extract',
      level: 'warn',
    });
    expect(stderr).not.toContain(stack.env.WORKTRACK_API_KEY);
  });
});

/** `null` for a line that is for whoever starts or stops the worker. */
function lineOf(text: string): Line | null {
  return text.startsWith('{') ? (JSON.parse(text) as Line) : null;
}
