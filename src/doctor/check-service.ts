import { setTimeout } from 'node:timers/promises';
import {
  createServiceClient,
  NotFoundError,
  type Received,
  RefusedError,
  RejectedError,
  type ServiceClient,
  ServiceError,
  TransientError,
} from '../api/index.js';
import { type ListEnvelope, readListPage } from '../api/json/page.js';
import type { EpochMs, Millis } from '../core/brands.js';
import { errorMessage } from '../core/errors.js';
import { noResponse } from '../core/reachability.js';
import type { ConnectionSettings, ResourceSettings } from '../core/settings.js';
import { ColumnSet } from '../lake/rows/data-columns.js';
import { clockFinding } from './check-clock.js';
import { about, type Finding, ok, problem, warning } from './finding.js';

/** Requests one page of a list; `null`: not sent, because `MAX_REQUESTS` are. @throws ServiceError as `listPage` does */
type RequestPage = (resource: ResourceSettings, limit: number) => Promise<Received<ListEnvelope> | null>;

/** The most requests of the doctor to a service, with retries: someone may run it often, or with a small quota. */
const MAX_REQUESTS = 10;
/** Resources that are checked. The remaining requests are for retries and for the size of a page. */
const MAX_RESOURCES = 8;

interface ListCheck {
  readonly resource: ResourceSettings;
  /** `grant`: about this list. Any other check applies to every resource. */
  readonly finding: Finding;
  readonly received: Received<ListEnvelope> | null;
  /** When the service answered. */
  readonly at: EpochMs;
}

/**
 * Requests one record of each resource. This checks that the service responds, accepts the key, that the plan includes
 * the API, and that the key may read each list. Then checks the service's clock and page size.
 *
 * @param timeoutMs time limit of one request
 */
export async function checkService(connection: ConnectionSettings, timeoutMs: number): Promise<Finding[]> {
  // `pageRequester` retries, because it counts the requests.
  const client = openProbeClient(connection, timeoutMs, { attempts: 1, maxDelayMs: 1_000 });
  try {
    return await checkResources(connection, pageRequester(client), timeoutMs);
  } finally {
    await client.close();
  }
}

async function checkResources(
  { baseUrl, resources, sync, http }: ConnectionSettings,
  requestPage: RequestPage,
  timeoutMs: number,
): Promise<Finding[]> {
  const [first, ...others] = resources;
  if (first === undefined) return [];
  const { connectTimeoutMs, headersTimeoutMs, bodyTimeoutMs, responseTimeoutMs } = http;
  const limitMs = Math.min(
    ...[timeoutMs, connectTimeoutMs, headersTimeoutMs, bodyTimeoutMs, responseTimeoutMs],
  );
  const check = (resource: ResourceSettings) => checkList(resource, requestPage, limitMs);
  const checks = [await check(first)];
  // An invalid key fails for every resource, so there is no need to send more requests.
  if (checks[0]!.finding.check !== 'grant') {
    const rest = others.map(({ name }) => name).join(', ');
    const note = warning('grant', `${rest}: not checked`, 'Fix the problem above and run the doctor again.');
    return [checks[0]!.finding, ...(rest === '' ? [] : [about(rest, note)])];
  }
  const checked = others.slice(0, MAX_RESOURCES - 1);
  checks.push(...(await Promise.all(checked.map(check))));
  const left = others.slice(checked.length).map(({ name }) => name);
  const findings = [...checks.map(findingOf), ...notChecked(left)];
  const good = checks.find(({ received }) => received !== null);
  if (good?.received == null) return findings;
  const { resource, received, at } = good;
  const page = await checkPageSize(resource, sync.pageSize, received.value.limit, requestPage);
  const service = ok('service', `${baseUrl} responds and accepts the key`);
  const clock = about('service', clockFinding(baseUrl, received.serviceDate, at));
  return [service, ...findings, clock, page];
}

/** The finding of a list, or one that applies to every list. */
function findingOf({ resource, finding }: ListCheck): Finding {
  return finding.check === 'grant' ? about(resource.name, finding) : finding;
}

function notChecked(names: readonly string[]): Finding[] {
  if (names.length === 0) return [];
  const message = `${names.join(', ')}: not checked, because the doctor sends at most ${MAX_REQUESTS} requests to a service`;
  const remedy = 'Run `worktrack doctor --try-service`, which has no such limit.';
  return [about(names.join(', '), warning('grant', message, remedy))];
}

async function checkList(
  resource: ResourceSettings,
  requestPage: RequestPage,
  limitMs: Millis,
): Promise<ListCheck> {
  try {
    const received = await requestPage(resource, 1);
    if (received === null) return { resource, finding: notChecked([resource.name])[0]!, received, at: 0 };
    const at = Date.now() - received.durationMs / 2;
    const { announced } = received;
    const finding =
      announced === null
        ? readable(resource, received.value)
        : warning(
            'grant',
            `${resource.name}: readable, but ${announced}`,
            'Ask the service which list replaces it.',
          );
    return { resource, finding, received, at };
  } catch (error) {
    return { resource, finding: classify(error, resource, limitMs), received: null, at: 0 };
  }
}

function readable({ name, key }: ResourceSettings, { rows }: ListEnvelope): Finding {
  const [row] = rows;
  if (row === undefined) return ok('grant', `${name}: readable; the list is empty`);
  // The key's columns come first.
  const missing = key.filter((_, at) => (row[at] ?? '') === '');
  if (missing.length === 0) return ok('grant', `${name}: readable`);
  const message = `${name}: readable, but its records have no ${missing.map((field) => `"${field}"`).join(', ')}`;
  const remedy =
    "Correct the resource's `key` in the configuration. A run stops at a record without its key.";
  return problem('grant', 'configuration', message, remedy);
}

/** @param limitMs the shortest of the time limits that apply. Which one ends first must not show */
function classify(error: unknown, { name, path }: ResourceSettings, limitMs: Millis): Finding {
  if (error instanceof RefusedError) return refusal(error, name);
  if (error instanceof NotFoundError) {
    const remedy = "Correct the resource's `path` in the configuration, or remove the resource.";
    return problem('grant', 'configuration', `${name}: the service has no list at "${path}" (404)`, remedy);
  }
  const message = errorMessage(error);
  if (error instanceof TransientError) {
    const { reason, status } = error;
    if (status === 429 || reason === 'hold')
      return warning('grant', message, 'The service limits the request rate. Run the doctor again later.');
    if (reason === 'malformed')
      return problem(
        'grant',
        'other',
        message,
        'Report it to the support of the service, or of the gateway in front of it.',
      );
    const remedy = 'Check baseUrl, the network, and that the service is running.';
    const lost = reason === 'network' || reason === 'timeout';
    const what = reason === 'timeout' ? `${name}: ${noResponse(limitMs)}` : message;
    return problem(lost ? 'service' : 'grant', 'out-of-reach', what, remedy);
  }
  const remedy =
    error instanceof ServiceError
      ? "Check baseUrl and the resource's `path`. If they are correct, report the response to the service's support."
      : 'Unexpected error. Run the doctor again with WORKTRACK_DEBUG=1 in the environment, and please report the output.';
  return problem('grant', 'other', message, remedy);
}

function refusal({ scope, status, serviceMessage, isOther }: RefusedError, name: string): Finding {
  const response = `${status}${serviceMessage === null ? '' : `: ${serviceMessage}`}`;
  if (isOther)
    return problem(
      'grant',
      'refused',
      `${name}: refused (${response})`,
      'The response says why. The key may be right.',
    );
  if (scope === 'grant') {
    const remedy = `The grants of a key cannot be changed. Create a new key that may read ${name} (Settings, Integrations, API Keys), replace the old key with it, and revoke the old key.`;
    return problem('grant', 'refused', `${name}: the key may not read it (${response})`, remedy);
  }
  if (scope === 'plan') {
    const message = `the organization's plan does not include API access (${response})`;
    return problem('service', 'refused', message, 'An owner must change the plan. The key stays valid.');
  }
  const remedy =
    'Copy the complete key again. If it is lost, expired or revoked, an admin must create a new one (Settings, Integrations, API Keys).';
  // Another line says that a key was found.
  return about(
    'service',
    problem('key', 'refused', `the service rejected the API key (${response})`, remedy),
  );
}

/** A client for single requests. @param timeoutMs time limit of one request */
export function openProbeClient(
  { baseUrl, apiKey, errors, http, json, retries }: ConnectionSettings,
  timeoutMs: number,
  retry: { readonly attempts: number; readonly maxDelayMs: number },
): ServiceClient {
  const atMost = (ms: number): number => Math.min(ms, timeoutMs);
  return createServiceClient({
    ...{ baseUrl, apiKey, errors, json, retry },
    giveUpAfterMs: retries.giveUpAfterMs,
    http: {
      ...http,
      connectTimeoutMs: atMost(http.connectTimeoutMs),
      headersTimeoutMs: atMost(http.headersTimeoutMs),
      bodyTimeoutMs: atMost(http.bodyTimeoutMs),
      responseTimeoutMs: atMost(http.responseTimeoutMs),
    },
  });
}

function pageRequester(client: ServiceClient): RequestPage {
  let requests = 0;
  const send: RequestPage = async ({ name, path, params, key }, limit) => {
    if (requests === MAX_REQUESTS) return null;
    requests++;
    const columns = new ColumnSet(key, []);
    const request = { resource: name, path, params, limit, cursor: null, updatedSince: null };
    return client.listPage(request, (body) => readListPage(body, { columns, flatten: null }));
  };
  return async (resource, limit) => {
    try {
      return await send(resource, limit);
    } catch (error) {
      // One retry, so that a single lost packet is not reported as a problem.
      if (!(error instanceof TransientError) || error.reason === 'hold' || requests === MAX_REQUESTS)
        throw error;
      await setTimeout(RETRY_MS);
      const again = await send(resource, limit);
      if (again === null) throw error;
      return again;
    }
  };
}

const RETRY_MS = 500;

/**
 * Requests a page of the configured size, and halves the size while the service rejects it, as a run does
 * (docs/explanation/guarantees.md#page-size): the API gives no bounds.
 *
 * @param echoedForOne the `page.limit` that the service returned for a request of one record
 */
async function checkPageSize(
  resource: ResourceSettings,
  configured: number,
  echoedForOne: number | null,
  requestPage: RequestPage,
): Promise<Finding> {
  const small = echoedForOne === null || echoedForOne === 1 ? '' : `; requested 1, applied ${echoedForOne}`;
  for (let size = configured; size >= 1; size = Math.floor(size / 2)) {
    try {
      const received = await requestPage(resource, size);
      if (received === null)
        return warning(
          'page size',
          `${resource.name}: the service rejects pages of ${configured} records; the doctor sent no more requests to find a size that it accepts`,
          '`worktrack doctor --try-service` finds the largest one. Otherwise each run finds one with a few rejected requests.',
        );
      const { limit } = received.value;
      if (size < configured)
        return warning(
          'page size',
          `${resource.name}: the service rejects pages of ${configured} records and accepts ${size}`,
          `Set \`sync.pageSize: ${size}\`. Otherwise each run finds it with a few rejected requests.`,
        );
      if (limit === null)
        return ok('page size', `requested ${size}; the service does not report the applied size`);
      const applied =
        limit === size ? `requested and applied ${size}` : `requested ${size}, applied ${limit}`;
      return ok('page size', applied + small);
    } catch (error) {
      if (error instanceof RejectedError && !(error instanceof NotFoundError)) continue;
      const remedy = `A page of one record works and a page of ${size} does not. Set a smaller \`sync.pageSize\`.`;
      return problem('page size', 'other', errorMessage(error), remedy);
    }
  }
  const message = `${resource.name}: the service rejects every page size from ${configured} down to 1`;
  return problem('page size', 'other', message, "Report it to the service's support.");
}
