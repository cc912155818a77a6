import { formatDuration, HOUR_MS } from '../../core/duration.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { type Finding, ok, problem, warning } from '../finding.js';
import type { ResourceProbe } from './service-probe.js';
import { type ById, tryById, tryCursor, tryUpdatedSince, type UpdatedSince } from './try-parameters.js';
import {
  FITS_BY_CHANCE,
  insideByField,
  type KnownRow,
  NOT_NEAR_EDGE,
  WindowFieldSearch,
} from './window-field.js';

/** More pages take too long for someone who waits. */
const MAX_PAGES = 100;

/** What a trial of one resource found. */
interface ResourceTrial {
  readonly findings: readonly Finding[];
  readonly suggestions: ResourceSuggestions;
  /** `sync.overlap` that keeps changes from being lost, ms; `null`: the configured one does. */
  readonly overlapMs: number | null;
}

export interface TrialInput {
  readonly probe: ResourceProbe;
  readonly sync: ConnectionSettings['sync'];
  /** Size of the pages for reading the whole list, in rows. */
  readonly pageSize: number;
  /** The service's clock, milliseconds since 1970. */
  readonly now: number;
  /** Rows that the mirror has read so far and not marked as deleted, with their keys; `null`: the lake has none. */
  readonly known: (() => AsyncIterable<{ readonly key: string; readonly row: KnownRow }>) | null;
}

/** Tries the parameters of one list, and what can show that its records are deleted. */
export async function tryResource(input: TrialInput): Promise<ResourceTrial> {
  const { probe, sync, now } = input;
  const { name } = probe.resource;
  const cursor = cursorFinding(name, await tryCursor(probe));
  const since = await tryUpdatedSince(probe, now);
  const byId = await tryById(probe);
  const window =
    probe.resource.windowMs === null ? null : await findWindowField(input, probe.resource.windowMs);
  const fetchById = byId === 'works' ? true : byId === 'untested' ? probe.resource.fetchById : false;
  const windowField = window?.field ?? null;
  return {
    findings: [
      cursor,
      sinceFinding(name, since, sync.overlapMs),
      byIdFinding(name, byId, probe.resource.fetchById),
      ...(window?.findings ?? []),
      deletesFinding(probe, { fetchById, windowField }),
    ].filter((finding) => finding !== null),
    suggestions: {
      ...(fetchById === probe.resource.fetchById ? {} : { fetchById }),
      ...(windowField === null || windowField === probe.resource.windowField ? {} : { windowField }),
    },
    overlapMs: neededOverlap(since, sync.overlapMs),
  };
}

function cursorFinding(name: string, use: Awaited<ReturnType<typeof tryCursor>>): Finding {
  switch (use.kind) {
    case 'honoured':
      return ok('cursor', `${name}: \`cursor\` continues the list`);
    case 'one-page':
      return ok('cursor', `${name}: not tested, because the list has one page`);
    case 'ignored':
      return problem(
        'cursor',
        'other',
        `${name}: \`cursor\` has no effect: the second page is the first one again`,
        'A list that is longer than one page cannot be read. Ask the service how its pages continue.',
      );
    default:
      return problem(
        'cursor',
        'other',
        `${name}: the service does not accept its own cursor: ${use.message}`,
        'A list that is longer than one page cannot be read. Ask the service how its pages continue.',
      );
  }
}

function sinceFinding(name: string, since: UpdatedSince, overlapMs: number): Finding {
  const check = 'updatedSince';
  switch (since.kind) {
    case 'empty-list':
      return ok(check, `${name}: not tested, because the list is empty`);
    case 'ignored':
      return warning(
        check,
        `${name}: \`updatedSince\` has no effect, so every increment reads the whole list`,
        'Nothing is lost. If the list is long, export it less often.',
      );
    case 'returns-nothing':
      return problem(
        check,
        'other',
        `${name}: with \`updatedSince\`, the service returns no record, even since 1990`,
        'Increments would miss every change. Export with --full, and ask the service how changes are listed.',
      );
    case 'rejected':
      return problem(
        check,
        'other',
        `${name}: the service rejects \`updatedSince\`: ${since.message}`,
        'Increments cannot work. Export with --full, and ask the service how changes are listed.',
      );
    default:
      return honouredFinding(name, since, overlapMs);
  }
}

function honouredFinding(
  name: string,
  { zoneMs, field }: Extract<UpdatedSince, { kind: 'honoured' }>,
  overlapMs: number,
): Finding {
  const check = 'updatedSince';
  if (zoneMs === null)
    return ok(
      check,
      `${name}: \`updatedSince\` is honoured; no field shows a time to find its time zone with`,
    );
  if (zoneMs === 0)
    return ok(check, `${name}: \`updatedSince\` is honoured and read as UTC (compared with "${field}")`);
  const zone = `UTC${zoneMs < 0 ? '-' : '+'}${formatDuration(Math.abs(zoneMs))}`;
  const message = `${name}: \`updatedSince\` is honoured, but read as local time (${zone}, compared with "${field}")`;
  if (zoneMs > 0) return ok(check, `${message}; increments read more than they need, and nothing is lost`);
  const needed = neededOverlap({ kind: 'honoured', zoneMs, field }, overlapMs);
  if (needed === null) return ok(check, `${message}; \`sync.overlap\` covers that`);
  return warning(
    check,
    `${message}, so each increment misses the changes of ${formatDuration(-zoneMs)}`,
    `Set \`sync.overlap: ${formatDuration(needed)}\`, which covers that and a change to daylight saving time.`,
  );
}

/** The overlap that covers a service's local time and an hour of daylight saving time, ms; `null`: the configured one does. */
function neededOverlap(since: UpdatedSince, overlapMs: number): number | null {
  if (since.kind !== 'honoured' || since.zoneMs === null || since.zoneMs >= 0) return null;
  const behind = HOUR_MS - since.zoneMs;
  return overlapMs > behind ? null : overlapMs + behind;
}

function byIdFinding(name: string, byId: ById, isConfigured: boolean): Finding | null {
  const check = 'fetch by id';
  const remedy = `Set \`fetchById: false\` for ${name}.`;
  const useless = (why: string): Finding =>
    isConfigured ? warning(check, `${name}: ${why}`, remedy) : ok(check, `${name}: ${why}`);
  switch (byId) {
    case 'works':
      return isConfigured
        ? ok(check, `${name}: GET by id finds a listed record, and no other`)
        : warning(
            check,
            `${name}: GET by id works, and the configuration does not use it`,
            `Set \`fetchById: true\` for ${name}, so that it proves deletes.`,
          );
    case 'none':
      return useless('GET by id does not find a record that the list shows');
    case 'accepts-all':
      return useless('GET by id answers with success for a record that cannot exist, so it proves nothing');
    case 'refused':
      return useless('the API key may not use GET by id');
    default:
      return ok(check, `${name}: not tested, because no listed record has a single field as its key`);
  }
}

interface FoundWindow {
  readonly field: string | null;
  readonly findings: readonly Finding[];
}

/** Reads the whole list for the field that dates its window, and compares it with what the mirror has read before. */
export async function findWindowField(
  { probe, pageSize, now, known }: TrialInput,
  windowMs: number,
): Promise<FoundWindow> {
  const { name, windowField: configured } = probe.resource;
  const search = new WindowFieldSearch();
  const listed = new Set<string>();
  let cursor: Parameters<ResourceProbe['page']>[0]['cursor'] = null;
  for (let pages = 0; ; pages++) {
    const page = await probe.page({ limit: pageSize, cursor });
    if (page.kind !== 'page' || (pages === MAX_PAGES && page.nextCursor !== null))
      return {
        field: null,
        findings: [
          ok(
            'window',
            `${name}: the date field was not searched for: the list is too long or cannot be read`,
          ),
        ],
      };
    search.add(page);
    const before = listed.size;
    for (const key of page.keys) listed.add(key);
    // A service that ignores the cursor returns the same page again.
    if (page.nextCursor === null || (page.rows.length > 0 && listed.size === before)) break;
    cursor = page.nextCursor;
  }
  const { fields, rejected, rows } = search.result(now, windowMs);
  const unlisted: KnownRow[] = [];
  if (known !== null) for await (const { key, row } of known()) if (!listed.has(key)) unlisted.push(row);
  const inside = insideByField(fields, unlisted, { now, windowMs });
  const [field = null] = [...fields].sort((a, b) => inside.get(a)! - inside.get(b)!);
  const reason = configured === null ? undefined : rejected.get(configured);
  const isUnclear = reason === FITS_BY_CHANCE || reason === NOT_NEAR_EDGE;
  const fits =
    configured !== null && fields.includes(configured) && inside.get(configured) === inside.get(field!);
  if (fits || isUnclear) {
    const how = isUnclear ? `cannot be checked, because it ${reason}` : `fits the window in ${rows} rows`;
    return { field: configured, findings: [ok('window', `${name}: "${configured}" ${how}`)] };
  }
  const suspicious =
    reason === undefined
      ? []
      : [
          warning(
            'window',
            `${name}: \`windowField\` "${configured}" ${reason}`,
            'Set `windowField` to the field that dates the window, or remove it.',
          ),
        ];
  if (field === null) {
    const near = [...rejected].filter(([, why]) => why === FITS_BY_CHANCE || why === NOT_NEAR_EDGE);
    const but = near.map(([one, why]) => `; "${one}" ${why}`).join('');
    const message = `${name}: no field dates the window, as far as ${rows} rows show${but}`;
    return { field: null, findings: [...suspicious, ok('window', message)] };
  }
  const others = fields.filter((one) => one !== field);
  const compared =
    known === null
      ? ''
      : `; of ${unlisted.length} rows that are no longer listed, ${inside.get(field)} would count as deleted`;
  const also =
    others.length === 0
      ? ''
      : `; ${others.map((one) => `"${one}"`).join(', ')} would fit as well, but less closely`;
  return {
    field,
    findings: [
      ...suspicious,
      warning(
        'window',
        `${name}: "${field}" seems to date the window: each of ${rows} rows has a date inside it, the oldest near its edge${compared}${also}`,
        `Check that this field decides what the list shows, and set \`windowField: ${field}\` for ${name}.`,
      ),
    ],
  };
}

function deletesFinding(
  { resource: { name, windowMs, deletes } }: ResourceProbe,
  { fetchById, windowField }: { readonly fetchById: boolean; readonly windowField: string | null },
): Finding {
  const check = 'deletes';
  if (deletes === 'keep') return ok(check, `${name}: not detected, because of \`deletes: keep\``);
  if (windowMs !== null && windowField === null)
    return warning(
      check,
      `${name}: deletes cannot be detected, because no field shows which rows the list should have`,
      'Set `windowField` if you know the field that dates the window. Otherwise deleted rows stay in the snapshot.',
    );
  const inside = windowMs === null ? '' : ' inside the window';
  if (fetchById) return ok(check, `${name}: proven by 404 or 410 for the id${inside}`);
  if (windowMs === null) return ok(check, `${name}: concluded from two complete readings of the list`);
  return ok(
    check,
    `${name}: concluded from two readings and the date in "${windowField}"; a record that was moved out of the window looks deleted`,
  );
}

/** Settings of one resource that follow from what the service does. */
export interface ResourceSuggestions {
  readonly fetchById?: boolean;
  readonly windowField?: string;
}

/** Settings of a connection that follow from what the service does. Empty: nothing needs to change. */
export interface Suggestions {
  readonly sync: { readonly pageSize?: number; readonly overlap?: string };
  /** By the name of the resource. */
  readonly resources: Readonly<Record<string, ResourceSuggestions>>;
}

/** Whether nothing needs to change. */
export function isEmpty({ sync, resources }: Suggestions): boolean {
  return Object.keys(sync).length === 0 && Object.keys(resources).length === 0;
}
