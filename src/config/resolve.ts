import type {
  ConnectionSettings,
  CsvSettings,
  HttpSettings,
  ResourceSettings,
  Settings,
  SyncSettings,
  TableSettings,
  WriteBackSettings,
} from '../core/settings.js';
import { withNameDefaults } from './resource-defaults.js';
import type { ParsedConfig, ParsedConnection } from './schema.js';
import type { ParsedResource } from './schema-resource.js';

/** Converts the checked file into deeply frozen settings. */
export function resolveSettings(config: ParsedConfig, source: string): Settings {
  const connections = Object.entries(config.connections).map(([name, parsed]) =>
    resolveConnection(name, parsed),
  );
  return deepFreeze({ source, connections });
}

function resolveConnection(name: string, parsed: ParsedConnection): ConnectionSettings {
  const resources = parsed.resources.map((resource) => resolveResource(resource, parsed));
  return {
    name,
    baseUrl: parsed.baseUrl,
    apiKey: parsed.apiKey,
    lake: definedOf(parsed.lake),
    resources,
    masking: parsed.masking ?? null,
    retries: { giveUpAfterMs: parsed.retries.giveUpAfter },
    errors: {
      refused: [...new Set(parsed.errors.refused)],
      transient: [...new Set(parsed.errors.transient)],
    },
    http: resolveHttp(parsed.http),
    json: parsed.json,
    sync: resolveSync(parsed.sync),
    retention: { snapshotsMs: parsed.retention.snapshots, keepPerDay: parsed.retention.keep },
    tables: resolveTables(parsed.tables),
    schedule: {
      cron: parsed.schedule.cron,
      timezone: parsed.schedule.timezone,
      jitterMs: parsed.schedule.jitter,
      catchupWindowMs: parsed.schedule.catchupWindow,
      pauseOnFailure: parsed.schedule.pauseOnFailure,
    },
    webhook: parsed.webhook ?? null,
    notify: parsed.notify ?? [],
    onPublished: parsed.onPublished ?? null,
    writeBack: resolveWriteBack(parsed, resources),
  };
}

function resolveResource(resource: ParsedResource, connection: ParsedConnection): ResourceSettings {
  const { include, exclude, mask } = resource.columns ?? {};
  return {
    name: resource.name,
    path: resource.path ?? resource.name,
    ...withNameDefaults(resource),
    windowField: resource.windowField ?? null,
    updatedAtField: resource.updatedAt ?? null,
    badRecords: resource.badRecords ?? 'stop',
    contract: resource.contract ?? 'evolve',
    columns: {
      include: include ?? null,
      exclude: exclude ?? [],
      // No prototype, because a field may be named `constructor`.
      mask: Object.assign(Object.create(null), mask),
    },
    deletes: resource.deletes ?? connection.deletes,
    csv: resolveCsv(connection, resource.csv),
    checks: resource.checks ?? [],
  };
}

const MiB = 1024 ** 2;
/** Enough for good compression and few requests. */
const PART_BYTES = 64 * MiB;
/** Smaller with a table, because a change rewrites the data file of its part, which costs more than the part. */
const TABLE_PART_BYTES = 16 * MiB;

function resolveCsv(
  { csv: base, tables }: Pick<ParsedConnection, 'csv' | 'tables'>,
  over: ParsedResource['csv'] = {},
): CsvSettings {
  const partBytes = tables.format === 'none' ? PART_BYTES : TABLE_PART_BYTES;
  return {
    compression: over.compression ?? base.compression,
    delimiter: over.delimiter ?? base.delimiter,
    nested: over.nested ?? base.nested,
    separator: over.separator ?? base.separator,
    lineBreaks: over.lineBreaks ?? base.lineBreaks,
    escapeFormulas: over.escapeFormulas ?? base.escapeFormulas,
    partBytes: over.partSize ?? base.partSize ?? partBytes,
  };
}

function resolveTables({ format, types, badValues }: ParsedConnection['tables']): TableSettings | null {
  return format === 'none' ? null : { format, types, badValues };
}

function resolveHttp(http: ParsedConnection['http']): HttpSettings {
  return {
    concurrency: http.concurrency,
    requestsPerSecond: http.requestsPerSecond,
    connectTimeoutMs: http.connectTimeout,
    headersTimeoutMs: http.headersTimeout,
    bodyTimeoutMs: http.bodyTimeout,
    responseTimeoutMs: http.responseTimeout,
    maxBodyBytes: http.maxBody,
    allowPlainHttp: http.allowPlainHttp,
  };
}

function resolveSync(sync: ParsedConnection['sync']): SyncSettings {
  return {
    pageSize: sync.pageSize,
    overlapMs: sync.overlap,
    clock: sync.clock,
    reconcileEveryMs: sync.reconcileEvery,
    minIntervalMs: sync.minInterval,
  };
}

/** By default, a write uses the path of the resource's list. */
function resolveWriteBack(
  { writeBack: parsed, csv }: ParsedConnection,
  resources: readonly ResourceSettings[],
): WriteBackSettings {
  const mirrored = (name: string) => resources.find((resource) => resource.name === name);
  const pathOf = (name: string) => mirrored(name)?.path ?? name;
  const escapes = (name: string) => (mirrored(name)?.csv ?? csv).escapeFormulas;
  const { 'time-entries': timeEntries, 'calendar-entries': calendarEntries } = parsed;
  return {
    'time-entries': {
      path: timeEntries.path ?? pathOf('time-entries'),
      idField: timeEntries.idField ?? idFieldOf(mirrored('time-entries')),
      success: timeEntries.success,
    },
    'calendar-entries': {
      path: calendarEntries.path ?? pathOf('calendar-entries'),
      idField: calendarEntries.idField ?? idFieldOf(mirrored('calendar-entries')),
      success: calendarEntries.success,
      style: calendarEntries.style,
    },
    unknownAfterMs: parsed.unknownAfter,
    escapeFormulas: {
      'time-entries': escapes('time-entries'),
      'calendar-entries': escapes('calendar-entries'),
    },
  };
}

/** Deeply freezes a tree of plain objects and lists, and returns it. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}

/** A copy without the keys whose value is undefined. */
function definedOf<T extends object>(settings: T): T {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as T;
}

/** The key of a mirrored resource, if it is one field. The key of calendar entries is the pair, which they need not return. */
function idFieldOf(resource: ResourceSettings | undefined): string {
  const [field, ...others] = resource?.key ?? [];
  if (resource === undefined || field === undefined || others.length > 0) return 'id';
  // A flattened key is nested in the response.
  const isNested = resource.csv.nested === 'flatten' && field.includes('.');
  return isNested ? `/${field.split('.').map(escapeToken).join('/')}` : field;
}

/** RFC 6901, section 3. */
function escapeToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
