/** Quoting of names and strings in statements. No field name can end a name or a statement. */

/** A string literal of standard SQL (DuckDB, Trino), where only quotes are special. */
export function sqlString(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A string literal of Hive and Spark, where a backslash escapes. */
export function hiveString(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'")
    .replace(/\p{Cc}/gu, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `'${escaped}'`;
}

/** A quoted identifier of standard SQL. */
export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A quoted identifier of Hive and Spark. */
export function hiveName(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

/** A string literal of ClickHouse, where a backslash escapes. */
export function chString(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'")
    // Beyond ASCII, the escape would be a byte and not a character.
    .replace(/(?=\p{ASCII})\p{Cc}/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return `'${escaped}'`;
}

/** A quoted identifier of ClickHouse. */
export function chName(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}
