import type { ObjectKey } from '../core/brands.js';

/** An object in the lake does not match what was written, or a write would break the lake. A retry gives the same result. */
export class DamagedError extends Error {
  static {
    // Set on the prototype, so that stack traces show the name and `inspect` does not repeat it.
    DamagedError.prototype.name = 'DamagedError';
  }
}

/** The error for an object that does not match what was written. The message names the object and how to recover. */
export function damagedObject(key: ObjectKey, problem: string, cause?: unknown): DamagedError {
  const message = `${key} is damaged: ${problem}. ${recoveryOf(key)}`;
  return new DamagedError(message, cause === undefined ? undefined : { cause });
}

/** How to recover from a damaged object, as sentences for a person (docs/reference/commands.md#worktrack-verify). */
export function recoveryOf(key: ObjectKey): string {
  const [resource, tree] = key.split('/');
  if (resource === '_staging') return 'The next run fetches these rows again.';
  if (tree === 'latest.json') {
    return 'Restore it from a backup or an earlier version of the object. The snapshots are not affected.';
  }
  if (resource?.startsWith('_')) return 'Restore it from a backup or an earlier version of the object.';
  if (tree === 'changes') {
    return 'Restore it from a backup or an earlier version of the object. The snapshot and later runs are not affected.';
  }
  return (
    'Restore it from a backup or an earlier version of the object, or roll back to an intact run: ' +
    `\`worktrack verify --resource ${resource}\` lists the intact runs, ` +
    `\`worktrack rollback --resource ${resource} --to RUN\` publishes one again, and the next export catches up.`
  );
}
