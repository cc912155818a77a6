import type { TableColumn, TypedKind } from './kinds.js';
import type { Engine } from './table.js';

/**
 * Most engines round a number that has too many decimal places, and some ignore the time in a date or read `yes` as a
 * boolean. A view can meet values that appeared after it was printed. So each cast of a typed view first checks the form
 * of the text (docs/explanation/delta-tables.md#why-typed-views-of-the-csv-files-fail-instead-of-rounding).
 */

/** A value in a typed view. */
export interface ExactCast {
  /** The text to cast; NULL for a null. */
  readonly text: string;
  readonly kind: TypedKind;
  /** The text as a value of its type. */
  readonly value: string;
  /** Condition: the type holds the text exactly. Not NULL unless the text is. */
  readonly fits: string;
  /** Why the query fails, without a value. */
  readonly message: string;
}

/**
 * The parts of the expression that casts a text only if the result is exact.
 *
 * @returns `null` if the engine has no type for the column, so that it stays text
 */
export function exactCast(
  engine: Engine,
  text: string,
  { alias, kind }: { readonly alias: string; readonly kind: TypedKind },
): ExactCast | null {
  const value = engine.cast(text, kind);
  if (value === text) return null;
  // The form rules out rounding. What has the form, but is out of range or no date, is NULL after the cast.
  const fits = `(${engine.matches(text, formOf(kind, engine.times))} AND ${value} IS NOT NULL)`;
  const message = `column ${JSON.stringify(alias)} has a new value that does not fit its type; print the statements again`;
  return { text, kind, value, fits, message };
}

/** The typed columns of a view, with their casts. */
export function exactColumns(
  columns: readonly TableColumn[],
  castOf: (column: TableColumn) => ExactCast | null,
): (TableColumn & { readonly cast: ExactCast })[] {
  return columns.flatMap((column) => {
    const cast = castOf(column);
    return cast === null ? [] : [{ ...column, cast }];
  });
}

/** Fails in the last branch of a CASE. Only for engines that evaluate no other branch than the one that applies. */
export function failingCase({ text, value, fits }: ExactCast, failure: string): string {
  return `CASE WHEN ${text} IS NULL THEN NULL WHEN ${fits} THEN ${value} ELSE ${failure} END`;
}

/**
 * A regular expression for the texts that a type holds without rounding, apart from its range. It uses only what all engines
 * have in common, and no backslash.
 */
function formOf(kind: TypedKind, times: Engine['times']): string {
  switch (kind.type) {
    case 'boolean':
      return 'true|false';
    case 'int64':
      return '-?[0-9]{1,19}';
    case 'int128':
      return '-?[0-9]{1,38}';
    case 'decimal':
      return `-?[0-9]{1,${kind.precision - kind.scale}}([.][0-9]{0,${kind.scale}}0*)?`;
    case 'double':
      return '-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?';
    case 'date':
      return dateForm(kind.isDistant || times === 'all');
    case 'time': {
      const digits = times === 'all' ? 6 : kind.digits;
      const clock = `T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{0,${digits}}0*)?(Z|[+-][0-9]{2}:[0-9]{2})`;
      return `${dateForm(kind.isDistant || times === 'all')}${clock}`;
    }
  }
}

function dateForm(anyYear: boolean): string {
  return `${anyYear ? '[0-9]{4}' : '(19|2[0-2])[0-9]{2}'}-[0-9]{2}-[0-9]{2}`;
}
