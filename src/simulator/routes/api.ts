import { createHash } from 'node:crypto';
import type { Dataset } from '../data/dataset.js';
import { type RawField, readFields } from '../data/raw-json.js';
import type { Fault } from '../faults.js';
import { requireGrant } from '../http/api-keys.js';
import { BASE_PATH, type Call, type CursorState } from '../http/call.js';
import { errorMessage, errorReply, jsonTextReply, Refusal, type Reply } from '../http/reply.js';
import type { Service } from '../simulated-service.js';
import type { TunableOptions } from '../simulator-options.js';

/** Handles a request to the API (docs/service-api.md#requests). Never throws; errors become error responses. */
export function handleCall(service: Service, call: Call, body: Buffer, fault: Fault | null): Reply {
  try {
    return route(service, call, body, fault);
  } catch (error) {
    const status = error instanceof Refusal ? error.status : 500;
    return errorReply(status, withEcho(service, call, errorMessage(error)));
  }
}

/** The message, including the Authorization header if the option `echoAuthorization` is set. */
export function withEcho(service: Service, call: Call, message: string): string {
  return service.options.echoAuthorization
    ? `${message} (Authorization: ${call.headers.authorization ?? ''})`
    : message;
}

function route(service: Service, call: Call, body: Buffer, fault: Fault | null): Reply {
  const { options } = service;
  if (!call.path.startsWith(`${BASE_PATH}/`) || !service.resources.has(call.resource)) throw notFound(call);
  if (call.segments === null) throw new Refusal(400, 'The path is not percent-encoded correctly.');
  const key = service.keys.authenticate(call.headers.authorization, service.clock.now(), options.statuses);
  const data = service.dataset(key.organization);
  const access = call.method === 'GET' ? 'read' : 'write';
  requireGrant(key, `${call.resource}:${access}`, options.statuses.missingGrant);
  if (call.method === 'GET') {
    if (fault?.kind === 'cursor-expired') throw new Refusal(fault.status ?? 400, 'The cursor has expired.');
    if (call.segments.length === 0) return servePage(service, call, data, fault);
    return fetchById(call, data, call.segments);
  }
  return routeWrite(service, call, body, data, call.segments);
}

function routeWrite(
  service: Service,
  call: Call,
  body: Buffer,
  data: Dataset,
  segments: readonly string[],
): Reply {
  const { method, resource } = call;
  const [source, sourceKey] = segments;
  const isCreate = resource === 'time-entries' && method === 'POST' && segments.length === 0;
  const byBody =
    resource === 'calendar-entries' && (method === 'POST' || method === 'PUT') && segments.length === 0;
  const byPath = resource === 'calendar-entries' && method === 'PUT' && segments.length === 2;
  if (!isCreate && !byBody && !byPath) {
    if (segments.length > 0) throw notFound(call);
    throw new Refusal(405, `${method} is not allowed on ${resource}.`);
  }
  if (!/^application\/json\b/i.test(call.headers['content-type'] ?? '')) {
    throw new Refusal(415, 'Content-Type must be application/json.');
  }
  if (isCreate) return createTimeEntry(service, call, body, data);
  const pair = source === undefined || sourceKey === undefined ? null : ([source, sourceKey] as const);
  return upsertCalendarEntry(body, pair, data);
}

function fetchById(call: Call, data: Dataset, segments: readonly string[]): Reply {
  const { fetchById: fetchable } = data.context.options;
  const [id = ''] = segments;
  if (segments.length !== 1 || (fetchable !== 'all' && !fetchable.includes(call.resource)))
    throw notFound(call);
  const text = data.text(call.resource, id);
  if (text === undefined) throw new Refusal(404, `${call.resource} has no record ${id}.`);
  return jsonTextReply(200, text);
}

const notFound = (call: Call): Refusal => new Refusal(404, `${call.path} does not exist.`);

const UPDATED_SINCE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

/** Serves one page of a list (docs/service-api.md#requests). Throws `Refusal` 400. */
function servePage(service: Service, call: Call, data: Dataset, fault: Fault | null): Reply {
  const { options, codec, cursorHistory: history } = service;
  const limit = readLimit(call.query.get('limit'), options);
  const since = readUpdatedSince(call.query.get('updatedSince'));
  if (call.cursor === 'invalid') throw new Refusal(400, 'The cursor is not valid.');
  const cursor: CursorState = call.cursor ?? {
    after: null,
    skip: 0,
    page: 0,
    chain: history.startChain(),
    resource: call.resource,
  };
  const requested = call.query.get('cursor') ?? '';
  const previous = requested === '' ? undefined : history.record(cursor.chain, requested);
  const following = { ...cursor, page: cursor.page + 1 };

  if (fault?.kind === 'empty-page') return envelope([], limit, codec.encode(following));
  const table = data.table(call.resource);
  const { rows, more } = table.page({
    after: cursor.after,
    skip: cursor.skip,
    limit,
    // Times are whole milliseconds, so an inclusive bound is an exclusive bound one millisecond earlier.
    changedAfter: options.updatedSinceBound === 'inclusive' ? since - 1 : since,
    windowFrom: data.windowFrom(call.resource),
  });
  const last = rows.at(-1);
  let next: string | null = null;
  if (more && options.cursorStyle === 'offset')
    next = codec.encode({ ...following, skip: cursor.skip + rows.length });
  else if (more && last !== undefined)
    next = codec.encode({ ...following, after: table.position(last), skip: 0 });
  if (fault?.kind === 'cursor-loop') next = fault.length === 1 ? requested : (previous ?? requested);
  return envelope(table.slices(rows), limit, next);
}

const HEAD = Buffer.from('{"data":[');

function envelope(records: readonly Buffer[], limit: number, nextCursor: string | null): Reply {
  const tail = Buffer.from(`],"page":${JSON.stringify({ limit, nextCursor })}}`);
  return jsonTextReply(200, Buffer.concat([HEAD, ...records, tail]));
}

function readLimit(text: string | null, options: TunableOptions): number {
  if (text === null) return Math.min(options.pageDefault, options.pageMax);
  if (!/^-?\d+$/.test(text)) throw new Refusal(400, `limit must be an integer, not ${JSON.stringify(text)}.`);
  const limit = Number(text);
  if (limit > options.pageMax && options.tooLargeLimit === 'refuse') {
    throw new Refusal(400, `limit must not be larger than ${options.pageMax}.`);
  }
  return Math.max(1, Math.min(limit, options.pageMax));
}

function readUpdatedSince(text: string | null): number {
  if (text === null) return Number.NEGATIVE_INFINITY;
  const ms = UPDATED_SINCE.test(text) ? Date.parse(text) : Number.NaN;
  // Date.parse reads February 30 as March 1 or 2. A strict service rejects it.
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== text.replace('Z', '.000Z')) {
    throw new Refusal(400, 'updatedSince must have the form YYYY-MM-DDTHH:MM:SSZ.');
  }
  return ms;
}

const CALENDAR = 'calendar-entries';
const SERVER_FIELDS = new Set(['id', 'createdAt', 'updatedAt']);

/**
 * Creates a time entry, or repeats the response to the same Idempotency-Key. Synchronous, so that concurrent duplicates
 * cannot create two records. Throws `Refusal` 400 or 422.
 */
function createTimeEntry(service: Service, call: Call, body: Buffer, data: Dataset): Reply {
  const { options, clock, idempotency } = service;
  const header = call.headers['idempotency-key'];
  const key = typeof header === 'string' && header !== '' ? header : undefined;
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const now = clock.now();
  if (key !== undefined) {
    const original = idempotency.find(data.organization, key, now, options.idempotencyRetentionMs);
    if (original !== undefined) {
      if (original.bodyHash !== bodyHash && options.reusedKey === 'refuse') {
        throw new Refusal(422, 'The Idempotency-Key was used with another body.');
      }
      return jsonTextReply(options.repeatStatus, original.body);
    }
  }
  const fields = readBody(body);
  checkTimeEntry(fields);
  const request = key === undefined ? undefined : { key, bodyHash, at: now };
  return jsonTextReply(201, data.create('time-entries', fields, request).text);
}

/**
 * Creates (201) or updates (200) the calendar entry of a pair (docs/service-api.md#requests). Throws `Refusal` 400
 * or 422.
 *
 * @param pair source and sourceKey from the path; null takes them from the body
 */
function upsertCalendarEntry(body: Buffer, pair: readonly [string, string] | null, data: Dataset): Reply {
  const fields = readBody(body);
  const values = new Map(fields);
  const [source, sourceKey] = ['source', 'sourceKey'].map((name, i) => {
    const written = values.has(name) ? (JSON.parse(values.get(name) as string) as unknown) : undefined;
    const value = pair === null ? written : pair[i];
    if (typeof value !== 'string' || value === '')
      throw new Refusal(422, `${name} must be a non-empty string.`);
    if (written !== undefined && written !== value)
      throw new Refusal(422, `${name} differs between path and body.`);
    return value;
  }) as [string, string];
  if (values.has('startsAt')) checkDate(values, 'startsAt');
  const rest = fields.filter(([name]) => name !== 'source' && name !== 'sourceKey');
  const id = data.calendarId(source, sourceKey);
  if (id !== undefined) return jsonTextReply(200, data.update(CALENDAR, id, rest));
  const named: RawField[] = [
    ['source', JSON.stringify(source)],
    ['sourceKey', JSON.stringify(sourceKey)],
  ];
  return jsonTextReply(201, data.create(CALENDAR, [...named, ...rest]).text);
}

/** The fields of the body without those that only the service sets. */
function readBody(body: Buffer): RawField[] {
  try {
    return readFields(body.toString('utf8')).filter(([name]) => !SERVER_FIELDS.has(name));
  } catch (error) {
    throw new Refusal(400, `The body is not a JSON object: ${errorMessage(error)}`);
  }
}

function checkTimeEntry(fields: readonly RawField[]): void {
  const values = new Map(fields);
  const duration: unknown = JSON.parse(values.get('durationSeconds') ?? 'null');
  if (typeof duration !== 'number' || !Number.isSafeInteger(duration) || duration < 0) {
    throw new Refusal(422, 'durationSeconds must be a non-negative integer.');
  }
  checkDate(values, 'startedAt');
}

function checkDate(values: ReadonlyMap<string, string>, name: string): void {
  const value: unknown = JSON.parse(values.get(name) ?? 'null');
  if (typeof value !== 'string' || Number.isNaN(Date.parse(value))) {
    throw new Refusal(422, `${name} must be an ISO 8601 date and time.`);
  }
}
