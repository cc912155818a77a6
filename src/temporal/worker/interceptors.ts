import { setMaxListeners } from 'node:events';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { logSubjectOf } from '../../../activities/index.js';
import { activityFacts } from '../../core/contract/activity-table.js';
import { fairness } from '../../core/fairness.js';
import type { Connections } from './connections.js';
import type { RetryWatch } from './gauges.js';
import type { LoopWatch } from './loop-watch.js';

/** The input fields that identify a run. The key of a purged record is not included. */
const LOGGED_FIELDS = ['connection', 'resource', 'runId'] as const;

/** Run and phase of an activity; empty for an activity of another package. */
export function runAttributes(
  { activityType }: { readonly activityType: string },
  args: readonly unknown[],
): Partial<Record<'phase' | (typeof LOGGED_FIELDS)[number], string>> {
  const facts = activityFacts(activityType);
  if (facts === undefined) return {};
  const [subject] = args as (Record<string, unknown> | undefined)[];
  const found = LOGGED_FIELDS.flatMap((name) =>
    typeof subject?.[name] === 'string' ? [[name, subject[name]] as const] : [],
  );
  return { phase: facts.phase, ...Object.fromEntries(found) };
}

/**
 * Adds connection, resource, run id and phase to every log line of this package's activities, including the SDK's log
 * lines about them. The SDK adds the attempt. A run in memory says which phase it is in, and its own run id.
 */
export const logContext: ActivityInterceptorsFactory = (context) => {
  const { info } = context;
  let attributes = runAttributes(info, []);
  return {
    inbound: {
      execute(input, next) {
        attributes = runAttributes(info, input.args);
        return next(input);
      },
    },
    outbound: {
      getLogAttributes: (input, next) => ({ ...next(input), ...attributes, ...logSubjectOf(context) }),
    },
  };
};

/**
 * What surrounds each activity: the configuration of its run, the watches for retries and for a blocked event loop, and
 * fairness among connections.
 */
export function aroundActivities(
  connections: Connections,
  retries: RetryWatch,
  loop: LoopWatch,
): ActivityInterceptorsFactory {
  return ({ info, cancellationSignal }) => {
    // A merge reads dozens of objects at a time, each with a listener for the cancellation, which leaves with its request; from
    // the eleventh listener on, Node would warn of a leak (MaxListenersExceededWarning).
    setMaxListeners(0, cancellationSignal);
    return {
      inbound: {
        execute(input, next) {
          const run = runAttributes(info, input.args);
          // All activities of a run use the configuration that the run began with, even after a reload.
          const execute = () => connections.during(info.activityType, input.args[0], () => next(input));
          const watched = () => loop.run(run, () => retries.watch(info, run, execute));
          // Long activities give way to short ones of other connections.
          return run.connection === undefined ? watched() : fairness.run(run.connection, watched);
        },
      },
    };
  };
}
