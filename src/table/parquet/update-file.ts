import {
  assembleFile,
  type ColumnSource,
  metadataOf,
  namesOf,
  openParquet,
  rowsOfGroups,
} from './assemble-file.js';
import {
  type Band,
  bandsOf,
  copyRows,
  countUnfitIn,
  footerMetadata,
  groupRows,
  inForms,
  type StoredColumn,
  sqlName,
  sqlString,
  storedRows,
  type Target,
  withLimits,
} from './convert-text.js';
import type { Connection } from './duckdb.js';
import type { Forms } from './exact-sql.js';
import { type Converted, type FileUpdate, TYPES_KEY, UNFIT_KEY, UPDATED_KEY } from './part-file.js';

/** A file is converted in full, and so in the order of its keys, when updates have written more than this share of its rows. */
const MOST_UPDATED = 0.2;

/**
 * Writes the file of a part from that of the part before. Its values were proven when they were read from text, so only those of the changed
 * rows are. Rows keep their places, so that only columns with a changed value are written; the bytes of the others are copied.
 *
 * @returns `null` if the file has other types or values that do not fit, or two keys that differ as text are equal as values, so that the
 * part must be converted in full
 * @throws as `convertText`; RangeError if another program wrote the file
 */
export async function updateFile(
  connection: Connection,
  { before, changes, part, key, changedColumns }: FileUpdate,
  { to, codec }: Target,
): Promise<Converted | null> {
  const { columns } = part;
  const types = columns.map(({ type }) => type);
  const bands = bandsOf(columns, types);
  const stored = bands.flatMap((band) => band.stored);
  const file = await openParquet(before);
  const metadata = metadataOf(file.footer);
  const updated = Number(metadata[UPDATED_KEY] ?? 0) + changes.rows;
  const expected = footerMetadata({ columns, types, unfit: columns.map(() => 0) });
  const isSame =
    metadata[TYPES_KEY] === expected[TYPES_KEY] &&
    metadata[UNFIT_KEY] === expected[UNFIT_KEY] &&
    JSON.stringify(namesOf(file.footer)) === JSON.stringify(stored.map(({ alias }) => alias));
  if (!isSame || updated > part.rows * MOST_UPDATED) return null;
  return withLimits(connection, changes, (text) =>
    inForms(async (forms) => {
      const groups = rowsOfGroups(file.footer);
      const rows = groups.reduce((sum, one) => sum + one, 0);
      const earlier = {
        connection,
        path: before,
        forms,
        rows,
        keys: stored.filter(({ alias }) => key.includes(alias)),
      };
      const unfit = await countUnfitIn(connection, text, columns);
      const sources = groups.map((_, group) =>
        stored.map(({ place }): ColumnSource => ({ file, group, column: place })),
      );
      for (const [index, band] of bands.entries()) {
        const known =
          changedColumns === null ? null : band.stored.filter(({ alias }) => changedColumns.includes(alias));
        // Only a new row has values in the other columns that the file does not have. That it has none is checked below.
        const read = part.rows === rows && known !== null ? known : band.stored;
        const places = await readChanges(earlier, text, { ...band, stored: read });
        const isExpected =
          places.length === changes.rows &&
          new Set(places).size === changes.rows &&
          rows + places.filter((place) => place >= rows).length === part.rows;
        if (!isExpected) return null;
        const changed = known ?? (await findChanged(earlier, band.stored));
        for (const [group, range] of rangesOf(groups, places, groupRows(part)).entries()) {
          const written = range.hasNew ? band.stored : range.hasChanges ? changed : [];
          if (written.length === 0) continue;
          const path = `${to}.${index}.${group}`;
          await copyRows(connection, newRows(earlier, range, written), {
            to: path,
            codec,
            rowsOfGroup: part.rows,
          });
          const source = { file: await openParquet(path), group: 0 };
          sources[group] ??= [];
          for (const [column, { place }] of written.entries()) sources[group][place] = { ...source, column };
        }
      }
      assembleFile(to, sources, footerMetadata({ columns, types, unfit, updated }));
      return { rows: part.rows, types, unfit };
    }),
  );
}

/** The file of the part before. */
interface Earlier {
  readonly connection: Connection;
  readonly path: string;
  readonly rows: number;
  readonly forms: Forms;
  /** The columns of the key. */
  readonly keys: readonly StoredColumn[];
}

/** Columns of the statements: of the key, and earlier and new values. Their names are places in the file, because fields can have any name. */
type ValueOf = 'key' | 'earlier' | 'new';
const marked = (mark: ValueOf, { place }: StoredColumn): string => `${mark}_${place}`;

/**
 * Reads the new values of these columns into the table `changed`, with the places of their rows in the file. New rows have places after its
 * end, in the order of their keys.
 *
 * @returns the places; some are equal, or there are more of them than rows, if keys are equal
 */
async function readChanges(
  { connection, path, rows, forms, keys }: Earlier,
  text: string,
  band: Band,
): Promise<readonly number[]> {
  const stored = [...renamed(band.stored, 'new'), ...renamed(keys, 'key')];
  const names = keys.map((one) => marked('key', one)).join(', ');
  // A table first: the number of its rows is known, so that DuckDB looks the rows of the file up in it, and not the other way round.
  const changes = storedRows(text, { ...band, stored }, forms);
  await connection.run(`CREATE OR REPLACE TEMP TABLE changes AS ${changes}`);
  await connection.run(`CREATE OR REPLACE TEMP TABLE changed AS
    SELECT * REPLACE (coalesce(place, ${rows} + rank() OVER (ORDER BY ${names})) AS place), true AS is_changed
    FROM changes LEFT JOIN (${rowsIn(path, keys, 'key')}) USING (${names})`);
  return (await connection.texts('SELECT place FROM changed')).map(([place]) => Number(place));
}

/** Those of the columns that have a new value in a row that the file has. */
async function findChanged(
  { connection, path }: Earlier,
  columns: readonly StoredColumn[],
): Promise<StoredColumn[]> {
  const differs = columns.map(
    (one) => `bool_or(${marked('earlier', one)} IS DISTINCT FROM ${marked('new', one)})`,
  );
  const [found] = await connection.texts(
    `SELECT ${differs.join(', ')} FROM changed JOIN (${rowsIn(path, columns, 'earlier')}) USING (place)`,
  );
  // -0 and 0 are equal as doubles.
  return columns.filter(({ type }, at) => found![at] === 'true' || type === 'double');
}

/** The rows of a row group. */
interface RowRange {
  /** Places of those that the earlier file has. */
  readonly from: number;
  readonly to: number;
  readonly hasChanges: boolean;
  /** Whether new rows follow them. */
  readonly hasNew: boolean;
}

/** The row groups of the new file: those of the earlier one, with the new rows in the last unless it is full. */
function rangesOf(groups: readonly number[], places: readonly number[], most: number): RowRange[] {
  let rows = 0;
  const ranges = groups.map((count) => {
    rows += count;
    return { from: rows - count, to: rows };
  });
  const hasNew = places.some((place) => place >= rows);
  if (hasNew && (groups.at(-1) ?? most) >= most) ranges.push({ from: rows, to: rows });
  return ranges.map(({ from, to }, at) => ({
    ...{ from, to, hasNew: hasNew && at === ranges.length - 1 },
    hasChanges: places.some((place) => place >= from && place < to),
  }));
}

/** SQL for the rows of a row group with their new values, in order. */
function newRows(
  { path }: Earlier,
  { from, to, hasNew }: RowRange,
  columns: readonly StoredColumn[],
): string {
  const values = columns.map(
    (one) =>
      `CASE WHEN is_changed THEN ${marked('new', one)} ELSE ${marked('earlier', one)} END AS ${sqlName(one.alias)}`,
  );
  return `SELECT ${values.join(', ')}
    FROM (${rowsIn(path, columns, 'earlier')} WHERE file_row_number >= ${from} AND file_row_number < ${to})
    FULL JOIN (FROM changed WHERE place >= ${from} ${hasNew ? '' : `AND place < ${to}`}) USING (place)
    ORDER BY place`;
}

function renamed(columns: readonly StoredColumn[], mark: ValueOf): StoredColumn[] {
  return columns.map((one) => ({ ...one, alias: marked(mark, one) }));
}

/** SQL for the rows of a file with their places. */
function rowsIn(path: string, columns: readonly StoredColumn[], mark: ValueOf): string {
  const values = columns.map((one) => `, ${sqlName(one.alias)} AS ${marked(mark, one)}`);
  return `SELECT file_row_number AS place${values.join('')} FROM read_parquet(${sqlString(path)}, file_row_number = true)`;
}
