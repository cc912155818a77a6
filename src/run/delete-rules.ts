import type { DeleteDetection, DeletesProblem } from '../core/contract/index.js';
import type { ResourceSettings } from '../core/settings.js';
import type { RunFile } from '../lake/documents/run-file.js';
import { keyIsId } from '../lake/rows/profile.js';
import { finalFailure } from './failures.js';
import type { Deletes } from './run-journal.js';

/** The delete limits (docs/explanation/guarantees.md#deletes): a share of the rows of the base snapshot, and one of those that the list should show. */
const DELETE_LIMIT_SHARE = 0.1;
// Tombstones and rows outside a window stay, so after some years a tenth of all rows is more than the whole list.
const DELETE_LIMIT_LIST_SHARE = 0.5;
/** So many rows a run may always delete, and so many stay, with a warning, when their list has become empty. With more, the run stops. */
export const DELETE_LIMIT_ROWS = 20;

/** Which limit a number of deletes exceeds, as `30 of 40 rows, more than 10%,`; `null` if a run may apply them without permission. */
function exceededDeleteLimit(
  deletes: number,
  { rows, expected }: { readonly rows: number; readonly expected: number },
): string | null {
  if (deletes <= DELETE_LIMIT_ROWS) return null;
  if (deletes > DELETE_LIMIT_SHARE * rows) return `${deletes} of ${rows} rows, more than 10%,`;
  if (deletes <= DELETE_LIMIT_LIST_SHARE * expected) return null;
  return `${deletes} of ${expected} rows that the list should show, more than half,`;
}

/**
 * @param deletes rows that the run would delete
 * @param known what the run knows about deletes
 * @throws a final failure `DeletesHeld` if they are more than a run may delete without permission
 */
export function checkDeleteLimit(
  { resource: { name }, before, allowDeletes }: RunFile,
  deletes: number,
  known: Deletes | null,
): void {
  const limits = { rows: before?.rows ?? 0, expected: known?.expected || Number.POSITIVE_INFINITY };
  const exceeded = allowDeletes ? null : exceededDeleteLimit(deletes, limits);
  if (exceeded === null) return;
  throw finalFailure(
    'DeletesHeld',
    `${name}: ${exceeded} have been deleted in the service. Nothing was published. If this is correct, run ` +
      `\`worktrack export --resource ${name} --allow-deletes\`.`,
    { resource: name },
  );
}

/**
 * Whether deletes of a resource can be detected (docs/explanation/guarantees.md#deletes). The list must contain every
 * record, or every record in a window whose date field is known.
 */
export function canDetectDeletes({ deletes, windowMs, windowField }: ResourceSettings): boolean {
  return deletes !== 'keep' && (windowMs === null || windowField !== null);
}

/** Whether absent records are read by id. Otherwise a second pass has to miss them, too. */
export function isAskedById(resource: ResourceSettings): boolean {
  return resource.fetchById && keyIsId(resource);
}

const MAX_NAME = 200;

/** What the settings say about the detection of deletes. */
function configuredDetection(resource: ResourceSettings): Omit<DeleteDetection, 'notListed'> {
  // The mirror's state is limited in size, and a name is not.
  const windowField = (resource.windowMs === null ? null : resource.windowField)?.slice(0, MAX_NAME) ?? null;
  if (resource.deletes === 'keep') return { basis: 'none', windowField, reason: 'kept' };
  if (!canDetectDeletes(resource)) return { basis: 'none', windowField, reason: 'no-window-field' };
  if (!keyIsId(resource)) return { basis: 'two-readings', windowField, reason: 'no-id' };
  return { basis: resource.fetchById ? 'by-id' : 'two-readings', windowField, reason: null };
}

/** Whether a reason that an earlier run found can still hold under these settings. */
function isStill(
  { reason }: DeleteDetection,
  { basis, windowField }: Omit<DeleteDetection, 'notListed'>,
): boolean {
  if (reason === 'endpoint') return basis === 'by-id';
  return (reason === 'not-dates' || reason === 'no-dates') && windowField !== null;
}

/**
 * What a run knows about deletes when it publishes. What an earlier run has found out holds until the next run that looks for
 * deletes, as long as the settings stay the same.
 *
 * @param before of the base snapshot
 * @param problems of a run that looked for deletes; `null` for any other
 * @param notListed rows that the run's full read did not list; `null` for an increment
 */
export function detectionOf(
  resource: ResourceSettings,
  before: DeleteDetection | null,
  {
    problems,
    notListed,
  }: { readonly problems: readonly DeletesProblem[] | null; readonly notListed: number | null },
): DeleteDetection {
  const configured = configuredDetection(resource);
  const rows = { notListed: notListed ?? before?.notListed ?? null };
  if (configured.basis === 'none') return { ...configured, ...rows };
  const { windowField } = configured;
  if (problems === null) {
    const holds = before !== null && before.windowField === windowField && isStill(before, configured);
    return holds ? { ...before, ...rows } : { ...configured, ...rows };
  }
  const kinds = problems.map(({ kind }) => kind);
  for (const reason of ['not-dates', 'no-dates'] as const)
    if (kinds.includes(reason)) return { basis: 'none', windowField, reason, ...rows };
  if (!kinds.includes('endpoint')) return { ...configured, ...rows };
  // With a window, a second reading cannot replace the answer by id: see `afterAsking`.
  return { basis: windowField === null ? 'two-readings' : 'none', windowField, reason: 'endpoint', ...rows };
}
