import type { ServiceClient } from '../../api/index.js';
import { formatDuration } from '../../core/duration.js';
import { WorktrackError } from '../../core/errors.js';
import type { ConnectionSettings, ResourceSettings } from '../../core/settings.js';
import { readPublished } from '../../lake/published/read-published.js';
import { readRecords } from '../../lake/published/read-rows.js';
import { columnName } from '../../lake/rows/data-columns.js';
import { openStore } from '../../lake/store/index.js';
import { openProbeClient } from '../check-service.js';
import { type Finding, ok, problem, warning } from '../finding.js';
import { ResourceProbe } from './service-probe.js';
import {
  findWindowField,
  type ResourceSuggestions,
  type Suggestions,
  type TrialInput,
  tryResource,
} from './try-resource.js';

export { isEmpty, type ResourceSuggestions, type Suggestions } from './try-resource.js';

const RETRY_DELAY_MS = 5_000;

/** What a trial of a service found, and the settings that follow. */
export interface ServiceTrial {
  readonly findings: readonly Finding[];
  readonly suggestions: Suggestions;
  /** Requests sent, without retries. */
  readonly requests: number;
}

/**
 * Tries what the API leaves open with read-only requests: the largest page, `updatedSince` and its time zone, `cursor`, GET by id,
 * the field that dates a window, and what can prove a delete. About 50 requests per resource, and the whole list of one with a
 * window.
 *
 * @param timeoutMs time limit of one request
 * @param only the resources to try. Default: all in the configuration
 */
export async function tryService(
  connection: ConnectionSettings,
  timeoutMs: number,
  only: readonly ResourceSettings[] = connection.resources,
): Promise<ServiceTrial> {
  const client = openProbeClient(connection, timeoutMs, { attempts: 2, maxDelayMs: RETRY_DELAY_MS });
  try {
    return await tryAll(connection, client, only);
  } finally {
    await client.close();
  }
}

/**
 * The field that dates the window of each list with a window, by resource, as far as one reading shows it. A list that cannot be read
 * or has no such field is left out.
 *
 * @param timeoutMs time limit of one request
 */
export async function findWindowFields(
  connection: ConnectionSettings,
  timeoutMs: number,
): Promise<Record<string, string>> {
  const client = openProbeClient(connection, timeoutMs, { attempts: 1, maxDelayMs: RETRY_DELAY_MS });
  const found: Record<string, string> = {};
  try {
    for (const resource of connection.resources) {
      if (resource.windowMs === null) continue;
      const probe = new ResourceProbe(client, resource);
      const first = await probe.page({ limit: 1 });
      // Other lists of the service would not answer either.
      if (first.kind === 'failed') break;
      if (first.kind !== 'page') continue;
      const now = first.serviceDate ?? Date.now();
      const { sync } = connection;
      const input = { probe, sync, pageSize: sync.pageSize, now, known: null };
      const { field } = await findWindowField(input, resource.windowMs);
      if (field !== null) found[resource.name] = field;
    }
  } finally {
    await client.close();
  }
  return found;
}

async function tryAll(
  connection: ConnectionSettings,
  client: ServiceClient,
  resources: readonly ResourceSettings[],
): Promise<ServiceTrial> {
  const { sync } = connection;
  const findings: Finding[] = [];
  const suggested: Record<string, ResourceSuggestions> = {};
  let size: number | null = null;
  let overlapMs: number | null = null;
  let requests = 0;
  for (const resource of resources) {
    const probe = new ResourceProbe(client, resource);
    const first = await probe.page({ limit: 1 });
    if (first.kind !== 'page') {
      requests += probe.requests;
      findings.push(
        warning('service', `${resource.name}: not tried: ${first.message}`, 'Correct this first.'),
      );
      continue;
    }
    const largest = await findLargestPage(probe);
    findings.push(pageFinding(resource.name, largest, sync.pageSize));
    if (largest.size !== null) size = Math.min(size ?? largest.size, largest.size);
    const trial = await tryResource({
      ...{ probe, sync, now: first.serviceDate ?? Date.now() },
      pageSize: Math.min(sync.pageSize, largest.size ?? 1),
      known: await knownRows(connection, resource),
    });
    findings.push(...trial.findings);
    if (Object.keys(trial.suggestions).length > 0) suggested[resource.name] = trial.suggestions;
    if (trial.overlapMs !== null) overlapMs = Math.max(overlapMs ?? 0, trial.overlapMs);
    requests += probe.requests;
  }
  return {
    findings: [...findings, ok('service', `tried with ${requests} read-only requests`)],
    suggestions: {
      sync: {
        ...(size !== null && size < sync.pageSize ? { pageSize: size } : {}),
        ...(overlapMs === null ? {} : { overlap: formatDuration(overlapMs) }),
      },
      resources: suggested,
    },
    requests,
  };
}

function pageFinding(
  name: string,
  { size, clamps, rejects }: Awaited<ReturnType<typeof findLargestPage>>,
  configured: number,
): Finding {
  if (size === null)
    return problem(
      'page size',
      'other',
      `${name}: the service accepts no size`,
      'Ask the service which sizes it accepts.',
    );
  const beyond = rejects
    ? ' and rejects larger ones'
    : clamps
      ? ' and reduces larger ones to that'
      : ' or more';
  const message = `${name}: the service accepts pages of ${size} records${beyond}`;
  if (size >= configured || !rejects) return ok('page size', message);
  return warning('page size', message, `Set \`sync.pageSize: ${size}\`.`);
}

/** The rows that the mirror has published, if the lake can be read; only a resource with a window needs them. */
async function knownRows(
  { lake }: ConnectionSettings,
  { name, key, windowMs }: ResourceSettings,
): Promise<TrialInput['known']> {
  if (windowMs === null) return null;
  const store = openStore(lake);
  try {
    const { manifest } = await readPublished(store, name);
    return async function* rows() {
      const open = openStore(lake);
      try {
        for await (const row of readRecords(open, manifest))
          yield { key: JSON.stringify(key.map((field) => row[columnName(field)] ?? null)), row };
      } finally {
        open.close();
      }
    };
  } catch (error) {
    // Nothing is published yet, or the check of the lake reports why it cannot be read.
    if (error instanceof WorktrackError) return null;
    throw error;
  } finally {
    store.close();
  }
}

/** Larger pages take longer and gain nothing (docs/internals/benchmarks.md). */
const MAX_PAGE_SIZE = 10_000;

/** What the service makes of the size of a page. */
interface LargestPage {
  /** The largest accepted size up to `MAX_PAGE_SIZE`; `null`: no size is accepted. */
  readonly size: number | null;
  /** Whether the service applies a smaller size than requested instead of rejecting the request. */
  readonly clamps: boolean;
  /** Whether larger sizes are rejected. */
  readonly rejects: boolean;
}

/**
 * Finds the largest accepted page. A service may apply a smaller size than requested, and say so in `page.limit`, or reject the
 * request, which a search between an accepted and a rejected size finds: at most 15 requests.
 */
async function findLargestPage(probe: ResourceProbe): Promise<LargestPage> {
  const first = await probe.page({ limit: MAX_PAGE_SIZE });
  if (first.kind === 'page') {
    const applied = appliedSize(first);
    return { size: applied, clamps: applied < MAX_PAGE_SIZE, rejects: false };
  }
  let accepted = 0;
  let rejected = MAX_PAGE_SIZE;
  while (rejected - accepted > 1) {
    const limit = Math.floor((accepted + rejected) / 2);
    const page = await probe.page({ limit });
    if (page.kind === 'refused' || page.kind === 'not-found') break;
    if (page.kind !== 'page') rejected = limit;
    else {
      accepted = limit;
      const applied = appliedSize({ ...page, requested: limit });
      // It rejects some sizes and reduces others.
      if (applied < limit) return { size: applied, clamps: true, rejects: true };
    }
  }
  return { size: accepted === 0 ? null : accepted, clamps: false, rejects: true };
}

/** Without `page.limit`, a full page that has a next one shows the applied size. */
function appliedSize({
  limit,
  rows,
  nextCursor,
  requested = MAX_PAGE_SIZE,
}: {
  readonly limit: number | null;
  readonly rows: readonly unknown[];
  readonly nextCursor: unknown;
  readonly requested?: number;
}): number {
  if (limit !== null && limit > 0) return Math.min(limit, requested);
  return nextCursor !== null && rows.length > 0 ? Math.min(rows.length, requested) : requested;
}
