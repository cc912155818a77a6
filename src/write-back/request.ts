import { recordSegments, type Segment } from '../api/index.js';
import { fromByteString } from '../core/brands.js';
import type { WritableResource } from '../core/contract/write-back.js';
import type { WriteBackSettings } from '../core/settings.js';
import { PAIR, type PlannedRow } from './planner.js';

/** The request of a row, without the headers that every request has. */
interface RowRequest {
  readonly method: 'POST' | 'PUT';
  /** Relative to the base path. */
  readonly path: readonly Segment[];
  /** JSON text. */
  readonly body: string;
}

/** The request of a row (spec, "Operations"); for calendar entries in the configured style (docs/reference/configuration.md). */
export function toRequest(
  resource: WritableResource,
  row: Pick<PlannedRow, 'pair' | 'body'>,
  settings: WriteBackSettings,
): RowRequest {
  const path = settings[resource].path.split('/');
  const body = fromByteString(row.body);
  if (row.pair === null) return { method: 'POST', path, body };
  const { style } = settings['calendar-entries'];
  if (style === 'put-path') {
    const [source, sourceKey] = row.pair;
    const segments = [
      { value: source, shown: '<source>' },
      { value: sourceKey, shown: '<sourceKey>' },
    ];
    return { method: 'PUT', path: recordSegments(settings[resource].path, segments), body };
  }
  return { method: style === 'put-body' ? 'PUT' : 'POST', path, body: withPair(row.pair, body) };
}

function withPair(pair: readonly [string, string], body: string): string {
  const members = PAIR.map((name, at) => `${JSON.stringify(name)}:${JSON.stringify(pair[at])}`).join(',');
  return body === '{}' ? `{${members}}` : `{${members},${body.slice(1)}`;
}
