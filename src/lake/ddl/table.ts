import type { ObjectKey, RunId } from '../../core/brands.js';
import type { CsvSettings, LakeSettings } from '../../core/settings.js';
import type { Column } from '../schema.js';

/** One statement. */
export interface Statement {
  /**
   * `define` makes something and may be run again; `setup` must come before it in a session that cannot reach the lake
   * yet; `check` is a query for people who want to know.
   */
  readonly kind: 'define' | 'setup' | 'check';
  /** Lines of a comment; they hold no line break. */
  readonly about: readonly string[];
  /** Without a semicolon. */
  readonly sql: string;
}

/** What integers become: `bigint` has 64 bits, `wide` 38 decimal digits (which some clients show as floats). */
export type Integers = 'bigint' | 'wide';

/** Something to be read as a table: the folder of a snapshot, or all change logs. */
export interface TableSource {
  readonly lake: LakeSettings;
  /** Of the typed view; the one with texts alone is called the same with `_text`. */
  readonly name: string;
  readonly about: string;
  /** A run's folder, or the root of a tree with `dt=…/run=…/` below. */
  readonly folder: ObjectKey;
  readonly shape: 'run' | 'tree';
  /** The pointer and the run that it named. */
  readonly pointer: ObjectKey;
  readonly runId: RunId;
  readonly columns: readonly Column[];
  readonly csv: CsvSettings;
  readonly masked: ReadonlySet<string>;
  readonly integers: Integers;
}

/** Where formulas are escaped, a negative number has a quote in front of it. */
export function numberText(expression: string, csv: CsvSettings): string {
  return csv.escapeFormulas ? `replace(${expression}, '''', '')` : expression;
}
