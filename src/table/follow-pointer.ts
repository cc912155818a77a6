import { isDeepStrictEqual } from 'node:util';
import type { RunId } from '../core/brands.js';
import { errorMessage } from '../core/errors.js';
import { removalWarnings, type Warning } from '../core/warnings.js';
import { DamagedError } from '../lake/damaged-error.js';
import { tableKeys } from '../lake/documents/lake-layout.js';
import { readManifestVersion } from '../lake/documents/manifest.js';
import { type Pointer, readPointer } from '../lake/documents/pointer.js';
import { ObjectNotFoundError, type Removal } from '../lake/store/index.js';
import { type Base, commitState, type TableTask } from './commit-state.js';
import { TableError, type Unfit } from './errors.js';
import { isUpgraded, upgradedText } from './log/actions.js';
import { forgetEarlierVersions, maintainTable, writeCheckpoint } from './log/maintain.js';
import { type ListedTable, readDamagedTable, type Table } from './log/read-table.js';
import { pendingStates } from './states-to-commit.js';

export interface Followed {
  /** The newest version; -1 if nothing is published, so that there is no table. */
  readonly version: number;
  /** Number of versions that were committed. */
  readonly commits: number;
  readonly warnings: readonly Warning[];
}

/** The most times that another writer may commit first. */
const MAX_CONFLICTS = 20;

/**
 * Makes the table show the snapshot in `latest.json`, one version per published run (docs/explanation/delta-tables.md). Data files
 * are stored and checked before the commit that names them. The commit is one conditional write, so of two writers one
 * succeeds; the other reads the table again. The call can be interrupted and repeated at any point.
 *
 * @throws TableError or ConfigurationError if a person must act; DamagedError if the snapshot or the table is damaged
 */
export async function followPointer(task: TableTask): Promise<Followed> {
  const { table, ...followed } = await commitPending(task, 'known');
  if (table.state.version < 0) return followed;
  try {
    const refused = await maintainTable({ ...task, now: task.now() }, table);
    return { ...followed, warnings: [...followed.warnings, ...removalWarnings(refused, 'table')] };
  } catch (error) {
    task.signal.throwIfAborted();
    const warning = { kind: 'table-clean-up-failed', message: errorMessage(error) } as const;
    return { ...followed, warnings: [...followed.warnings, warning] };
  }
}

/**
 * As `followPointer`, and then removes everything that earlier versions held, for a purge.
 *
 * @returns `refused`: what the store refused to remove
 */
export async function followPointerAndForget(
  task: TableTask,
): Promise<Followed & { readonly refused: Removal }> {
  const { table, ...followed } = await commitPending(task, 'read');
  await checkParts(task, table);
  return { ...followed, refused: await forgetEarlierVersions(task, table) };
}

interface Ended extends Followed {
  readonly table: ListedTable;
}

/** @param after the table after commits: as they left it, or read again, with what other programs have committed since */
async function commitPending(task: TableTask, after: 'known' | 'read'): Promise<Ended> {
  const { store, resource } = task;
  // Versions that are committed again may find the same.
  const found = new Map<string, Warning>();
  const add = (warning: Warning): void => void found.set(JSON.stringify(warning), warning);
  const skipped = new Set<RunId>();
  let commits = 0;
  const end = (table: ListedTable): Ended => {
    for (const unfit of unreported(task, table)) add({ kind: 'table-nulls', ...unfit });
    return { version: table.state.version, commits, warnings: [...found.values()], table };
  };
  let left: (Pick<Ended, 'table'> & { readonly pointer: Pointer }) | null = null;
  for (let conflicts = 0; ; ) {
    const pointer = await readPointer(task.store, task.resource);
    if (left !== null && isDeepStrictEqual(pointer, left.pointer)) return end(left.table);
    left = null;
    const table = await readDamagedTable(store, resource, task);
    checkProtocol(task, table);
    const pending = pointer === null ? [] : await pendingStates(store, pointer, table.state);
    const wanted = pending.filter(({ runId }) => !skipped.has(runId));
    if (pointer === null || wanted.length === 0) return end(table);
    let isLeft = after === 'known' && table.damage === null;
    let base: Base = table;
    for (const target of wanted) {
      const outcome = await commitState(task, base, target, pointer).catch((error: unknown) => {
        if (target.runId === pointer.runId || !isUnusable(error)) throw error;
        return { kind: 'skipped', reason: error.message } as const;
      });
      if (outcome.kind === 'skipped') {
        skipped.add(target.runId);
        add({ kind: 'table-run-skipped', runId: target.runId, reason: outcome.reason });
        continue;
      }
      if (outcome.kind === 'conflict') {
        if (++conflicts === MAX_CONFLICTS)
          throw new Error(
            `${store.url}/${tableKeys(resource).prefix}: another program keeps writing the table`,
          );
        isLeft = false;
        break;
      }
      base = outcome.base;
      if (commits++ === 0 && table.damage !== null) {
        // With it, no reader needs the damaged part of the log.
        await writeCheckpoint(task, base.state, Number.POSITIVE_INFINITY);
        add({ kind: 'table-rewritten', damage: table.damage, version: base.state.version });
      }
      for (const unfit of outcome.unfit) add({ kind: 'table-nulls', ...unfit });
    }
    if (isLeft) left = { pointer, table: { ...table, ...base } };
  }
}

function checkProtocol({ store, resource }: TableTask, { state: { protocol } }: Table): void {
  if (protocol === null || !isUpgraded(protocol)) return;
  throw new TableError(
    `${store.url}/${tableKeys(resource).prefix} ${upgradedText(protocol)}. Remove the folder, and the next run writes a new table.`,
  );
}

/** What earlier attempts at this step committed and may not have reported: values that are NULL. */
function unreported({ since = Number.POSITIVE_INFINITY }: TableTask, { state, commits }: Table): Unfit[] {
  const ofStep = commits.filter(({ committedAt }) => committedAt >= since);
  return [...ofStep, ...(state.shown === null ? [] : [state.shown])].flatMap(({ unfit }) => unfit);
}

/** Whether a snapshot cannot become a version, whenever it is tried again. */
function isUnusable(error: unknown): error is Error {
  return error instanceof DamagedError || error instanceof TableError || error instanceof ObjectNotFoundError;
}

/** Checks that the newest version has the parts of the purged snapshot. Another program may have committed since. */
async function checkParts(task: TableTask, { state }: Table): Promise<void> {
  const { store, resource } = task;
  const pointer = await readPointer(task.store, task.resource);
  if (pointer === null) return;
  const snapshot = await readManifestVersion(store, pointer.snapshot, pointer.manifests.snapshot);
  if (snapshot !== null && state.holdsParts(snapshot.manifest.parts)) return;
  throw new TableError(
    `${store.url}/${tableKeys(resource).prefix}: version ${state.version} does not have the parts of ${pointer.snapshot}, so ` +
      'it may still have the purged record. Another program may have written to the table. Run the purge again.',
  );
}
