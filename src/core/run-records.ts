/**
 * Records of runs: what is kept of them in histories and states, whose size is bounded, and the reports that users get. Pure:
 * the workflow sandbox imports this file.
 */
import type { RunRecord, RunReport } from './contract/index.js';
import { limitChanges, MAX_CHANGES_BYTES, schemaWarnings } from './schema-changes.js';
import { cutText, jsonBytes, jsonTextBytes, MAX_MESSAGE_BYTES } from './text-budget.js';
import { type StoredWarning, toWarning, type Warning, warningText } from './warnings.js';

/** Most bytes of the records of one result, as JSON. */
export const MAX_RECORDS_BYTES = 1024 * 1024;

const MAX_WARNINGS = 20;
const MAX_WARNINGS_BYTES = 6000;

/** The report of a run for users, in English. */
export function toReport(run: RunRecord): RunReport {
  const { schemaChanges: _, ...record } = run;
  return { ...record, warnings: warningTexts(run) };
}

/** The warnings of a run in English, schema changes included. */
export function warningTexts({
  warnings,
  schemaChanges,
}: Pick<RunRecord, 'warnings' | 'schemaChanges'>): string[] {
  return [...warnings.map(warningText), ...schemaWarnings(schemaChanges)];
}

/** The manifest has all warnings. States and histories have the first ones, shortened, and the number of the others. */
export function limitWarnings(
  warnings: readonly StoredWarning[],
  maxBytes = MAX_WARNINGS_BYTES,
): readonly Warning[] {
  const kept: Warning[] = [];
  let left = maxBytes;
  let more = 0;
  for (const warning of warnings.map(toWarning)) {
    if (warning.kind === 'more') {
      more += warning.count;
      continue;
    }
    const isFull = kept.length >= MAX_WARNINGS || more > 0;
    const short = isFull ? null : shortened(warning, Math.min(MAX_MESSAGE_BYTES, left));
    if (short === null) {
      more++;
      continue;
    }
    kept.push(short);
    left -= bytesOf(short);
  }
  return more === 0 ? kept : [...kept, { kind: 'more', count: more }];
}

/** The size of a warning, as facts or as English, whichever is longer. */
function bytesOf(warning: Warning): number {
  return Math.max(jsonBytes(warning), jsonTextBytes(warningText(warning)));
}

/** The shortest beginning of a text that says something. */
const MIN_TEXT_BYTES = 40;

/** A warning whose texts are cut until it has at most so many bytes; `null`: it cannot be that short. */
function shortened(warning: Warning, maxBytes: number): Warning | null {
  const { kind, ...facts } = warning;
  // Texts that fit stay as they are. Nothing measures a text before it is cut, because it can have megabytes.
  const first = { ...(cutTexts(facts, maxBytes) as typeof facts), kind } as Warning;
  if (bytesOf(first) <= maxBytes) return first;
  for (let most = maxBytes - MARKS_BYTES; most >= MIN_TEXT_BYTES; most /= 2) {
    const short = { ...(cutTexts(facts, most) as typeof facts), kind } as Warning;
    if (bytesOf(short) <= maxBytes) return short;
  }
  return null;
}

function cutTexts(value: unknown, maxBytes: number): unknown {
  if (typeof value === 'string') return cutText(value, maxBytes);
  if (Array.isArray(value)) return value.map((item) => cutTexts(item, maxBytes));
  if (value === null || typeof value !== 'object') return value;
  // A kind within the facts is no text: its sentence depends on it.
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, name === 'kind' ? item : cutTexts(item, maxBytes)]),
  );
}

/** A record whose texts have at most about so many bytes: two fifths for the warnings, and as many for the error. */
export function limitRecord(record: RunRecord, maxBytes = Number.POSITIVE_INFINITY): RunRecord {
  const { schemaChanges } = record;
  const warnings = limitWarnings(record.warnings, Math.min(MAX_WARNINGS_BYTES, maxBytes * 0.4));
  const changes = schemaChanges && limitChanges(schemaChanges, Math.min(MAX_CHANGES_BYTES, maxBytes * 0.2));
  const message = cutText(record.error?.message ?? '', Math.min(MAX_MESSAGE_BYTES, maxBytes * 0.4));
  const error = record.error && { ...record.error, message };
  return { ...record, warnings, ...(changes && { schemaChanges: changes }), error };
}

/**
 * The records of one result, whose JSON has at most about `MAX_RECORDS_BYTES`. With many resources, the warnings and errors
 * become shorter, and with thousands, the counts and the snapshots of the published runs are left out; manifests have them.
 */
export function limitRecords(
  records: readonly RunRecord[],
  maxBytes = MAX_RECORDS_BYTES,
): readonly RunRecord[] {
  if (Math.max(jsonBytes(records), jsonBytes(records.map(toReport))) <= maxBytes) return records;
  const bare = records.map(({ schemaChanges: _, ...record }) => ({
    ...record,
    warnings: [],
    error: record.error && { ...record.error, message: '' },
  }));
  const left = maxBytes - jsonBytes(bare);
  const share = Math.floor(left / Math.max(1, records.length));
  if (share >= MIN_SHARE_BYTES) return records.map((record) => limitRecord(record, share - MARKS_BYTES));
  return records.map((record) => ({ ...limitRecord(record, MIN_SHARE_BYTES), counts: null, snapshot: null }));
}

/** Names, quotation marks, commas, and the line that counts the other warnings. */
const MARKS_BYTES = 60;
/** Below this share of the bytes for each record, counts give way to texts. */
const MIN_SHARE_BYTES = 160;
