import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Activities, RunPhase } from '../core/contract.js';

const PHASES: Readonly<Record<keyof Activities, RunPhase | 'plan' | 'notify' | 'write-back'>> = {
  'worktrack.planExport': 'plan',
  'worktrack.beginRun': 'begin',
  'worktrack.extractPages': 'extract',
  'worktrack.findAbsent': 'extract',
  'worktrack.confirmGone': 'extract',
  'worktrack.reapply': 'extract',
  'worktrack.planMerge': 'merge',
  'worktrack.mergeParts': 'merge',
  'worktrack.publish': 'publish',
  'worktrack.cleanUp': 'clean-up',
  'worktrack.discardRun': 'clean-up',
  'worktrack.rollBack': 'roll-back',
  'worktrack.purgeRecord': 'purge',
  'worktrack.planWriteBack': 'write-back',
  'worktrack.sendRows': 'write-back',
  'worktrack.writeResults': 'write-back',
  'worktrack.notify': 'notify',
};

/** Of an activity's input, what says which run it is of. The key of a purged record is not among it. */
const NAMED = ['connection', 'resource', 'runId'] as const;

/**
 * Puts connection, resource, run id and phase into every line that an activity of ours logs, those of the SDK about it
 * too; the attempt is there already.
 */
export const logContext: ActivityInterceptorsFactory = ({ info }) => {
  const phase = PHASES[info.activityType as keyof Activities];
  if (phase === undefined) return {};
  const named: Record<string, unknown> = { phase };
  return {
    inbound: {
      execute(input, next) {
        const [subject] = input.args as (Record<string, unknown> | undefined)[];
        for (const name of NAMED) if (typeof subject?.[name] === 'string') named[name] = subject[name];
        return next(input);
      },
    },
    outbound: {
      getLogAttributes: (input, next) => ({ ...next(input), ...named }),
    },
  };
};
