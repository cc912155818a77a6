import { describe, expect, it } from 'vitest';
import type { NotifyEvent, RunOutcome, RunReport } from '../../../src/core/contract/index.js';
import { eventOf, exportNotification, notifyUrlProblem } from '../../../src/core/notify.js';

describe('notifications of runs', () => {
  /** Events of consecutive runs. */
  const eventsOf = (...outcomes: RunOutcome[]) => {
    let failing = false;
    return outcomes.map((outcome) => {
      const next = eventOf(failing, outcome);
      failing = next.failing;
      return next.event;
    });
  };

  it('cover each failure and the first published run after a failure', () => {
    expect(eventsOf('published', 'failed', 'refused', 'published', 'published')).toEqual([
      null,
      'failure',
      'failure',
      'recovery',
      null,
    ]);
  });

  it('of an export list the runs whose event is wanted, and are not sent without one', () => {
    const of = (resource: string, event?: NotifyEvent): RunReport =>
      ({
        ...{ resource, outcome: event === 'failure' ? 'failed' : 'published', runId: null, error: null },
        ...(event === undefined ? {} : { event }),
      }) as RunReport;
    const reports = [of('projects', 'recovery'), of('tasks', 'failure'), of('members')];
    const listed = (wanted: NotifyEvent[]) =>
      exportNotification('acme', reports, wanted, 0)?.resources?.map(({ resource }) => resource) ?? null;
    expect(listed(['failure', 'recovery'])).toEqual(['projects', 'tasks']);
    expect(listed(['failure'])).toEqual(['tasks']);
    expect(listed([])).toBeNull();
    expect(exportNotification('acme', reports, ['failure', 'recovery'], 0)).toMatchObject({
      ...{ event: 'failure', outcome: 'failed', resource: null },
    });
    expect(exportNotification('acme', reports, ['recovery'], 0)).toMatchObject({
      ...{ event: 'recovery', resource: 'projects' },
    });
  });

  it('do not cover a cancelled run, which is neither a failure nor a recovery', () => {
    expect(eventsOf('cancelled', 'published', 'failed', 'cancelled', 'published')).toEqual([
      null,
      null,
      'failure',
      null,
      'recovery',
    ]);
  });
});

describe('a notification URL', () => {
  it.each(['https://hooks.example.com/T0/B1', 'http://127.0.0.1:80/x', 'http://localhost', 'http://[::1]:1'])(
    'may be %s',
    (url) => expect(notifyUrlProblem(url)).toBeNull(),
  );

  it.each([
    ['http://hooks.example.com', 'plain http'],
    ['https://user:word@hooks.example.com', 'credentials'],
    ['ftp://hooks.example.com', 'not an http'],
    ['hooks.example.com', 'not a URL'],
  ])('may not be %s, and the problem does not repeat it', (url, problem) => {
    expect(notifyUrlProblem(url)).toContain(problem);
    expect(notifyUrlProblem(url)).not.toContain('example');
  });
});
