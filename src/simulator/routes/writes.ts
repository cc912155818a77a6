import { createHash } from 'node:crypto';
import type { Dataset } from '../data/dataset.js';
import { type RawField, readFields } from '../data/raw-json.js';
import type { Call } from '../http/call.js';
import { errorMessage, jsonTextReply, Refusal, type Reply } from '../http/reply.js';
import type { Service } from '../simulated-service.js';

const CALENDAR = 'calendar-entries';
const SERVER_FIELDS = new Set(['id', 'createdAt', 'updatedAt']);

/**
 * Creates a time entry, or repeats the response to the same Idempotency-Key. Synchronous, so that concurrent duplicates
 * cannot create two records. Throws `Refusal` 400 or 422.
 */
export function createTimeEntry(service: Service, call: Call, body: Buffer, data: Dataset): Reply {
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
export function upsertCalendarEntry(
  body: Buffer,
  pair: readonly [string, string] | null,
  data: Dataset,
): Reply {
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
