import { listName } from '../../api/index.js';
import type { EpochMs, UtcSeconds } from '../../core/brands.js';
import type { ResourceSettings } from '../../core/settings.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import type { BaseSnapshot, NamedChange, RollbackTarget } from '../../lake/documents/run-file.js';
import { hashesColumns, profileFingerprint } from '../../lake/rows/profile.js';
import {
  nextShapes,
  type Shape,
  settingsChange,
  shapeOf,
  shapesAfterRollback,
} from '../../lake/rows/shapes.js';
import { restorable } from '../merge/earlier-settings.js';

/** What has changed since the base snapshot in the settings that shape rows; `null` for nothing. */
export function changeOf(
  resource: ResourceSettings,
  { fingerprint, shapes, columns, profile }: BaseSnapshot,
): NamedChange | null {
  if (fingerprint === profileFingerprint(resource)) return null;
  const today = shapeOf(resource, null);
  const change = settingsChange(shapes, today, { columns, key: resource.key });
  const changed = changedSettings(shapeOf(profile, null), today);
  return { ...change, changed };
}

function changedSettings(before: Shape, today: Shape): string[] {
  const names = (['include', 'exclude', 'mask'] as const)
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(today[name]))
    .map((name) => `columns.${name}`);
  const areHashed = [before, today].every((one) => hashesColumns({ columns: one }));
  if (areHashed && before.maskedWith !== today.maskedWith) names.push('masking.secret');
  if (before.nested !== today.nested) names.push('csv.nested');
  if (before.separator !== today.separator) names.push('csv.separator');
  return names;
}

/** What shapes the rows of the snapshot that a run publishes. */
export function shapesOf(
  resource: ResourceSettings,
  before: BaseSnapshot | null,
  rollback: RollbackTarget | null,
  readSince: EpochMs,
): readonly Shape[] {
  const today = shapeOf(resource, null);
  if (before === null) return [today];
  const { shapes, columns } = before;
  const since = sinceOf(before, readSince);
  const now = shapeOf(resource, since);
  const isAsToday = (some: readonly Shape[]): boolean => restorable(some, resource, columns) === null;
  if (rollback === null || (isAsToday(shapes) && isAsToday(rollback.shapes))) return nextShapes(shapes, now);
  const after = toUtcSeconds(Date.parse(since) + 1000);
  return shapesAfterRollback(shapes, rollback.shapes, now, after);
}

/** The first `_synced_at` of the rows of a run: later than that of every row of earlier runs, even if a clock was set back. */
function sinceOf(
  { startedAt, shapes }: Pick<BaseSnapshot, 'startedAt' | 'shapes'>,
  readSince: number,
): UtcSeconds {
  const last = shapes.at(-1)?.since ?? null;
  const earlier = Math.max(startedAt, last === null ? 0 : Date.parse(last));
  return toUtcSeconds(Math.max(readSince, earlier + 1000));
}

/** What a list was read with before, if the user has adopted the organization of another API key. */
export const EARLIER_KEY = 'an earlier API key';

/**
 * The list before the current one, if rows of it may be left in the base snapshot.
 *
 * @param movedFrom the earlier address
 * @param isAdopted whether the organization of the API key is new
 */
export function earlierListOf(
  resource: ResourceSettings,
  { list }: BaseSnapshot,
  movedFrom: string | null,
  isAdopted: boolean,
): string | null {
  if (movedFrom !== null) return movedFrom;
  if (isAdopted) return EARLIER_KEY;
  return list.path === listName(resource) ? (list.earlier ?? null) : list.path;
}
