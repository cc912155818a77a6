import {
  createServiceClient,
  NotFoundError,
  type Received,
  RefusedError,
  type ServiceClient,
  ServiceError,
  TransientError,
} from '../api/index.js';
import { type ListEnvelope, readListPage } from '../api/json/page.js';
import type { ConnectionSettings, ResourceSettings } from '../core/settings.js';
import { ColumnSet } from '../lake/schema.js';
import { clockFinding } from './clock.js';
import { type Finding, ok, problem, warning } from './finding.js';
import { checkPageSize } from './page-size.js';

/** A page of a list as an examination asks for it. @throws ServiceError as `listPage` does */
export type AskPage = (resource: ResourceSettings, limit: number) => Promise<Received<ListEnvelope>>;

interface Asked {
  readonly finding: Finding;
  readonly received: Received<ListEnvelope> | null;
  /** Whether the same would be said of every other resource. */
  readonly concernsAll: boolean;
}

/**
 * Asks for one record of each resource: whether the service is there, takes the key, sells the API with the plan, and
 * lets the key read that list. Then its clock, and which page size it applies.
 *
 * @param timeoutMs for one request
 */
export async function checkService(connection: ConnectionSettings, timeoutMs: number): Promise<Finding[]> {
  const client = openClient(connection, timeoutMs);
  try {
    return await examine(connection, askWith(client));
  } finally {
    await client.close();
  }
}

async function examine({ baseUrl, resources, sync }: ConnectionSettings, ask: AskPage): Promise<Finding[]> {
  const [first, ...others] = resources;
  if (first === undefined) return [];
  const asked = [await askFor(first, ask)];
  // A wrong key is wrong for all of them: no need to knock again.
  if (asked[0]!.concernsAll) {
    const rest = others.map(({ name }) => name).join(', ');
    const note = warning('grant', `${rest}: not asked for`, 'Mend the above, and run the doctor again.');
    return [asked[0]!.finding, ...(rest === '' ? [] : [note])];
  }
  asked.push(...(await Promise.all(others.map((resource) => askFor(resource, ask)))));
  const findings = asked.map(({ finding }) => finding);
  const good = asked.findIndex(({ received }) => received !== null);
  const received = asked[good]?.received;
  if (received === undefined || received === null) return findings;
  const { serviceDate } = received;
  const page = await checkPageSize(resources[good]!, sync.pageSize, received.value.limit, ask);
  return [
    ok('service', `${baseUrl} answers and takes the key`),
    ...findings,
    clockFinding(baseUrl, serviceDate, asked[good]!.at),
    page,
  ];
}

async function askFor(resource: ResourceSettings, ask: AskPage): Promise<Asked & { readonly at: number }> {
  try {
    const received = await ask(resource, 1);
    const at = Date.now() - received.durationMs / 2;
    return { finding: readable(resource, received.value), received, concernsAll: false, at };
  } catch (error) {
    return { ...judge(error, resource), received: null, at: 0 };
  }
}

function readable({ name, key }: ResourceSettings, { rows }: ListEnvelope): Finding {
  const [row] = rows;
  if (row === undefined) return ok('grant', `${name}: may be read; the list is empty`);
  // The key's columns come first.
  const missing = key.filter((_, at) => (row[at] ?? '') === '');
  if (missing.length === 0) return ok('grant', `${name}: may be read`);
  return problem(
    'grant',
    'configuration',
    `${name}: may be read, but its records have no ${missing.map((field) => `"${field}"`).join(', ')}`,
    "Correct the resource's `key` in the configuration: a run stops at a record without its key.",
  );
}

function judge(error: unknown, resource: ResourceSettings): Pick<Asked, 'finding' | 'concernsAll'> {
  const { name, path } = resource;
  if (error instanceof RefusedError) return refusal(error, name);
  if (error instanceof NotFoundError) {
    const remedy = "Correct the resource's `path` in the configuration, or remove the resource.";
    return one(
      problem('grant', 'configuration', `${name}: the service has no list at "${path}" (404)`, remedy),
    );
  }
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof TransientError) {
    const { reason, status } = error;
    if (status === 429 || reason === 'hold')
      return one(
        warning('grant', message, 'The service asks for fewer requests; run the doctor again later.'),
      );
    const remedy = 'Check baseUrl, the network between here and there, and that the service is up.';
    const lost = reason === 'network' || reason === 'timeout';
    return {
      finding: problem(lost ? 'service' : 'grant', 'out-of-reach', message, remedy),
      concernsAll: lost,
    };
  }
  const remedy =
    error instanceof ServiceError
      ? "Check baseUrl and the resource's `path`; if they are right, report the answer to the service's support."
      : 'Run the doctor again with WORKTRACK_DEBUG=1 in the environment, and report what it says.';
  return one(problem('grant', 'other', message, remedy));
}

function one(finding: Finding) {
  return { finding, concernsAll: false };
}

function refusal({ scope, status, serviceMessage }: RefusedError, name: string) {
  const said = `${status}${serviceMessage === null ? '' : `: ${serviceMessage}`}`;
  if (scope === 'grant') {
    const remedy = `Grants are fixed when a key is created: create a new key that may read ${name} (Settings, Integrations, API Keys), put it in place, and revoke the old one.`;
    return one(problem('grant', 'refused', `${name}: may not be read (${said})`, remedy));
  }
  const finding =
    scope === 'plan'
      ? problem(
          'service',
          'refused',
          `the plan of the organization is without API access (${said})`,
          'An owner has to change the plan; the key itself need not change.',
        )
      : problem(
          'key',
          'refused',
          `the service does not take the API key (${said})`,
          'Copy the key again, whole; if it is lost, expired or revoked, an admin creates a new one (Settings, Integrations, API Keys).',
        );
  return { finding, concernsAll: true };
}

function openClient({ baseUrl, apiKey, errors, http }: ConnectionSettings, timeoutMs: number): ServiceClient {
  const least = (ms: number): number => Math.min(ms, timeoutMs);
  return createServiceClient({
    baseUrl,
    apiKey,
    errors,
    http: {
      ...http,
      connectTimeoutMs: least(http.connectTimeoutMs),
      headersTimeoutMs: least(http.headersTimeoutMs),
      bodyTimeoutMs: least(http.bodyTimeoutMs),
    },
    // One more try: a lost packet is no diagnosis.
    retry: { attempts: 2, maxDelayMs: 1_000 },
  });
}

function askWith(client: ServiceClient): AskPage {
  return ({ name, path, key }, limit) => {
    const columns = new ColumnSet(key, []);
    return client.listPage({ resource: name, path, limit, cursor: null, updatedSince: null }, (body) =>
      readListPage(body, { columns, flatten: null }),
    );
  };
}
