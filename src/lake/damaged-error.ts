import type { ObjectKey } from '../core/brands.js';
import { WorktrackError } from '../core/errors.js';
import { redactKnown } from '../core/known-secrets.js';

/** An object in the lake does not match what was written, or a write would break the lake. A retry gives the same result. */
export class DamagedError extends WorktrackError {
  readonly code = 'LAKE_DAMAGED';
  /** The message without how to recover. */
  readonly damage: string;

  constructor(message: string, options: ErrorOptions & { readonly damage?: string } = {}) {
    super(message, options);
    this.damage = redactKnown(options.damage ?? message);
  }
}

/** The error for an object that does not match what was written. The message names the object and how to recover. */
export function damagedObject(key: ObjectKey, problem: string, cause?: unknown): DamagedError {
  const damage = `${key} is damaged: ${problem}`;
  return new DamagedError(`${damage}. ${recoveryOf(key)}`, { cause, damage });
}

/** How to recover from a damaged object, as sentences for a person (docs/reference/commands.md#worktrack-verify). */
export function recoveryOf(key: ObjectKey): string {
  const [resource, tree] = key.split('/');
  if (resource === '_staging') return 'The next run fetches these rows again.';
  if (tree === 'latest.json') {
    return 'Restore it from a backup or an earlier version of the object. The snapshots are not affected.';
  }
  if (resource === '_write-back') {
    return 'Restore it from a backup or an earlier version of the object. Until then, its batch sends no row.';
  }
  if (resource?.startsWith('_')) return 'Restore it from a backup or an earlier version of the object.';
  // The snapshot has everything that the table has.
  if (tree === 'table') return 'The next export repairs the table.';
  if (tree === 'changes') {
    return 'Restore it from a backup or an earlier version of the object. The snapshot and later runs are not affected.';
  }
  return (
    'Restore it from a backup or an earlier version of the object, or roll back to an intact run: ' +
    `\`worktrack verify --resource ${resource}\` lists the intact runs, ` +
    `\`worktrack rollback --resource ${resource} --to RUN\` publishes one again, and the next export catches up.`
  );
}
