import type { ObjectKey, RunId } from '../../core/brands.js';
import type { CheckResult } from '../documents/check-record.js';
import { pointerKey, treePrefix } from '../documents/lake-layout.js';
import { rowsOf } from '../documents/manifest.js';
import type { Pointer } from '../documents/pointer.js';
import { findMissingChangeLogs } from '../published/change-logs.js';
import { foreignFileNotes } from '../published/foreign-files.js';
import { purgedRows } from '../published/purge-rules.js';
import type { ObjectStore } from '../store/index.js';
import { type CheckedManifest, checkPointer } from './document-checks.js';
import type { Findings, Problem } from './problem-list.js';
import {
  type EarlierRuns,
  readCheckedDocument,
  readNamedManifest,
  readParts,
  type VerifyOptions,
  verifyEarlierRuns,
} from './read-runs.js';

/** The result of verifying a resource's published snapshot. */
export interface VerifyReport {
  readonly resource: string;
  /** `null` if no pointer can be read. */
  readonly runId: RunId | null;
  readonly ok: boolean;
  /** Number of parts in the snapshot's manifest. */
  readonly parts: number;
  /** Number of rows read from the snapshot, including tombstones. */
  readonly rows: number;
  /** Number of bytes read from the snapshot's parts, as stored. */
  readonly bytes: number;
  /** Results of the checks before publish, from the snapshot's manifest; `null`: there were none. */
  readonly checks: readonly CheckResult[] | null;
  /** Problems. Each message contains the object's key. */
  readonly problems: readonly string[];
  /** Keys of the objects that are damaged or missing. Each was read twice. What could not be read is not among them. */
  readonly damaged: readonly ObjectKey[];
  /** Objects that were damaged in transit and are intact in the store, and files of other programs in the folders of runs. */
  readonly notes: readonly string[];
  /** Earlier runs, which are read only if the published snapshot is damaged; otherwise `null`. */
  readonly earlier: EarlierRuns | null;
  /** How to recover, as sentences. */
  readonly recovery: readonly string[];
}

/**
 * Reads the snapshot and change log in `latest.json`, and checks hashes, checksums, counts, headers, keys and
 * block indexes (docs/explanation/guarantees.md#verification), and whether the change logs of all earlier runs are there with
 * their size. It lists every damaged object. If the snapshot is damaged,
 * it also reads the earlier runs that still exist. It changes nothing.
 *
 * @throws StoreError if the store is unavailable, which says nothing about the snapshot
 */
export async function verifySnapshot(
  store: ObjectStore,
  resource: string,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const at = pointerKey(resource);
  const findings: Findings = { problems: [], notes: [] };
  const { problems } = findings;
  const pointer = await readCheckedDocument(store, at, (body) => checkPointer(body, resource, at), findings);
  const nothing = { resource, runId: null, ok: false, parts: 0, rows: 0, bytes: 0, checks: null };
  if (pointer === undefined) {
    const missing = [`${at} is missing: nothing is published`];
    return { ...nothing, problems: missing, damaged: [], notes: [], earlier: null, recovery: [] };
  }
  if (pointer === null) return { ...nothing, ...reportOf(resource, findings, null) };
  const { runId, manifests } = pointer;
  const manifestAt = async (tree: 'snapshot' | 'changes'): Promise<CheckedManifest | null> => {
    const key = pointer[tree];
    const named = { resource, tree, runId, sha256: manifests?.[tree] };
    return key === null ? null : readNamedManifest(store, { key, ...named }, findings);
  };
  const snapshot = await manifestAt('snapshot');
  const changes = await manifestAt('changes');
  if (snapshot !== null) problems.push(...checkTotals({ pointer, snapshot, changes }));
  const { rows, bytes } = await readParts(store, snapshot, { ...options, index: 'beside' }, findings);
  await readParts(store, changes, { ...options, index: 'none' }, findings);
  // The change log of the last run was just read.
  const missing = await findMissingChangeLogs(store, pointer);
  for (const { runId: of, problem: text, ...log } of missing)
    if (of !== runId) problems.push({ ...log, text });
  findings.notes.push(...(await foreignFileNotes(store, pointer)));
  const isSnapshotDamaged = problems.some(
    ({ key, isUnread = false }) =>
      !isUnread && key.startsWith(treePrefix(resource, 'snapshots')) && !isIndex(key),
  );
  const earlier = isSnapshotDamaged ? await verifyEarlierRuns(store, pointer, options) : null;
  return {
    ...{ resource, runId, ok: problems.length === 0, parts: snapshot?.parts.length ?? 0, rows, bytes },
    checks: snapshot?.checks ?? null,
    ...reportOf(resource, findings, earlier),
  };
}

function reportOf(
  resource: string,
  { problems, notes }: Findings,
  earlier: EarlierRuns | null,
): Pick<VerifyReport, 'problems' | 'damaged' | 'notes' | 'earlier' | 'recovery'> {
  const keysOf = (found: readonly Problem[]) => [...new Set(found.map(({ key }) => key))];
  const damaged = keysOf(problems.filter(({ isUnread = false }) => !isUnread));
  const unread = keysOf(problems.filter(({ isUnread = false }) => isUnread)).length;
  const texts = problems.map(({ text }) => text);
  const recovery = recoverySteps(resource, damaged, earlier);
  if (unread > 0)
    recovery.push(
      `Make the ${unread === 1 ? 'object' : `${unread} objects`} that could not be read readable, as the message says, and verify ` +
        'again: nothing is known about them.',
    );
  return { problems: texts, damaged, notes, earlier, recovery };
}

const FROM_BACKUP = 'from a backup or an earlier version of the object';

/**
 * How to recover from damaged objects: one or two sentences for each kind of damage.
 *
 * @param damaged keys of the objects
 * @param earlier `null` if the snapshot is intact
 */
function recoverySteps(
  resource: string,
  damaged: readonly ObjectKey[],
  earlier: EarlierRuns | null,
): string[] {
  const steps: string[] = [];
  if (damaged.includes(pointerKey(resource))) {
    steps.push(
      `Restore ${pointerKey(resource)} ${FROM_BACKUP}. Until then, exports of ${resource} cannot run.`,
    );
  }
  if (damaged.some(isIndex)) {
    steps.push('The next export rebuilds a block index from its part. No data is lost.');
  }
  if (damaged.some((key) => key.startsWith(`${resource}/changes/`))) {
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
function isIndex(key: ObjectKey): boolean {
  return key.endsWith('.index.json');
}

interface Published {
  readonly pointer: Pointer;
  readonly snapshot: CheckedManifest;
  /** `null` if the pointer names none or it cannot be read. */
  readonly changes: CheckedManifest | null;
}

/** Checks that counts and shared fields of pointer and manifests agree (docs/explanation/guarantees.md#verification). Returns the problems. */
function checkTotals({ pointer, snapshot, changes }: Published): Problem[] {
  const { counts } = snapshot;
  const at = pointer.snapshot;
  const { unchanged, inserted, updated, duplicates, tombstones = 0 } = counts;
  const known = unchanged + inserted + updated + duplicates + tombstones;
  const changed = counts.inserted + counts.updated + counts.deleted + counts.restated;
  const checks: [where: ObjectKey, what: string, left: number, right: number][] = [
    [pointerKey(pointer.resource), 'rows of the pointer and rows of the manifest', pointer.rows, counts.rows],
    [at, 'rows of the parts and rows', rowsOf(snapshot.parts), counts.rows],
    [at, 'rows fetched and unchanged + inserted + updated + duplicates + tombstones', counts.fetched, known],
  ];
  if (changes !== null) {
    const where = pointer.changes!;
    checks.push([
      where,
      'rows of the change log and inserted + updated + deleted + restated',
      rowsOf(changes.parts) + purgedRows(changes),
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
  problems.push(...sharedFields({ pointer, snapshot, changes }));
  const { runId, previousRunId } = snapshot;
  // Run ids of the same second have no order.
  if (previousRunId === runId || (previousRunId !== null && startOf(previousRunId) > startOf(runId))) {
    problems.push({ key: at, text: `${at} names a previous run that is not older: ${previousRunId}` });
  }
  return problems;
}

/** Checks the fields that must be equal in several documents. */
function sharedFields({ pointer, snapshot, changes }: Published): Problem[] {
  const problems: Problem[] = [];
  const at = pointerKey(pointer.resource);
  for (const name of ['publishedAt', 'checkpoint', 'connection', 'baseUrl'] as const) {
    const [left, right] = [JSON.stringify(pointer[name]), JSON.stringify(snapshot[name])];
    if (left !== right) {
      const text = `${at}: "${name}" of the pointer and of the snapshot: ${left} and ${right}`;
      problems.push({ key: at, text });
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

function startOf(runId: RunId): string {
  return runId.slice(0, 16);
}
