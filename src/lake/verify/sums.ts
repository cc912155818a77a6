import type { ObjectKey, RunId } from '../../core/brands.js';
import type { Pointer } from '../published/pointer.js';
import { purgedRows } from '../published/purge.js';
import type { CheckedManifest } from './documents.js';
import type { Problem } from './findings.js';

export interface Published {
  readonly pointerKey: ObjectKey;
  readonly pointer: Pointer;
  readonly snapshot: CheckedManifest;
  /** `null` if the pointer names none or it cannot be read. */
  readonly changes: CheckedManifest | null;
}

/** Checks that counts and shared fields of pointer and manifests agree (docs/explanation/guarantees.md#verification). Returns the problems. */
export function checkTotals({ pointerKey, pointer, snapshot, changes }: Published): Problem[] {
  const { counts } = snapshot;
  const at = pointer.snapshot;
  const known = counts.unchanged + counts.inserted + counts.updated + counts.duplicates;
  const changed = counts.inserted + counts.updated + counts.deleted + counts.restated;
  const checks: [where: ObjectKey, what: string, left: number, right: number][] = [
    [pointerKey, 'rows of the pointer and rows of the manifest', pointer.rows, counts.rows],
    [at, 'rows of the parts and rows', sumRows(snapshot), counts.rows],
    [at, 'rows fetched and unchanged + inserted + updated + duplicates', counts.fetched, known],
  ];
  if (changes !== null) {
    const where = pointer.changes!;
    checks.push([
      where,
      'rows of the change log and inserted + updated + deleted + restated',
      sumRows(changes) + purgedRows(changes),
      changed,
    ]);
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) {
      checks.push([
        where,
        `"${name}" of the change log and of the snapshot`,
        changes.counts[name] ?? 0,
        counts[name] ?? 0,
      ]);
    }
  }
  const problems = checks
    .filter(([, , left, right]) => left !== right)
    .map(([key, what, left, right]) => ({
      key,
      text: `${key} does not add up: ${what}: ${left} and ${right}`,
    }));
  problems.push(...sharedFields({ pointerKey, pointer, snapshot, changes }));
  const { runId, previousRunId } = snapshot;
  // Run ids of the same second have no order.
  if (previousRunId === runId || (previousRunId !== null && startOf(previousRunId) > startOf(runId))) {
    problems.push({ key: at, text: `${at} names a previous run that is not older: ${previousRunId}` });
  }
  return problems;
}

/** Checks the fields that must be equal in several documents. */
function sharedFields({ pointerKey, pointer, snapshot, changes }: Published): Problem[] {
  const problems: Problem[] = [];
  for (const name of ['publishedAt', 'checkpoint', 'connection', 'baseUrl'] as const) {
    const [left, right] = [JSON.stringify(pointer[name]), JSON.stringify(snapshot[name])];
    if (left !== right) {
      const text = `${pointerKey}: "${name}" of the pointer and of the snapshot: ${left} and ${right}`;
      problems.push({ key: pointerKey, text });
    }
  }
  if (changes === null) return problems;
  const key = pointer.changes!;
  for (const name of new Set([...Object.keys(snapshot.shared), ...Object.keys(changes.shared)])) {
    if (JSON.stringify(snapshot.shared[name]) !== JSON.stringify(changes.shared[name]))
      problems.push({ key, text: `${key}: "${name}" of the change log differs from the snapshot` });
  }
  return problems;
}

function sumRows({ parts }: Pick<CheckedManifest, 'parts'>): number {
  return parts.reduce((sum, part) => sum + part.rows, 0);
}

function startOf(runId: RunId): string {
  return runId.slice(0, 16);
}
