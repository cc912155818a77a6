import { Context } from '@temporalio/activity';
import { fromByteString, type ObjectKey } from '../../core/brands.js';
import type { DiffCell } from '../../core/contract/index.js';
import type { PublishedPart } from '../../lake/documents/manifest.js';
import type { BaseSnapshot, RunFile } from '../../lake/documents/run-file.js';
import { readPartRows } from '../../lake/part/part-rows.js';
import { readRow } from '../../lake/rows/csv.js';
import { type Column, META_COLUMNS } from '../../lake/rows/data-columns.js';
import { maskedColumns, type Profile } from '../../lake/rows/profile.js';
import { payloadAt, rowKey, type SortKey } from '../../lake/rows/row.js';
import type { ObjectStore } from '../../lake/store/index.js';
import type { RunAt } from '../staging.js';
import { DIFF } from './dry-staging.js';

const MAX_DIFF_BYTES = 4 * 1024 * 1024;

/** Writes the cells that would change, or that differ, if they were requested. @param changes the rows that have them */
export async function writeDiff(
  { staging, connection: { settings, store } }: RunAt,
  run: RunFile,
  changes: Omit<Rows, 'profile'>,
): Promise<ObjectKey | null> {
  const cells = run.dryRun?.cells ?? null;
  if (cells === null) return null;
  const configured = settings.resources.find(({ name }) => name === run.resource.name) ?? run.resource;
  const signal = Context.current().cancellationSignal;
  const lines: string[] = [];
  let bytes = 0;
  const all = diffCells(staging.store, { run, changes, configured, signal });
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
  const base = run.before === null ? null : baseRows(store, run.before, signal);
  const names = changes.columns.map(({ name }) => name);
  const profiles = [run.resource, configured, ...(run.before === null ? [] : [run.before.profile])];
  const hidden = new Set(profiles.flatMap((profile) => maskedColumns(profile, names)));
  const shownBefore = run.before === null ? null : shower(run.before.profile, hidden, names);
  const shownAfter = shower(run.resource, hidden, names);
  try {
    for await (const { key, cells } of rowsOf(store, after, signal)) {
      const old = (await base?.find(key)) ?? null;
      const keyCells = run.resource.key.map((field) => shownAfter(field, cells.get(field) ?? null));
      for (const column of ['_deleted_at', ...names]) {
        const [was, is] = [old?.get(column) ?? null, cells.get(column) ?? null];
        if (was === is) continue;
        const before = was === null ? null : shownBefore!(column, was);
        yield { key: keyCells, column, before, after: shownAfter(column, is) };
      }
    }
  } finally {
    await base?.close();
  }
}

/** Returns what may be shown of a cell that was written with this profile. */
function shower(profile: Profile, hidden: ReadonlySet<string>, names: readonly string[]) {
  const masks = new Set(maskedColumns(profile, names));
  return (column: string, cell: string | null): string | null =>
    cell !== null && hidden.has(column) && !masks.has(column) ? MASKED : cell;
}

/** Finds rows of the base snapshot. `find` must be called with ascending keys, and `close` at the end. */
function baseRows(store: ObjectStore, { parts, columns, profile }: BaseSnapshot, signal: AbortSignal) {
  const left = parts.filter(({ rows }) => rows > 0);
  let rows: AsyncGenerator<KeyedRow> | null = null;
  let current: KeyedRow | null = null;
  const advance = async (): Promise<void> => {
    const next = await rows!.next();
    current = next.done === true ? null : next.value;
  };
  const close = async (): Promise<void> => {
    await rows?.return(undefined);
    rows = null;
  };
  const find = async (key: SortKey): Promise<Cells | null> => {
    while (left.length > 0 && left[0]!.last! < key) {
      left.shift();
      await close();
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
  return { find, close };
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
