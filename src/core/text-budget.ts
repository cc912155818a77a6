/**
 * Budgets in bytes for texts that enter a state, a history, a signal or a result. The service chooses names and messages, so
 * they can have any length, and Temporal refuses a value of more than 2 MiB. What was cut is always marked. Pure: the
 * workflow sandbox imports this file.
 */
import type { RunReport } from './contract/index.js';

/** Most bytes of one error message. */
export const MAX_MESSAGE_BYTES = 2000;
/** Most bytes of a name of the service, such as a field, within a message. */
export const MAX_NAME_BYTES = 200;
/** Most bytes of the summary of a workflow: Temporal's server accepts 400. */
export const MAX_SUMMARY_BYTES = 300;
/** Most bytes of the reports of one result, as JSON. */
export const MAX_REPORTS_BYTES = 1024 * 1024;

const MAX_WARNINGS = 20;
const MAX_WARNINGS_BYTES = 6000;

/** The size of a text as JSON in UTF-8, without its quotation marks. Histories and states hold JSON. */
export function jsonTextBytes(text: string): number {
  return jsonBytes(text) - 2;
}

/** The size of a value as JSON in UTF-8, where a lone surrogate is escaped. */
function jsonBytes(value: unknown): number {
  return utf8Bytes(JSON.stringify(value));
}

/** The size of a well-formed text. The workflow sandbox has no `Buffer`. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Each half of a surrogate pair has two of its four bytes.
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0xd800 || code > 0xdfff ? 3 : 2;
  }
  return bytes;
}

/**
 * Cuts a text to a number of bytes of JSON, between two characters. The end says how long the text was:
 * `beginning… (cut: 20000 characters)`.
 */
export function cutText(text: string, maxBytes: number): string {
  // No unit has more than six bytes, and none has fewer than one.
  if (6 * text.length <= maxBytes) return text;
  if (text.length <= maxBytes && jsonTextBytes(text) <= maxBytes) return text;
  const mark = `… (cut: ${text.length} characters)`;
  const room = maxBytes - jsonTextBytes(mark);
  let bytes = 0;
  let end = 0;
  for (const character of text.slice(0, Math.max(0, room))) {
    bytes += jsonTextBytes(character);
    if (bytes > room) break;
    end += character.length;
  }
  return text.slice(0, end) + mark;
}

/** Cuts a name that the service chose, for a message. */
export function shownName(name: string): string {
  return cutText(name, MAX_NAME_BYTES);
}

const MORE = /^and (\d+) more, in the manifest$/;

/** The manifest has all warnings. States and histories have the first ones, shortened. */
export function limitWarnings(warnings: readonly string[], maxBytes = MAX_WARNINGS_BYTES): readonly string[] {
  const kept: string[] = [];
  let left = maxBytes;
  let more = 0;
  for (const warning of warnings) {
    const counted = MORE.exec(warning);
    if (counted !== null) {
      more += Number(counted[1]);
      continue;
    }
    const text = cutText(warning, Math.min(MAX_MESSAGE_BYTES, left));
    const bytes = jsonTextBytes(text);
    if (kept.length >= MAX_WARNINGS || bytes > left || more > 0) {
      more++;
      continue;
    }
    kept.push(text);
    left -= bytes;
  }
  return more === 0 ? kept : [...kept, `and ${more} more, in the manifest`];
}

/** A report whose texts have at most about so many bytes: half for the warnings, and half for the error. */
export function limitReport(report: RunReport, maxBytes = MAX_WARNINGS_BYTES + MAX_MESSAGE_BYTES): RunReport {
  const limited = limitWarnings(report.warnings, Math.min(MAX_WARNINGS_BYTES, maxBytes / 2));
  const message = cutText(report.error?.message ?? '', Math.min(MAX_MESSAGE_BYTES, maxBytes / 2));
  const error = report.error && { ...report.error, message };
  return { ...report, warnings: limited, error };
}

/**
 * The reports of one result, whose JSON has at most about `MAX_REPORTS_BYTES`. With many resources, the warnings and errors
 * become shorter, and with thousands, the counts and the snapshots of the published runs are left out; manifests have them.
 */
export function limitReports(
  reports: readonly RunReport[],
  maxBytes = MAX_REPORTS_BYTES,
): readonly RunReport[] {
  if (jsonBytes(reports) <= maxBytes) return reports;
  const bare = reports.map((report) => ({
    ...report,
    warnings: [],
    error: report.error && { ...report.error, message: '' },
  }));
  const left = maxBytes - jsonBytes(bare);
  const share = Math.floor(left / Math.max(1, reports.length));
  if (share >= MIN_SHARE_BYTES) return reports.map((report) => limitReport(report, share - MARKS_BYTES));
  return reports.map((report) => ({ ...limitReport(report, MIN_SHARE_BYTES), counts: null, snapshot: null }));
}

/** Quotation marks, commas, and the line that counts the other warnings. */
const MARKS_BYTES = 60;
/** Below this share of the bytes for each report, counts give way to texts. */
const MIN_SHARE_BYTES = 160;
