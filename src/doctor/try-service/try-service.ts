import type { ServiceClient } from '../../api/index.js';
import { formatDuration } from '../../core/duration.js';
import { WorktrackError } from '../../core/errors.js';
import type { ConnectionSettings, ResourceSettings } from '../../core/settings.js';
import { readPublished } from '../../lake/published/read-published.js';
import { readRecords } from '../../lake/published/read-rows.js';
import { columnName } from '../../lake/rows/data-columns.js';
import { keyIsId, maskedColumns } from '../../lake/rows/profile.js';
import { openStore } from '../../lake/store/index.js';
import { openProbeClient } from '../check-service.js';
import { about, type Finding, ok, warning } from '../finding.js';
import { ResourceProbe } from './service-probe.js';
import { type ListSettings, tryList } from './try-list.js';
import { tryById, tryCursor, tryPageSize, tryUpdatedSince } from './try-parameters.js';
import { findWindowField, type WindowInput } from './window-field.js';

const RETRY_DELAY_MS = 5_000;

/** Settings of one resource that follow from what the service does. */
type ResourceSuggestions = ListSettings & {
  readonly fetchById?: boolean;
  readonly windowField?: string;
  readonly updatedAt?: string;
  readonly deleted?: { readonly field: string; readonly values?: readonly string[] };
};

/** Settings of a connection that follow from what the service does. Empty: nothing needs to change. */
export interface Suggestions {
  readonly sync: {
    readonly pageSize?: number;
    readonly overlap?: string;
    readonly endCursors?: readonly string[];
  };
  /** By the name of the resource. */
  readonly resources: Readonly<Record<string, ResourceSuggestions>>;
}

/** Whether nothing needs to change. */
export function isEmpty({ sync, resources }: Suggestions): boolean {
  return Object.keys(sync).length === 0 && Object.keys(resources).length === 0;
}

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
 */
export async function tryService(connection: ConnectionSettings, timeoutMs: number): Promise<ServiceTrial> {
  const client = openProbeClient(connection, timeoutMs, { attempts: 2, maxDelayMs: RETRY_DELAY_MS });
  try {
    return await tryAll(connection, client);
  } finally {
    await client.close();
  }
}

/**
 * The field that dates the window of each list with a window, by resource, as far as one reading shows it. A list that cannot be read,
 * has no such field, or has one in the settings, is left out.
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
      if (resource.windowMs === null || resource.windowField !== null) continue;
      const probe = new ResourceProbe(client, resource);
      const first = await probe.page({ limit: 1 });
      // Other lists of the service would not answer either.
      if (first.kind === 'failed') break;
      if (first.kind !== 'page') continue;
      const now = first.serviceDate ?? Date.now();
      const input = { probe, pageSize: connection.sync.pageSize, now, known: null };
      const { field } = await findWindowField(input, resource.windowMs);
      if (field !== null) found[resource.name] = field;
    }
  } finally {
    await client.close();
  }
  return found;
}

async function tryAll(connection: ConnectionSettings, client: ServiceClient): Promise<ServiceTrial> {
  const { sync, resources } = connection;
  const findings: Finding[] = [];
  const suggested: Record<string, ResourceSuggestions> = {};
  const sizes: number[] = [];
  const overlaps: number[] = [];
  const endCursors = new Set<string>();
  let requests = 0;
  for (const resource of resources) {
    const { name, windowMs } = resource;
    const probe = new ResourceProbe(client, resource);
    const known = await knownRows(connection, resource);
    await seeKnown(probe, known);
    const first = await probe.page({ limit: 1 });
    if (first.kind !== 'page') {
      findings.push(
        about(name, warning('service', `${name}: not tried: ${first.message}`, 'Correct this first.')),
      );
    } else {
      const now = first.serviceDate ?? Date.now();
      const { size, finding } = await tryPageSize(probe, sync.pageSize);
      const pageSize = Math.min(sync.pageSize, size ?? 1);
      const cursor = await tryCursor(probe);
      const list = await tryList(probe, { pageSize, endCursors: sync.endCursors });
      if (list.endCursor !== null) endCursors.add(list.endCursor);
      const since = await tryUpdatedSince(probe, now, sync.overlapMs);
      const byId = await tryById(probe, await unlistedIds(resource, known, list.listed));
      const input = { probe, pageSize, now, known };
      const window =
        windowMs === null ? { field: null, findings: [] } : await findWindowField(input, windowMs);
      const fields = fieldsTrial(probe, since.field, now);
      const own = [
        ...[finding, cursor, ...list.findings, since.finding, byId.finding, ...window.findings],
        ...[deletesFinding(resource, byId.fetchById, window.field), ...fields.findings],
      ];
      findings.push(...own.map((one) => about(name, one)));
      // A smaller page does not help a list that it cannot read either.
      if (size !== null && list.isReadable) sizes.push(size);
      if (since.overlapMs !== null) overlaps.push(since.overlapMs);
      const suggestions = {
        ...list.settings,
        ...fields.settings,
        ...(byId.fetchById === resource.fetchById || list.settings.key !== undefined
          ? {}
          : { fetchById: byId.fetchById }),
        ...(window.field === null || window.field === resource.windowField
          ? {}
          : { windowField: window.field }),
      };
      if (Object.keys(suggestions).length > 0) suggested[name] = suggestions;
    }
    requests += probe.requests;
  }
  const smallest = Math.min(sync.pageSize, ...sizes);
  return {
    findings: [...findings, about('trial', ok('service', `tried with ${requests} read-only requests`))],
    suggestions: {
      sync: {
        ...(smallest < sync.pageSize ? { pageSize: smallest } : {}),
        ...(overlaps.length === 0 ? {} : { overlap: formatDuration(Math.max(...overlaps)) }),
        ...(endCursors.size === 0 ? {} : { endCursors: [...sync.endCursors, ...endCursors] }),
      },
      resources: suggested,
    },
    requests,
  };
}

/** What the records that were seen say about their fields. @param compared the field that fits `updatedSince` */
function fieldsTrial(
  { resource: { name, updatedAtField, deleted }, seen }: ResourceProbe,
  compared: string | null,
  now: number,
): {
  readonly findings: readonly Finding[];
  readonly settings: Pick<ResourceSuggestions, 'updatedAt' | 'deleted'>;
} {
  const updatedAt = updatedAtField === null ? seen.updatedAt(compared) : null;
  const mark = deleted === null ? seen.deleted(now) : null;
  const findings: Finding[] = [];
  if (updatedAt !== null)
    findings.push(
      warning(
        'list',
        `${name}: "${updatedAt}" moved forward with each change that was seen, and never back`,
        `Set \`updatedAt: ${updatedAt}\`, so that an older version of a record does not replace a newer one.`,
      ),
    );
  if (mark !== null)
    findings.push(
      warning(
        'deletes',
        `${name}: some records say in "${mark.field}" that they are deleted`,
        `Set \`deleted\`, so that their rows are marked as deleted.`,
      ),
    );
  const rule = mark && { field: mark.field, ...(mark.values === null ? {} : { values: mark.values }) };
  return {
    findings,
    settings: { ...(updatedAt === null ? {} : { updatedAt }), ...(rule === null ? {} : { deleted: rule }) },
  };
}

/** Rows that are requested by id. */
const MAX_UNLISTED = 5;

/** Ids of published rows that the list no longer has. @param listed `null`: not known */
async function unlistedIds(
  resource: ResourceSettings,
  known: WindowInput['known'],
  listed: ReadonlySet<string> | null,
): Promise<readonly string[]> {
  const ids: string[] = [];
  if (known === null || listed === null || !keyIsId(resource)) return ids;
  for await (const { key } of known()) {
    if (!listed.has(key)) ids.push((JSON.parse(key) as [string])[0]);
    if (ids.length === MAX_UNLISTED) break;
  }
  return ids;
}

/** Rows of the lake that are compared with the service's records. */
const MAX_COMPARED = 20_000;

/** Notes the published rows as earlier versions of the records. Masked values say nothing. */
async function seeKnown({ resource, seen }: ResourceProbe, known: WindowInput['known']): Promise<void> {
  if (known === null) return;
  let left = MAX_COMPARED;
  for await (const { key, row } of known()) {
    if (left-- === 0) break;
    const masked = new Set(maskedColumns(resource, Object.keys(row)));
    const filled = Object.entries(row).flatMap(([field, value]) =>
      value === null || masked.has(field) ? [] : [[field, value] as const],
    );
    seen.see(key, new Map(filled));
  }
}

function deletesFinding(
  { name, windowMs, deletes }: ResourceSettings,
  fetchById: boolean,
  windowField: string | null,
): Finding {
  const check = 'deletes';
  if (deletes === 'keep') return ok(check, `${name}: rows stay, as \`deletes: keep\` says`);
  if (windowMs !== null && windowField === null) {
    const message = `${name}: deletes cannot be detected, because no field shows which rows the list should have`;
    const remedy =
      'Set `windowField` if you know the field that dates the window. Otherwise deleted rows stay in the snapshot.';
    return warning(check, message, remedy);
  }
  const inside = windowMs === null ? '' : ' inside the window';
  if (fetchById) return ok(check, `${name}: proven by 404 or 410 for the id${inside}`);
  if (windowMs === null) return ok(check, `${name}: concluded from two complete readings of the list`);
  return ok(
    check,
    `${name}: concluded from two readings and the date in "${windowField}"; a record that was moved out of the window looks deleted`,
  );
}

/** The rows that the mirror has published; `null`: the lake cannot be read. */
async function knownRows(
  { lake }: ConnectionSettings,
  { name, key }: ResourceSettings,
): Promise<WindowInput['known']> {
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
