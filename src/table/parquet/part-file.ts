import type { CsvSettings } from '../../core/settings.js';
import type { Escaping } from '../../lake/rows/escaping.js';
import type { ColumnType, ValueClass } from '../rules/column-type.js';

/** Key of the footer's metadata that holds the types of the file's columns, in the order of the part. */
export const TYPES_KEY = 'worktrack.types';
/**
 * Key of the number of values that do not fit, by column, for the columns whose type the configuration sets; null for
 * the others.
 */
export const UNFIT_KEY = 'worktrack.unfit';
/** Key of the number of rows at the end of a file that updates have added since all of its rows were converted; absent: none. */
export const UPDATED_KEY = 'worktrack.updated';

/** A column of a part, in the order of the header. */
export interface PartColumn {
  /** Name in the table. */
  readonly alias: string;
  readonly kind: ValueClass;
  /** Type to begin with. */
  readonly type: ColumnType;
  /** Whether the configuration sets the type. */
  readonly fixed: boolean;
}

/** How large a part is. */
export interface RowsOfPart {
  /** Length of its text in bytes. No row is longer. */
  readonly rawBytes: number;
  readonly rows: number;
  readonly columns: readonly PartColumn[];
}

export interface PartFile extends RowsOfPart {
  /** Path of the part on this machine. */
  readonly path: string;
  readonly csv: Pick<CsvSettings, 'compression' | 'delimiter'> & Escaping;
}

/** What a file is updated from. All paths are on this machine. */
export interface FileUpdate {
  /** Path of the file that has the rows of the part before. */
  readonly before: string;
  /** The rows that replace those with the same key, or have a new one. */
  readonly changes: PartFile;
  /** The part that the file is to equal. */
  readonly part: RowsOfPart;
  /** Names of the columns of the key. */
  readonly key: readonly string[];
  /** Names of the columns where rows with the same key differ; `null`: not known. */
  readonly changedColumns: readonly string[] | null;
}

/** The result of a conversion. */
export interface Converted {
  readonly rows: number;
  /** Types that hold all values of the part, in the order of its columns. */
  readonly types: readonly ColumnType[];
  /** Number of values, by column, that do not fit the type of the configuration and are NULL in the file. */
  readonly unfit: readonly number[];
}
