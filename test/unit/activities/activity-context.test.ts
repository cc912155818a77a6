import { Context } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger, type LogMetadata } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { logPhase, withHeartbeat } from '../../../src/run/activity-context.js';
import { logContext } from '../../../src/temporal/worker/interceptors.js';

const REQUEST = '20261121T020005Z-11111111' as RunId;
const ATTEMPT = '20261121T020005Z-22222222' as RunId;

describe('A log line of a run in memory', () => {
  it('names the phase that the run is in, and the id that this attempt publishes under', async () => {
    const lines: [string, LogMetadata | undefined][] = [];
    const logger = new DefaultLogger('DEBUG', ({ message, meta }) => lines.push([message, meta]));
    const info = { activityType: 'worktrack.run' };
    const environment = new MockActivityEnvironment(info, { logger, interceptors: [logContext] });
    await environment.run(
      async () => {
        Context.current().log.info('before');
        logPhase('prepare', ATTEMPT);
        logPhase('merge');
        Context.current().log.info('merging');
      },
      { connection: 'acme', resource: 'tasks', runId: REQUEST },
    );
    const own = lines.filter(([message]) => !message.startsWith('Activity '));
    const shown = own.map(([message, meta]) => [message, meta?.runId, meta?.phase]);
    expect(shown).toEqual([
      ['before', REQUEST, 'run'],
      ['the phase begins', ATTEMPT, 'prepare'],
      ['the phase begins', ATTEMPT, 'merge'],
      ['merging', ATTEMPT, 'merge'],
    ]);
  });
});

describe('A heartbeat of a merge', () => {
  it('has the rows that are merged so far', async () => {
    const environment = new MockActivityEnvironment();
    const beats: unknown[] = [];
    const arrived = new Promise<void>((resolve) => {
      environment.on('heartbeat', (details: unknown) => {
        beats.push(details);
        if (beats.length === 1) progress.mergedRows = 12_000;
        else resolve();
      });
    });
    const progress = { mergedRows: 0 };
    await environment.run(() => withHeartbeat(() => arrived, progress));
    expect(beats.slice(0, 2)).toEqual([undefined, { mergedRows: 12_000 }]);
  });
});
