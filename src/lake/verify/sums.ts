import type { ObjectKey, RunId } from '../../core/brands.js';
import type { Manifest } from '../manifest.js';
import type { Pointer } from '../pointer.js';
import { purgedRows } from '../purge.js';

export interface Published {
  readonly pointerKey: ObjectKey;
  readonly pointer: Pointer;
  readonly snapshot: Manifest;
  /** `null` where the pointer names none or it could not be read. */
  readonly changes: Manifest | null;
}

/** What does not add up between the pointer and the manifests (DESIGN 3.11), each problem with the object's key. */
export function checkSums({ pointerKey, pointer, snapshot, changes }: Published): string[] {
  const { counts } = snapshot;
  const at = pointer.snapshot;
  const known = counts.unchanged + counts.inserted + counts.updated + counts.duplicates;
  const changed = counts.inserted + counts.updated + counts.deleted;
  const checks: [where: string, what: string, left: number, right: number][] = [
    [pointerKey, 'rows of the pointer and rows of the manifest', pointer.rows, counts.rows],
    [at, 'rows of the parts and rows', sumRows(snapshot), counts.rows],
    [at, 'rows fetched and unchanged + inserted + updated + duplicates', counts.fetched, known],
  ];
  if (changes !== null) {
    const where = pointer.changes!;
    checks.push([
      where,
      'rows of the change log and inserted + updated + deleted',
      sumRows(changes) + purgedRows(changes),
      changed,
    ]);
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) {
      checks.push([
        where,
        `"${name}" of the change log and of the snapshot`,
        changes.counts[name],
        counts[name],
      ]);
    }
  }
  const problems = checks
    .filter(([, , left, right]) => left !== right)
    .map(([where, what, left, right]) => `${where} does not add up: ${what}: ${left} and ${right}`);
  const { runId, previousRunId } = snapshot;
  // Two runs of one second have no order by name.
  if (previousRunId === runId || (previousRunId !== null && startOf(previousRunId) > startOf(runId))) {
    problems.push(`${at} names a previous run that is not older: ${previousRunId}`);
  }
  return problems;
}

function sumRows({ parts }: Manifest): number {
  return parts.reduce((sum, part) => sum + part.rows, 0);
}

function startOf(runId: RunId): string {
  return runId.slice(0, 16);
}
