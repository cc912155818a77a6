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

/** What says which run an activity is of, and what it does there; nothing for one that is not ours. */
export function namesOf({ activityType }: { readonly activityType: string }, args: readonly unknown[]) {
  const phase = PHASES[activityType as keyof Activities];
  if (phase === undefined) return {};
  const [subject] = args as (Record<string, unknown> | undefined)[];
  const found = NAMED.flatMap((name) =>
    typeof subject?.[name] === 'string' ? [[name, subject[name]] as const] : [],
  );
  return { phase, ...Object.fromEntries(found) };
}

/**
 * Puts connection, resource, run id and phase into every line that an activity of ours logs, those of the SDK about it
 * too; the attempt is there already.
 */
export const logContext: ActivityInterceptorsFactory = ({ info }) => {
  let names: Record<string, unknown> = namesOf(info, []);
  return {
    inbound: {
      execute(input, next) {
        names = namesOf(info, input.args);
        return next(input);
      },
    },
    outbound: {
      getLogAttributes: (input, next) => ({ ...next(input), ...names }),
    },
  };
};
