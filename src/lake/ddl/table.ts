import type { ObjectKey } from '../../core/brands.js';
import type { CsvSettings, DeletePolicy, LakeSettings } from '../../core/settings.js';
import type { Column } from '../rows/schema.js';
import type { AliasRules } from './aliases.js';
import type { ExactCast } from './exact.js';
import type { Numbers, TableColumn, TypedKind } from './kinds.js';

/** One SQL statement with its purpose. */
export interface Statement {
  /**
   * `define` creates a table or view and can be run again. `setup` must run first in a session that cannot read the lake
   * yet, and runs as it is. `template` is an alternative, or has a name to replace first. `check` is an optional query.
   */
  readonly kind: 'define' | 'setup' | 'template' | 'check';
  /** Comment lines, without line breaks. */
  readonly about: readonly string[];
  /** The statement, without a semicolon. */
  readonly sql: string;
}

/** A source of rows for a table. */
export interface TableSource {
  readonly lake: LakeSettings;
  readonly resource: string;
  /** Name of the typed view. The text view has the suffix `_text`. */
  readonly name: string;
  readonly about: string;
  /** `run`: the parts in the folder of a run. `log`: the parts of all runs below a folder. `newest`: the newest rows of `log`. */
  readonly shape: 'run' | 'log' | 'newest';
  /** A run's folder, or the root of a tree that contains `dt=…/run=…/` folders. */
  readonly folder: ObjectKey;
  /** Key of the pointer, which names the last published run. */
  readonly pointer: ObjectKey;
  readonly columns: readonly Column[];
  /** Names of the key columns. */
  readonly key: readonly string[];
  readonly csv: CsvSettings;
  readonly deletes: DeletePolicy;
  readonly masked: ReadonlySet<string>;
  readonly numbers: Numbers;
  /** Line breaks inside cells of the source. */
  readonly lineBreaks: number;
  /** Name of the text view of all change logs. */
  readonly logText: string;
}

/** What differs between query engines. */
export interface Engine {
  readonly aliases: AliasRules;
  /** Quotes a name. */
  readonly name: (name: string) => string;
  /** Quotes a text. */
  readonly string: (text: string) => string;
  readonly createView: string;
  /** Whether views read an unquoted empty field as NULL. If not, they return NULL for an empty text, too. */
  readonly nulls: 'kept' | 'lost';
  /** Casts a non-empty text to a type that is not text; NULL if it is none of its values. It may round. */
  readonly cast: (text: string, kind: TypedKind) => string;
  /** Condition: the whole text matches a regular expression. */
  readonly matches: (text: string, pattern: string) => string;
  /** The value of a cast. If the text is not null and does not fit, the query fails. */
  readonly orFail: (cast: ExactCast) => string;
  /** `all`: the types hold all years and microseconds. `seen`: they are as narrow as the values seen. */
  readonly times: 'all' | 'seen';
  /** Statements that define the text view of a run's folder or of the change logs. */
  readonly text: (source: TableSource, columns: readonly TableColumn[]) => Statement[];
  /** Columns of the text view of change logs that come from the path of a file. */
  readonly partitions?: readonly string[];
  /** Name of the engine's CSV reader, if it takes each line break for the end of a row. */
  readonly splitsAtLineBreaks?: string;
  /** Prints a query that counts values which do not fit their type. */
  readonly check?: (source: TableSource, columns: readonly TableColumn[]) => Statement[];
}
