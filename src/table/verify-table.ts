import type { ConnectionSettings } from '../core/settings.js';
import { DamagedError } from '../lake/damaged-error.js';
import { tableKeys } from '../lake/documents/lake-layout.js';
import { readManifestVersion } from '../lake/documents/manifest.js';
import { type Pointer, readPointer } from '../lake/documents/pointer.js';
import { AMONG_OTHERS } from '../lake/published/foreign-files.js';
import type { ObjectStore } from '../lake/store/index.js';
import { DocumentTooLargeError } from '../lake/too-large-error.js';
import type { VerifyOptions } from '../lake/verify/read-runs.js';
import { type VerifyReport, verifySnapshot } from '../lake/verify/verify-lake.js';
import { isUpgraded, rowsOfFile, upgradedText } from './log/actions.js';
import { listSizes } from './log/maintain.js';
import { readDamagedTable, readTable } from './log/read-table.js';
import type { TableState } from './log/table-state.js';
import type { EngineScope } from './parquet/engine-scope.js';

/** A problem of a table, and what repairs it: the next export, the same purge again, or a person who removes the folder. */
interface TableProblem {
  /** A sentence. */
  readonly text: string;
  readonly repairedBy: 'export' | 'purge' | 'removal';
}

/**
 * Checks that the newest version of a table shows the snapshot in `latest.json`, has its number of rows, and names files that
 * exist with their size. It reads the log and a listing, not the files. A run publishes before its table follows, so a
 * table that does not show the run yet is read a second time.
 *
 * @throws StoreError if the store fails
 */
export async function checkTable(
  store: ObjectStore,
  resource: string,
  scope: EngineScope = {},
): Promise<TableProblem[]> {
  try {
    const first = await readBoth(store, resource, scope);
    const both = first === null || isShown(first) ? first : await readBoth(store, resource, scope);
    // `verifySnapshot` reports a missing or damaged pointer.
    return both === null ? [] : await problemsOf(store, resource, both);
  } catch (error) {
    // With another program's protocol, the next run does not write the table, whatever else is damaged.
    if (error instanceof DamagedError) {
      const { state } = await readDamagedTable(store, resource, scope);
      return [byExport(error.damage), ...upgradeProblems(state, resource)];
    }
    if (error instanceof SyntaxError) return [];
    if (error instanceof DocumentTooLargeError) return tooLarge(error, resource);
    throw error;
  }
}

interface PointerAndTable {
  readonly pointer: Pointer;
  readonly state: TableState;
}

async function readBoth(
  store: ObjectStore,
  resource: string,
  scope: EngineScope,
): Promise<PointerAndTable | null> {
  const pointer = await readPointer(store, resource);
  if (pointer === null) return null;
  return { pointer, state: (await readTable(store, resource, scope)).state };
}

function isShown({ pointer, state }: PointerAndTable, manifest?: string): boolean {
  const { runId, amendedBy = null } = pointer;
  return state.shows({ runId, amendedBy, ...(manifest === undefined ? {} : { manifest }) });
}

async function problemsOf(
  store: ObjectStore,
  resource: string,
  both: PointerAndTable,
): Promise<TableProblem[]> {
  const { pointer, state } = both;
  const { runId, amendedBy } = pointer;
  const at = tableKeys(resource).prefix;
  const table = `${at} version ${state.version}`;
  if (state.version < 0)
    return [byExport(`${at} does not exist yet, although tables.format is delta. The next run writes it`)];
  const upgraded = upgradeProblems(state, resource);
  if (!isShown(both)) {
    const shown = state.shown === null ? 'no run of this connector' : `run ${state.shown.runId}`;
    const amended = amendedBy === undefined ? '' : ` as ${amendedBy} amended it`;
    const text = `${table} does not show run ${runId}${amended} yet; it shows ${shown}`;
    const next =
      '. Its run may be in progress. If not, the next run catches up, or `status` shows why it cannot';
    return upgraded.length > 0 ? [byExport(text), ...upgraded] : [byExport(`${text}${next}`)];
  }
  const snapshot = await readManifestVersion(store, pointer.snapshot);
  if (snapshot !== null && !isShown(both, snapshot.sha256))
    return [
      {
        text: `${table} shows run ${runId} as it was before a purge. Run the purge again`,
        repairedBy: 'purge',
      },
    ];
  const wanted = snapshot?.manifest.counts.rows;
  const rows = [...state.files.values()].reduce((sum, file) => sum + (rowsOfFile(file) ?? 0), 0);
  return [
    ...(wanted === undefined || wanted === rows
      ? []
      : [`${table} has ${rows} rows instead of ${wanted}`].map(byExport)),
    ...fileProblems(state, await listSizes(store, resource, AMONG_OTHERS), resource).map(byExport),
    ...upgraded,
  ];
}

/** `verifySnapshot` reports documents that are not of the table. */
function tooLarge({ key, message }: DocumentTooLargeError, resource: string): TableProblem[] {
  return key.startsWith(tableKeys(resource).prefix) ? [{ text: message, repairedBy: 'removal' }] : [];
}

function byExport(text: string): TableProblem {
  return { text, repairedBy: 'export' };
}

function upgradeProblems({ protocol }: TableState, resource: string): TableProblem[] {
  if (protocol === null || !isUpgraded(protocol)) return [];
  const text = `${tableKeys(resource).prefix} ${upgradedText(protocol)}, so runs do not write to it`;
  return [{ text, repairedBy: 'removal' }];
}

function fileProblems(
  { files, version }: TableState,
  sizes: ReadonlyMap<string, number>,
  resource: string,
): string[] {
  return [...files.values()].flatMap(({ path, size }) => {
    const bytes = sizes.get(path);
    if (bytes === size) return [];
    const what = bytes === undefined ? 'is missing' : `has ${bytes} bytes instead of ${size}`;
    return [`${tableKeys(resource).data(path)}, which version ${version} of the table names, ${what}`];
  });
}

/**
 * Rereads the published data of a resource and checks every hash, count and key, and the table if the connection has
 * tables. It lists every damaged object, and changes nothing (docs/explanation/guarantees.md#verification).
 *
 * @throws StoreError if the store is unavailable, which says nothing about the data
 * @example
 * const { ok, problems, recovery } = await verifyResource(store, connection, 'tasks');
 * if (!ok) console.error([...problems, ...recovery].join('\n'));
 */
export async function verifyResource(
  store: ObjectStore,
  connection: Pick<ConnectionSettings, 'tables'> & Partial<Pick<ConnectionSettings, 'resources'>>,
  resource: string,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const { tables, resources = [] } = connection;
  const checks = resources.find(({ name }) => name === resource)?.checks;
  const report = await verifySnapshot(store, resource, { checks, ...options });
  const found = tables === null ? [] : await checkTable(store, resource, tables);
  if (found.length === 0) return report;
  const problems = [...report.problems, ...found.map(({ text }) => text)];
  const recovery = [...report.recovery, ...recoveryOfTable(resource, found, report)];
  return { ...report, ok: false, problems, recovery };
}

/** Says only what is true: the next export repairs a table that it can write, from a snapshot that it can read. */
function recoveryOfTable(
  resource: string,
  found: readonly TableProblem[],
  { earlier }: Pick<VerifyReport, 'earlier'>,
): string[] {
  const isOf = (by: TableProblem['repairedBy']): boolean => found.some(({ repairedBy }) => repairedBy === by);
  if (isOf('removal'))
    return [
      `remove the folder ${tableKeys(resource).prefix}; the next export then writes a new table: worktrack export`,
    ];
  const steps: string[] = [];
  if (isOf('purge'))
    steps.push(`repeat the purge of the record: worktrack purge --resource ${resource} --key KEY`);
  const when = earlier === null ? '' : 'once the snapshot is intact again, ';
  if (isOf('export')) steps.push(`${when}the next export repairs the table: worktrack export`);
  return steps;
}
