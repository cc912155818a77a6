import { recordSegments, type Segment } from '../api/index.js';
import { type ByteString, fromByteString } from '../core/brands.js';
import type { WritableResource } from '../core/contract/write-back.js';
import type { WriteBackSettings } from '../core/settings.js';
import { JsonScanner } from '../json/scanner.js';
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

const ID_FIELD = 'id';

/**
 * The id in the service's response, a number as its literal; `null` without an id.
 *
 * @throws SyntaxError for incomplete or invalid JSON
 */
export function responseId(body: ByteString): string | null {
  const scanner = new JsonScanner(body);
  if (scanner.peek() === -1) return null;
  const id = scanner.peek() === 0x7b ? idOfObject(scanner) : skipValue(scanner);
  if (scanner.peek() !== -1) scanner.fail('text after the end of the response');
  return id;
}

/** For a duplicate field, the last value counts. */
function idOfObject(scanner: JsonScanner): string | null {
  let id: string | null = null;
  for (const [name] of scanner.members()) {
    if (name === ID_FIELD) id = readId(scanner);
    else scanner.skip();
  }
  return id;
}

/** A string, or a number's literal (docs/explanation/semantics.md#values); other values are not ids. */
function readId(scanner: JsonScanner): string | null {
  const code = scanner.text.charCodeAt(scanner.pos);
  if (code === 0x22) return fromByteString(scanner.string());
  const isNumber = code === 0x2d || (code >= 0x30 && code <= 0x39);
  return isNumber ? scanner.number() : skipValue(scanner);
}

function skipValue(scanner: JsonScanner): null {
  scanner.skip();
  return null;
}
