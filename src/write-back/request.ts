import { type ByteString, fromByteString } from '../core/brands.js';
import type { WriteBackSettings } from '../core/settings.js';
import type { WritableResource } from '../core/write-back-contract.js';
import { PAIR, type PlannedRow } from './planner.js';

/** What is sent for a row, without what every request carries. */
export interface RowRequest {
  readonly method: 'POST' | 'PUT';
  /** Segments below the base path, not encoded. */
  readonly path: readonly string[];
  /** JSON text. */
  readonly body: string;
}

/** The request of a row (spec, "Operations"); for calendar entries in the configured style (DESIGN 4). */
export function toRequest(
  resource: WritableResource,
  row: Pick<PlannedRow, 'pair' | 'body'>,
  settings: WriteBackSettings,
): RowRequest {
  const path = settings[resource].path.split('/');
  const body = fromByteString(row.body);
  if (row.pair === null) return { method: 'POST', path, body };
  const { style } = settings['calendar-entries'];
  if (style === 'put-path') return { method: 'PUT', path: [...path, ...row.pair], body };
  return { method: style === 'put-body' ? 'PUT' : 'POST', path, body: withPair(row.pair, body) };
}

function withPair(pair: readonly [string, string], body: string): string {
  const named = PAIR.map((name, at) => `${JSON.stringify(name)}:${JSON.stringify(pair[at])}`).join(',');
  return body === '{}' ? `{${named}}` : `{${named},${body.slice(1)}`;
}

/** The id in the service's answer; `null` where it has none. @throws SyntaxError for a body that is not whole JSON */
export function answeredId(body: ByteString): string | null {
  if (body.trim() === '') return null;
  const record = JSON.parse(fromByteString(body)) as { id?: unknown } | null;
  const id = typeof record === 'object' ? record?.id : undefined;
  return typeof id === 'string' || typeof id === 'number' ? String(id) : null;
}
