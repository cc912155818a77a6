import { setMaxListeners } from 'node:events';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { logSubjectOf } from '../../../activities/index.js';
import { activityFacts } from '../../core/contract/activity-table.js';
import { fairness } from '../../core/fairness.js';
import type { Connections } from './connections.js';

/** The input fields that identify a run. The key of a purged record is not included. */
const LOGGED_FIELDS = ['connection', 'resource', 'runId'] as const;

/** Run and phase of an activity; empty for an activity of another package. */
export function runAttributes({ activityType }: { readonly activityType: string }, args: readonly unknown[]) {
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
  let attributes: Record<string, unknown> = runAttributes(info, []);
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

/** Lets long activities give way to short ones of other connections. */
export const giveWayToOthers: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: {
    execute(input, next) {
      const { connection } = runAttributes(info, input.args) as { connection?: string };
      return connection === undefined ? next(input) : fairness.run(connection, () => next(input));
    },
  },
});

/**
 * Lets any number of requests of one activity listen to its cancellation signal. A merge reads dozens of objects at a time;
 * from the eleventh listener on, Node would warn of a leak (MaxListenersExceededWarning). Each listener leaves with its
 * request, and the signal with its activity.
 */
export const manyAbortListeners: ActivityInterceptorsFactory = ({ cancellationSignal }) => {
  setMaxListeners(0, cancellationSignal);
  return {};
};

/** Lets all activities of a run use the configuration that the run began with, even after a reload. */
export function keepConfiguration(connections: Connections): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute: (input, next) => connections.during(info.activityType, input.args[0], () => next(input)),
    },
  });
}
