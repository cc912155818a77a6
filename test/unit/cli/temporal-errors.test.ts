import { ApplicationFailure, WorkflowFailedError } from '@temporalio/client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { unknownRuns } from '../../../src/cli/inspect/unknown-runs.js';
import { EXIT, failureOf, UsageError } from '../../../src/cli/shared/choose-exit-code.js';
import { reachTemporal, toUserError } from '../../../src/cli/shared/context.js';
import { output } from '../../../src/cli/shared/output.js';
import type { TemporalClient } from '../../../src/temporal/client/connect.js';

const TARGET = { address: 'temporal:7233', namespace: 'team' };
const status = (code: number, details: string): Error =>
  new Error('Failed to describe schedule', { cause: Object.assign(new Error(details), { code, details }) });
const LIMITED = 'it limits requests: namespace rate limit exceeded (DescribeSchedule)';

describe('an error of Temporal in a command', () => {
  afterEach(() => vi.restoreAllMocks());

  it.each([
    [14, 'store operation failed', /Check that it is running/],
    [4, 'Deadline exceeded', /WORKTRACK_REACH_TIMEOUT/],
    [8, LIMITED, /^Wait, or raise the limit of the namespace\.$/],
  ] as const)('is an outage with its cause and what to do if its status is %d', (code, details, remedy) => {
    const { message, ...failure } = failureOf(toUserError(status(code, details), TARGET), {});
    expect(failure).toEqual({ code: EXIT.outOfReach, errorCode: 'OUT_OF_REACH' });
    const [first, next] = message.split('\n');
    expect(first).toBe(`Temporal at temporal:7233 is unreachable: ${details}`);
    expect(next).toMatch(remedy);
  });

  it('is no outage if it is the failure of a workflow, our own error, or a bug', () => {
    const cause = ApplicationFailure.create({ message: 'Failed to connect to the service' });
    const failed = new WorkflowFailedError('Workflow execution failed', cause, 'TIMEOUT' as never);
    const usage = new UsageError('Failed to connect, it says.');
    const bug = status(3, 'query is not valid');
    for (const error of [failed, usage, bug]) expect(toUserError(error, TARGET)).toBe(error);
  });

  it('is repeated with a deadline that leaves time to show its cause', async () => {
    vi.spyOn(output, 'note').mockImplementation(() => {});
    const deadlines: number[] = [];
    const temporal = {
      ...TARGET,
      client: {
        connection: {
          withDeadline(deadline: number, calls: () => Promise<unknown>) {
            deadlines.push(deadline - Date.now());
            return calls();
          },
        },
      },
    } as unknown as TemporalClient;
    let calls = 0;
    const refused = reachTemporal(
      temporal,
      async () => {
        calls++;
        throw status(14, 'store operation failed');
      },
      200,
    );
    await expect(refused).rejects.toThrow('has been unreachable for 0.2 s: store operation failed');
    expect(calls).toBeGreaterThan(1);
    expect(Math.max(...deadlines)).toBeLessThanOrEqual(150);
  });
});

describe('runs that Temporal may know', () => {
  afterEach(() => vi.restoreAllMocks());
  const noted = (errors: readonly Error[], temporal: object | null = TARGET) => {
    const notes: string[] = [];
    vi.spyOn(output, 'note').mockImplementation((text) => void notes.push(text));
    const unknown = unknownRuns(temporal as TemporalClient | null);
    for (const error of errors) unknown.add(error);
    unknown.note();
    return [unknown.code, notes];
  };

  const note = (what: string) => `Temporal at temporal:7233 ${what}. Failed and running runs may be missing.`;

  it('are noted once if it did not answer', () => {
    const unanswered = note('did not answer every request: no history host');
    const errors = [status(14, 'no history host'), status(4, 'too late')];
    expect(noted(errors)).toEqual([EXIT.outOfReach, [unanswered]]);
    const limited = note(`did not answer every request: ${LIMITED}`);
    expect(noted([status(8, LIMITED)])).toEqual([EXIT.outOfReach, [limited]]);
  });

  it('are no outage if a right is missing, even after a request without an answer', () => {
    const rejected = note('rejected a request: no right (ListWorkflowExecutions)');
    const denied = status(7, 'no right (ListWorkflowExecutions)');
    expect(noted([denied])).toEqual([EXIT.usage, [rejected]]);
    expect(noted([status(14, 'no history host'), denied])).toEqual([EXIT.usage, [rejected]]);
    expect(noted([status(16, 'expired')])).toEqual([EXIT.usage, [note('rejected a request: expired')]]);
  });

  it('are not noted again if it cannot be reached at all', () => {
    expect(noted([], null)).toEqual([EXIT.outOfReach, []]);
  });

  it('are complete if the server lacks what was asked for, or no worker answers', () => {
    expect(noted([status(3, 'unknown search attribute'), status(12, 'unknown method')])).toEqual([
      EXIT.done,
      [],
    ]);
    expect(noted([new Error('the mirror did not answer')])).toEqual([EXIT.done, []]);
  });
});
