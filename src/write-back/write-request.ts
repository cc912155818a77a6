import { type ResponseFacts, recordSegments, reportsFailure, type SendRequest } from '../api/index.js';
import type { ByteString } from '../core/brands.js';
import type { WritableResource } from '../core/contract/write-back.js';
import { parseUrl } from '../core/parse-url.js';
import type { SuccessRule } from '../core/settings.js';
import { withoutEnd } from '../core/without-end.js';
import { JsonScanner } from '../json/scanner.js';
import { type JsonValue, readValue, valueAtPointer } from '../json/value.js';
import type { SendingRules } from './plan-file.js';
import { PAIR, type PlannedRow } from './planner.js';

/** The request of a row (docs/service-api.md#requests); for calendar entries in the batch's style (docs/reference/configuration.md). */
export function toRequest(
  { pair, body }: Pick<PlannedRow, 'pair' | 'body'>,
  { path: joined, style }: Pick<SendingRules, 'path' | 'style'>,
): Pick<SendRequest, 'method' | 'path' | 'body'> {
  const path = joined.split('/');
  if (pair === null) return { method: 'POST', path, body };
  if (style === 'put-path') {
    const [source, sourceKey] = pair;
    const segments = [
      { value: source, shown: '<source>' },
      { value: sourceKey, shown: '<sourceKey>' },
    ];
    return { method: 'PUT', path: recordSegments(joined, segments), body };
  }
  return { method: style === 'put-body' ? 'PUT' : 'POST', path, body: withPair(pair, body) };
}

function withPair(pair: readonly [string, string], body: string): string {
  const members = PAIR.map((name, at) => `${JSON.stringify(name)}:${JSON.stringify(pair[at])}`).join(',');
  return body === '{}' ? `{${members}}` : `{${members},${body.slice(1)}`;
}

/** What a complete response with 2xx shows about a row. */
export type WriteVerdict =
  /**
   * The service has written the row.
   * @member id `null`: the rule accepts a response without one
   * @member record the record as the response shows it; `null`: it does not
   */
  | { readonly kind: 'record'; readonly id: string | null; readonly record: JsonValue | null }
  /** The response shows no record. @member message the reason, with the service's text */
  | { readonly kind: 'unclear'; readonly message: string };

/** The members that services put the returned record in. */
const ENVELOPES = ['data', 'result', 'record'] as const;
/** How deep envelopes may be nested. */
const MAX_ENVELOPES = 4;

/**
 * Judges a 2xx (docs/explanation/guarantees.md#write-back). A row counts as written only if the response shows its record:
 * an object with an id, bare or in an envelope, or a 201 with a Location that names one. A body that reports an error is
 * never a record. An upsert can be repeated without harm, so less is enough: the pair, or an empty body.
 *
 * @throws SyntaxError for a body that looks like JSON or HTML and is not complete JSON. The request can be repeated.
 */
export function judgeResponse(
  body: ByteString,
  facts: ResponseFacts,
  {
    resource,
    rule,
    row,
  }: { resource: WritableResource; rule: SuccessRule; row: Pick<PlannedRow, 'pair' | 'body'> },
): WriteVerdict {
  const { pair } = row;
  const { status } = facts;
  const unclear = (what: string): WriteVerdict => {
    const says = facts.message();
    return {
      kind: 'unclear',
      message: `the service answered ${status}${what}${says === null ? '' : `: ${says}`}`,
    };
  };
  const named = status === 201 ? idOfLocation(facts) : null;
  if (!/[^ \t\r\n]/.test(body)) {
    if (named !== null) return { kind: 'record', id: named, record: null };
    const isEnough = rule.success === 'empty' || (pair !== null && EMPTY_UPSERT.includes(status));
    if (isEnough) return { kind: 'record', id: null, record: null };
    const remedy = `If this is its usual response, set writeBack.${resource}.success to empty`;
    return unclear(` with an empty body, which shows no record. ${remedy}`);
  }
  const value = parse(body, named !== null);
  if (value === null)
    return named === null ? unclear(' without a record') : { kind: 'record', id: named, record: null };
  const levels = levelsOf(value);
  const errors = levels.flatMap(reportedErrors);
  // A record has the values that were sent, whatever the names of their fields are.
  if (!errors.every((error) => wasSent(row, error))) return unclear(' and reports an error');
  const found = recordIn(levels, rule.idField);
  if (found !== null) return { kind: 'record', ...found };
  const same = pair === null ? undefined : levels.find((level) => hasPair(level, pair));
  if (same !== undefined) return { kind: 'record', id: named, record: same };
  if (named !== null) return { kind: 'record', id: named, record: levels.at(-1)! };
  if (value.kind !== 'object') return unclear(' without a record');
  return unclear(` without a record: it has no id (writeBack.${resource}.idField is ${rule.idField})`);
}

/** Statuses of an upsert without a body that count as written. */
const EMPTY_UPSERT: readonly number[] = [200, 201, 204];

/** The JSON value of a body; `null` for plain text. */
function parse(body: ByteString, hasId: boolean): JsonValue | null {
  try {
    const scanner = new JsonScanner(body);
    const value = readValue(scanner);
    scanner.end();
    return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // What begins like JSON may be cut off, and a web page is from a proxy. Other text is the service's own.
    if (!hasId && /^[ \t\r\n]*[{["<]/.test(body)) throw error;
    return null;
  }
}

/** The value, and the objects in its envelopes, from outside to inside. */
function levelsOf(value: JsonValue): JsonValue[] {
  const levels = [value];
  for (let outer = [value], depth = 0; outer.length > 0 && depth < MAX_ENVELOPES; depth++) {
    const inner = outer.flatMap((level) => ENVELOPES.map((name) => memberOf(level, name)));
    outer = inner.filter((one) => one?.kind === 'object') as JsonValue[];
    levels.push(...outer);
  }
  return levels;
}

/** The members of an object that say that the request failed. */
function reportedErrors(level: JsonValue): Member[] {
  return level.kind === 'object' ? [...level.members].filter((member) => reportsFailure(...member)) : [];
}

type Member = readonly [name: string, value: JsonValue];

/** Whether a row has this field with this text, number or word. */
function wasSent({ body }: Pick<PlannedRow, 'body'>, [name, value]: Member): boolean {
  const sent = (JSON.parse(body) as Record<string, unknown>)[name];
  if (value.kind === 'string') return sent === value.text;
  return value.kind === 'number' ? sent === Number(value.literal) : String(sent) === value.kind;
}

/**
 * The record, and its id, in the innermost level that has an id: an envelope can have another id, such as that of the request.
 */
function recordIn(
  levels: readonly JsonValue[],
  idField: string,
): { readonly id: string; readonly record: JsonValue } | null {
  for (const level of levels.toReversed()) {
    const found = idField.startsWith('/') ? valueAtPointer(level, idField) : memberOf(level, idField);
    const id = found === null ? null : textOfId(found);
    if (id !== null) return { id, record: recordOf(level, idField) };
  }
  return null;
}

/** The object with the id: a pointer such as `/entry/id` names a member of `entry`, and `/meta/id` says nothing of the record. */
function recordOf(level: JsonValue, idField: string): JsonValue {
  const end = idField.lastIndexOf('/');
  return (end > 0 ? valueAtPointer(level, idField.slice(0, end)) : null) ?? level;
}

function memberOf(level: JsonValue, name: string): JsonValue | null {
  return level.kind === 'object' ? (level.members.get(name) ?? null) : null;
}

/** A string, or a number's literal (docs/explanation/guarantees.md#values); other values are not ids. */
function textOfId(value: JsonValue): string | null {
  if (value.kind === 'number') return value.literal;
  return value.kind === 'string' && value.text.trim() !== '' ? value.text : null;
}

function hasPair(level: JsonValue, pair: readonly string[]): boolean {
  return PAIR.every((name, at) => {
    const found = memberOf(level, name);
    return found !== null && textOfId(found) === pair[at];
  });
}

/** The last segment of a Location; `null` if it names no record, such as the endpoint itself. */
function idOfLocation({ location, url }: ResponseFacts): string | null {
  if (location === null || location.trim() === '') return null;
  const named = parseUrl(location, url);
  if (named === null) return null;
  const path = withoutSlash(named.pathname);
  if (path === withoutSlash(new URL(url).pathname)) return null;
  const last = path.slice(path.lastIndexOf('/') + 1);
  if (last === '') return null;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

function withoutSlash(path: string): string {
  return withoutEnd(path, '/');
}
