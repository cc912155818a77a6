import type { Dataset } from '../data/dataset.js';
import type { Fault } from '../faults.js';
import { requireGrant } from '../http/api-keys.js';
import { BASE_PATH, type Call } from '../http/call.js';
import { errorMessage, errorReply, jsonTextReply, Refusal, type Reply } from '../http/reply.js';
import type { Service } from '../simulated-service.js';
import { servePage } from './list-page.js';
import { createTimeEntry, upsertCalendarEntry } from './writes.js';

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
