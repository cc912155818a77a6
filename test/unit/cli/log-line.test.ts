import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { jsonLine, textLine } from '../../../src/cli/shared/log-line.js';

const entry = {
  timestampNanos: 1_795_226_400_000_000_000n,
  level: 'WARN' as const,
  message: 'Activity failed',
  meta: {
    ...{
      taskToken: 'CiQ0YjY2',
      namespace: 'default',
      workflowId: 'worktrack/acme/mirror/tasks',
      isLocal: false,
    },
    ...{ connection: 'acme', resource: 'tasks', phase: 'read', attempt: 3, durationMs: 1200 },
    error: ApplicationFailure.create({ type: 'Transient', message: 'the service answered 503' }),
  },
};

describe('a line of the log about a failed activity', () => {
  it('a line of the log about a failed activity as JSON starts with time, level and message, and has neither the task token nor the stack of a transient failure', () => {
    const line = jsonLine(entry);
    expect(line).toMatch(/^\{"time":"[^"]+","level":"warn","message":"Activity failed"/);
    const { taskToken, error, errorType, workflowId } = JSON.parse(line);
    expect([taskToken, error, errorType]).toEqual([undefined, 'the service answered 503', 'Transient']);
    expect(workflowId).toBe('worktrack/acme/mirror/tasks');
  });

  it('keeps the stack of an unexpected error', () => {
    const { error } = JSON.parse(jsonLine({ ...entry, meta: { error: new TypeError('a defect') } }));
    expect(error).toContain('log-line.test.ts');
  });

  it('a line of the log about a failed activity as text names what it is about, and puts the cause below', () => {
    expect(textLine(entry).split('\n')).toEqual([
      `${new Date(1_795_226_400_000).toISOString().slice(0, 19)}Z WARN  acme/tasks read Activity failed attempt=3 durationMs=1200`,
      '  the service answered 503',
    ]);
  });

  it('a line of the log about a failed activity as text leaves out counts that are zero, which JSON keeps', () => {
    const meta = { connection: 'acme', created: 3, rejected: 0, unsent: 0 };
    expect(textLine({ ...entry, meta }).split('\n')[0]).toMatch(/Activity failed created=3$/);
    expect(JSON.parse(jsonLine({ ...entry, meta }))).toMatchObject({ rejected: 0, unsent: 0 });
  });

  it('a line of the log about a failed activity as text fits on the terminal, whatever its words', () => {
    const error = new Error(`${'word '.repeat(40)}${'x'.repeat(300)}`);
    error.stack = error.message;
    const lines = textLine({ ...entry, meta: { ...entry.meta, error } }, 80).split('\n');
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(lines.join('').replace(/\s/g, '')).toContain('x'.repeat(300));
  });
});
