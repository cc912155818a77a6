import type { ObjectKey } from '../../core/brands.js';
import { pointerKey } from '../published/layout.js';
import type { EarlierRuns } from './earlier-runs.js';

const FROM_BACKUP = 'from a backup or an earlier version of the object';

/**
 * How to recover from damaged objects: one or two sentences for each kind of damage.
 *
 * @param damaged keys of the objects
 * @param earlier `null` if the snapshot is intact
 */
export function recoverySteps(
  resource: string,
  damaged: readonly ObjectKey[],
  earlier: EarlierRuns | null,
): string[] {
  const steps: string[] = [];
  const count = (test: (key: ObjectKey) => boolean): number => damaged.filter(test).length;
  if (count((key) => key === pointerKey(resource)) > 0) {
    steps.push(
      `Restore ${pointerKey(resource)} ${FROM_BACKUP}. Until then, exports of ${resource} cannot run.`,
    );
  }
  if (count(isIndex) > 0) {
    steps.push('The next export rebuilds a block index from its part. No data is lost.');
  }
  if (count((key) => key.startsWith(`${resource}/changes/`)) > 0) {
    steps.push(
      `Restore the objects below ${resource}/changes/ ${FROM_BACKUP}. Exports and the snapshot do not need them. Without them, ` +
        `the views ${resource}_changes and ${resource}_newest lack rows.`,
    );
  }
  if (earlier !== null) {
    const [newest] = earlier.intact;
    steps.push(
      newest === undefined
        ? `Restore the objects below ${resource}/snapshots/ ${FROM_BACKUP}. No earlier run is intact.`
        : `Restore the objects below ${resource}/snapshots/ ${FROM_BACKUP}, or roll back to an intact run with ` +
            `\`worktrack rollback --resource ${resource} --to ${newest}\` and run \`worktrack export --resource ${resource}\`.`,
    );
  }
  return steps;
}

/** Whether an object is a block index, which can be rebuilt from its part. */
export function isIndex(key: ObjectKey): boolean {
  return key.endsWith('.index.json');
}
