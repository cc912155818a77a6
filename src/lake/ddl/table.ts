import type { ObjectKey, RunId } from '../../core/brands.js';
import type { CsvSettings, LakeSettings } from '../../core/settings.js';
import type { Column } from '../rows/schema.js';

/** One SQL statement with its purpose. */
export interface Statement {
  /**
   * `define` creates a table or view and can be run again. `setup` must run first in a session that cannot read the lake
   * yet. `check` is an optional query.
   */
  readonly kind: 'define' | 'setup' | 'check';
  /** Comment lines, without line breaks. */
  readonly about: readonly string[];
  /** The statement, without a semicolon. */
  readonly sql: string;
}

/** SQL type of integers: `bigint` has 64 bits, `wide` has 38 decimal digits (some clients show them as floats). */
export type Integers = 'bigint' | 'wide';

/** A source of rows for a table: the folder of a snapshot, or all change logs. */
export interface TableSource {
  readonly lake: LakeSettings;
  /** Name of the typed view. The text view has the suffix `_text`. */
  readonly name: string;
  readonly about: string;
  /** A run's folder, or the root of a tree that contains `dt=…/run=…/` folders. */
  readonly folder: ObjectKey;
  readonly shape: 'run' | 'tree';
  /** Key of the pointer; `runId` is the run that it named. */
  readonly pointer: ObjectKey;
  readonly runId: RunId;
  readonly columns: readonly Column[];
  readonly csv: CsvSettings;
  readonly masked: ReadonlySet<string>;
  readonly integers: Integers;
}

/** Removes the leading `'` that formula escaping puts before a negative number. */
export function numberText(expression: string, csv: CsvSettings): string {
  return csv.escapeFormulas ? `replace(${expression}, '''', '')` : expression;
}
