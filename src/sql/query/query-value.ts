import { withoutEnd } from '../../core/without-end.js';

/**
 * A value of a result. Whole numbers are `number` if every number of their type is exact as one, otherwise `bigint`. Decimals keep
 * their zeros as text, such as `12.50`. Dates and times are ISO 8601 in UTC. Lists and structures are text.
 */
export type QueryValue = string | number | bigint | boolean | null;

/** A type of DuckDB, whose text is its name. The declarations of this package do not need DuckDB. */
interface DuckDbType {
  toString(): string;
}

const MICROS = 1_000_000n;

/** A value of DuckDB as a value of a result. */
export function toQueryValue(value: unknown, type: DuckDbType): QueryValue {
  if (value === null) return null;
  const isPlain = typeof value !== 'object';
  if (isPlain) return value as QueryValue;
  const micros = microsOf(value, type);
  return micros === null ? String(value) : isoTime(micros, String(value));
}

/** A value as text, for CSV, JSON and tables; `null` for NULL. */
export function toText(value: unknown, type: DuckDbType): string | null {
  const converted = toQueryValue(value, type);
  return converted === null ? null : String(converted);
}

/** Microseconds since 1970 of a time; `null` for any other type, and for infinite times. */
function microsOf(value: object, type: DuckDbType): bigint | null {
  const name = String(type);
  if (name !== 'TIMESTAMP' && name !== 'TIMESTAMP WITH TIME ZONE') return null;
  const { micros } = value as { readonly micros: bigint };
  return /inf/.test(String(value)) ? null : micros;
}

/** `2026-11-21T02:00:00.5Z`: as the service writes times. @param text DuckDB's own, for years that `Date` does not hold */
function isoTime(micros: bigint, text: string): string {
  const rest = ((micros % MICROS) + MICROS) % MICROS;
  const date = new Date(Number((micros - rest) / 1000n));
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999 || date.getUTCFullYear() < 1) return text;
  const fraction = rest === 0n ? '' : `.${withoutEnd(String(rest).padStart(6, '0'), '0')}`;
  return `${date.toISOString().slice(0, 19)}${fraction}Z`;
}
