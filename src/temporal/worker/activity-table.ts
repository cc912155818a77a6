import type { Activities, RunPhase } from '../../core/contract/index.js';

interface ActivityFacts {
  /** As in logs and traces. */
  readonly phase: RunPhase | 'plan' | 'sweep' | 'notify' | 'write-back';
  /**
   * The place of a step in its run or batch, which keeps one configuration from its first to its last step. Each attempt of
   * the first step takes the current one. Absent: the activity is no such step, or has the whole run to itself.
   */
  readonly step?: 'first' | 'middle' | 'last';
}

/** What a worker knows about each activity of this package. */
const ACTIVITIES: Readonly<Record<keyof Activities, ActivityFacts>> = {
  'worktrack.planExport': { phase: 'plan' },
  'worktrack.run': { phase: 'begin', step: 'first' },
  'worktrack.extractPages': { phase: 'extract', step: 'middle' },
  'worktrack.findAbsent': { phase: 'extract', step: 'middle' },
  'worktrack.confirmDeletes': { phase: 'extract', step: 'middle' },
  'worktrack.planMerge': { phase: 'merge', step: 'middle' },
  'worktrack.mergeParts': { phase: 'merge', step: 'middle' },
  'worktrack.publish': { phase: 'publish', step: 'middle' },
  'worktrack.followTable': { phase: 'table' },
  'worktrack.sweep': { phase: 'sweep', step: 'last' },
  'worktrack.discardRun': { phase: 'sweep', step: 'last' },
  'worktrack.purgeRecord': { phase: 'purge' },
  'worktrack.planWriteBack': { phase: 'write-back', step: 'first' },
  'worktrack.claimRows': { phase: 'write-back', step: 'middle' },
  'worktrack.sendRows': { phase: 'write-back', step: 'middle' },
  'worktrack.writeResults': { phase: 'write-back', step: 'last' },
  'worktrack.startOnPublished': { phase: 'notify' },
  'worktrack.reportAlerts': { phase: 'notify' },
  'worktrack.watch': { phase: 'notify' },
  'worktrack.notify': { phase: 'notify' },
};

/** @returns undefined for an activity of another package */
export function activityFacts(activityType: string): ActivityFacts | undefined {
  return ACTIVITIES[activityType as keyof Activities];
}
