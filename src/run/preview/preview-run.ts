import { Context } from '@temporalio/activity';
import { fromByteString, type ObjectKey } from '../../core/brands.js';
import type { DiffCell, DryRunReport, Previewed, PublishInput } from '../../core/contract/index.js';
import { NO_METER } from '../../core/metrics.js';
import { limitWarnings, shownName } from '../../core/text-budget.js';
import { typeNames } from '../../core/value-facts.js';
import { summaryOf } from '../../lake/documents/check-record.js';
import type { PublishedPart } from '../../lake/documents/manifest.js';
import type { BaseSnapshot, RunFile } from '../../lake/documents/run-file.js';
import { readPartRows } from '../../lake/part/part-rows.js';
import { readRow } from '../../lake/rows/csv.js';
import { type Column, columnChanges, META_COLUMNS } from '../../lake/rows/data-columns.js';
import { maskedColumns, type Profile } from '../../lake/rows/profile.js';
import { payloadAt, rowKey, type SortKey } from '../../lake/rows/row.js';
import { collected, type ObjectStore } from '../../lake/store/index.js';
import { type FilesToWrite, filesToWrite } from '../../table/index.js';
import { type ServiceUse, useOf } from '../activity-context.js';
import { finalFailure } from '../failures.js';
import { fixedTypes } from '../publish/delta-table.js';
import { manifestFields } from '../publish/manifest-fields.js';
import { notListedSince, verifyRun } from '../publish/publish-run.js';
import type { RunFindings } from '../publish/warnings.js';
import { removeKeys } from '../remove-folders.js';
import type { RunAt, Staging } from '../staging.js';

/** The only object of a dry run that outlives it. */
export const DIFF = 'diff.ndjson';
/** Most columns in a report. */
const MOST_COLUMNS = 50;
const MAX_DIFF_BYTES = 4 * 1024 * 1024;
/** The documents that hold what each activity of a dry run in the lake has used. */
const USE = 'use-';

/**
 * Ends a dry run (docs/how-to/checks.md#see-a-run-before-it-is-published): it verifies the run and judges its checks as for a run that is published, and then
 * removes what is staged. Only the diff stays.
 *
 * @throws what would stop the run
 */
export async function previewRun(at: RunAt, input: PublishInput): Promise<Previewed> {
  const { staging } = at;
  const verified = await verifyRun({ ...at, deps: { ...at.deps, meter: NO_METER } }, input);
  // Only a run that publishes has such an attempt.
  if ('done' in verified)
    throw finalFailure('Transient', `${input.resource}: another run was published. Try again.`);
  const { run, found } = verified;
  const { parts, changes } = found.sum;
  const notListed = await notListedSince(staging.store, run, found, parts);
  const { counts, warnings, deletes, checks } = manifestFields(run, found, { changes, notListed });
  const dryRun: DryRunReport = {
    columns: columnsOf(run, found),
    tableFiles: await tableFilesOf(at, run, found),
    ...(await useOfRun(staging)),
    diff: await writeDiff(at, run, found),
  };
  await removeStaged(staging);
  const summary = checks === undefined ? {} : { checks: summaryOf(checks) };
  return { counts, warnings: limitWarnings(warnings), deletes, ...summary, dryRun };
}

function columnsOf(run: RunFile, { plan }: RunFindings): DryRunReport['columns'] {
  const changes = columnChanges(run.before === null ? [] : run.columns, plan.columns);
  return changes
    .slice(0, MOST_COLUMNS)
    .map(({ name, added }) => ({ name: shownName(name), types: typeNames(added) }));
}

async function tableFilesOf(
  { connection: { store } }: RunAt,
  { tables, resource: { name } }: RunFile,
  { plan, sum }: RunFindings,
): Promise<FilesToWrite | null> {
  if (tables === null) return null;
  const { columns } = plan;
  return filesToWrite(store, name, { parts: sum.parts, columns, types: fixedTypes(tables, name) });
}

/** Writes the cells that would change, if they were requested. */
async function writeDiff(
  { staging, connection: { settings, store } }: RunAt,
  run: RunFile,
  { plan, sum }: RunFindings,
): Promise<ObjectKey | null> {
  const cells = run.dryRun?.cells ?? null;
  if (cells === null) return null;
  const { columns } = plan;
  const configured = settings.resources.find(({ name }) => name === run.resource.name) ?? run.resource;
  const signal = Context.current().cancellationSignal;
  const lines: string[] = [];
  let bytes = 0;
  const all = diffCells(staging.store, { run, changes: { parts: sum.changes, columns }, configured, signal });
  for await (const cell of all) {
    const line = `${JSON.stringify(cell)}\n`;
    bytes += Buffer.byteLength(line);
    if (bytes > MAX_DIFF_BYTES) break;
    lines.push(line);
    // One more shows that there are more.
    if (lines.length > cells) break;
  }
  const key = staging.key(DIFF);
  // A run in memory stages nothing in the lake, apart from this.
  await store.write(key, Buffer.from(lines.join('')));
  return key;
}

/** Removes what the run has staged in the lake, apart from its diff. */
async function removeStaged(staging: Staging): Promise<void> {
  const { cancellationSignal: signal } = Context.current();
  const all = await collected(staging.store.list(staging.key('')));
  const keys = all.map(({ key }) => key).filter((key) => key !== staging.key(DIFF));
  await removeKeys(staging.store, keys, signal);
}

/** Notes in the lake what this activity has used, for the report of the run. */
export async function saveUse(staging: Staging): Promise<void> {
  const { activityId, attempt } = Context.current().info;
  await staging.write(`${USE}${activityId}-${attempt}.json`, useOf(Context.current()));
}

/** What the activities of the run have used so far. */
async function useOfRun(staging: Staging): Promise<ServiceUse> {
  const own = useOf(Context.current());
  if (staging.isPrivate) return own;
  const saved = await collected(staging.store.list(staging.key(USE)));
  let { requests, bytes } = own;
  for (const { key } of saved) {
    const use = await staging.read<ServiceUse>(key);
    requests += use.requests;
    bytes += use.bytes;
  }
  return { requests, bytes };
}

/** What is shown instead of a cell that one of the configurations masks, and that is not masked itself. */
const MASKED = '(masked)';
const DELETED_AT = META_COLUMNS.indexOf('_deleted_at');

type Cells = ReadonlyMap<string, string | null>;

/** Rows of a tree, sorted by key. */
interface Rows {
  readonly parts: readonly PublishedPart[];
  readonly columns: readonly Column[];
  readonly profile: Profile;
}

interface DiffInput {
  readonly run: RunFile;
  /** The change log of the dry run. */
  readonly changes: Omit<Rows, 'profile'>;
  /** The worker's settings of the resource, which may mask more than those of the run. */
  readonly configured: Profile;
  readonly signal: AbortSignal;
}

/**
 * The cells that a run would change, in the order of the keys: each row of its change log is compared with the row of the base
 * snapshot. Only those parts of the base are read that can have such a row, up to the last cell that is taken. Cells that are
 * masked, or that one of the configurations masks, stay so.
 */
async function* diffCells(
  store: ObjectStore,
  { run, changes, configured, signal }: DiffInput,
): AsyncGenerator<DiffCell> {
  const after = { ...changes, profile: run.resource };
  const find = run.before === null ? async () => null : baseRows(store, run.before, signal);
  const names = changes.columns.map(({ name }) => name);
  const profiles = [run.resource, configured, ...(run.before === null ? [] : [run.before.profile])];
  const hidden = new Set(profiles.flatMap((profile) => maskedColumns(profile, names)));
  const shownBefore = run.before === null ? null : shower(run.before.profile, hidden, names);
  const shownAfter = shower(run.resource, hidden, names);
  for await (const { key, cells } of rowsOf(store, after, signal)) {
    const old = await find(key);
    const keyCells = run.resource.key.map((field) => shownAfter(field, cells.get(field) ?? null));
    for (const column of ['_deleted_at', ...names]) {
      const [was, is] = [old?.get(column) ?? null, cells.get(column) ?? null];
      if (was === is) continue;
      const before = was === null ? null : shownBefore!(column, was);
      yield { key: keyCells, column, before, after: shownAfter(column, is) };
    }
  }
}

/** Returns what may be shown of a cell that was written with this profile. */
function shower(profile: Profile, hidden: ReadonlySet<string>, names: readonly string[]) {
  const masks = new Set(maskedColumns(profile, names));
  return (column: string, cell: string | null): string | null =>
    cell !== null && hidden.has(column) && !masks.has(column) ? MASKED : cell;
}

/** Returns a function that finds rows of the base snapshot. It must be called with ascending keys. */
function baseRows(store: ObjectStore, { parts, columns, profile }: BaseSnapshot, signal: AbortSignal) {
  const left = parts.filter(({ rows }) => rows > 0);
  let rows: AsyncGenerator<KeyedRow> | null = null;
  let current: KeyedRow | null = null;
  const advance = async (): Promise<void> => {
    const next = await rows!.next();
    current = next.done === true ? null : next.value;
  };
  return async (key: SortKey): Promise<Cells | null> => {
    while (left.length > 0 && left[0]!.last! < key) {
      left.shift();
      rows = null;
    }
    const part = left[0];
    if (part === undefined || part.first! > key) return null;
    if (rows === null) {
      rows = rowsOf(store, { parts: [part], columns, profile }, signal);
      await advance();
    }
    while (current !== null && current.key < key) await advance();
    return current?.key === key ? current.cells : null;
  };
}

interface KeyedRow {
  readonly key: SortKey;
  readonly cells: Cells;
}

/** The rows of parts with their cells by column, without the run's id and time. */
async function* rowsOf(
  store: ObjectStore,
  { parts, columns, profile: { csv, key } }: Rows,
  signal: AbortSignal,
): AsyncGenerator<KeyedRow> {
  for (const part of parts) {
    for await (const rows of readPartRows(store, part, { compression: csv.compression, signal })) {
      for (const row of rows) {
        const values = readRow(row.endsWith('\n') ? row.slice(0, -1) : row, csv.delimiter).map((cell) =>
          cell === null ? null : fromByteString(cell),
        );
        const named = columns.map(
          ({ name }, at) => [name, values[META_COLUMNS.length + at] ?? null] as const,
        );
        const cells = new Map([['_deleted_at', values[DELETED_AT] ?? null] as const, ...named]);
        yield { key: rowKey(row, payloadAt(row), key.length, csv.delimiter), cells };
      }
    }
  }
}
