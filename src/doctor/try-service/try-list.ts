import type { Cursor } from '../../core/brands.js';
import {
  doubtOf,
  END_MARK,
  NOTHING_READ,
  type ReadingEvidence,
  shortfall,
  withPage,
} from '../../core/list-evidence.js';
import { uniqueKey } from '../../lake/rows/unique-key.js';
import { type Finding, problem, warning } from '../finding.js';
import type { ProbedPage, ResourceProbe } from './service-probe.js';

/** More pages take too long for someone who waits. */
const MAX_PAGES = 20;

/** Settings that follow from what a list says and holds. */
export type ListSettings = {
  readonly key?: readonly string[];
  readonly badRecords?: 'quarantine';
};

interface ListTrial {
  readonly findings: readonly Finding[];
  readonly settings: ListSettings;
  /** The mark of the end of the list, for `sync.endCursors`; `null`: it needs none. */
  readonly endCursor: string | null;
  /** The keys of all records; `null`: not all of them were read. */
  readonly listed: ReadonlySet<string> | null;
  /** Whether each page that was requested could be read. */
  readonly isReadable: boolean;
}

/** A reading of a list, or of its beginning. */
interface Reading {
  readonly pages: readonly ProbedPage[];
  readonly evidence: ReadingEvidence;
  readonly isWhole: boolean;
  readonly endCursor: string | null;
  /** Why the page after the last one could not be read; `null`: none was requested, or it could. */
  readonly failure: string | null;
}

/** Reads a list, at most its first 20 pages, for what it says about itself, and for the records that it has with one key. */
export async function tryList(
  probe: ResourceProbe,
  { pageSize, endCursors }: { readonly pageSize: number; readonly endCursors: readonly string[] },
): Promise<ListTrial> {
  const reading = await readList(probe, pageSize, endCursors);
  const again = sameKeys(reading.pages.flatMap(rowsByKey)).length > 0;
  const second = again ? await readList(probe, pageSize, endCursors) : null;
  const key = keyTrial(probe, reading, second);
  const others = reading.pages.filter(({ firstOther }) => firstOther !== null).length;
  const { badRecords } = probe.resource;
  const isUnset = others > 0 && badRecords === 'stop';
  return {
    findings: [
      ...evidenceFindings(probe, reading),
      ...failureFindings(probe, reading),
      ...key.findings,
      ...(isUnset ? [otherFinding(probe)] : []),
    ],
    settings: { ...key.settings, ...(isUnset ? { badRecords: 'quarantine' } : {}) },
    endCursor: reading.endCursor,
    listed: reading.isWhole ? new Set(reading.pages.flatMap(({ keys }) => keys)) : null,
    isReadable: reading.failure === null,
  };
}

async function readList(
  probe: ResourceProbe,
  limit: number,
  endCursors: readonly string[],
): Promise<Reading> {
  const pages: ProbedPage[] = [];
  const seen = new Set<string>();
  let evidence = NOTHING_READ;
  let cursor: Cursor | null = null;
  while (pages.length < MAX_PAGES) {
    const page = await probe.page({ limit, cursor });
    if (page.kind !== 'page')
      return { pages, evidence, isWhole: false, endCursor: null, failure: page.message };
    const { nextCursor: next } = page;
    const isRepeated = next !== null && seen.has(next);
    const mark = [next, cursor].find((one) => one !== null && END_MARK.test(one)) ?? null;
    if (isRepeated) return { pages, evidence, isWhole: false, endCursor: mark, failure: null };
    pages.push(page);
    evidence = withPage(evidence, page.evidence, page.rows.length);
    if (next === null || endCursors.includes(next))
      return { pages, evidence, isWhole: true, endCursor: null, failure: null };
    seen.add(next);
    cursor = next;
  }
  return { pages, evidence, isWhole: false, endCursor: null, failure: null };
}

/** A page behind the first one that cannot be read. What is wrong with the first one is found elsewhere. */
function failureFindings(
  { resource: { name } }: ResourceProbe,
  { pages, evidence, failure }: Reading,
): Finding[] {
  if (failure === null || pages.length === 0) return [];
  const doubt = doubtOf(evidence, { of: 'all', trust: 'unproven' });
  const short = doubt?.kind === 'total' ? ` (${shortfall(name, doubt)})` : '';
  const message = `${name}: the page after record ${evidence.records} cannot be read${short}: ${failure}`;
  return [problem('list', 'other', message, 'Exports need the whole list. Ask the service for the reason.')];
}

function evidenceFindings({ resource: { name } }: ResourceProbe, reading: Reading): Finding[] {
  const { evidence, isWhole, endCursor } = reading;
  if (endCursor !== null) {
    const message = `${name}: the list begins again after the cursor ${JSON.stringify(endCursor)}, which seems to mark its end`;
    return [problem('cursor', 'other', message, `Set \`sync.endCursors: [${JSON.stringify(endCursor)}]\`.`)];
  }
  const doubt = isWhole ? doubtOf(evidence, { of: 'all', trust: 'unproven' }) : null;
  if (doubt === null) return evidence.said === null ? [] : [incomplete(name, evidence.said)];
  if (doubt.kind !== 'total') return [incomplete(name, doubt.words)];
  const message = `${name}: the service says that the list has ${doubt.total} records, but it has ${doubt.read}`;
  const remedy =
    'Ask the service what the list leaves out. If this total counts something else, set `sync.total: ignore`.';
  return [warning('list', message, remedy)];
}

function incomplete(name: string, words: string): Finding {
  const message = `${name}: the list is incomplete (${words})`;
  return warning(
    'list',
    message,
    'Exports conclude no deletes from such a list. Ask the service for the reason.',
  );
}

function otherFinding({ resource: { name } }: ResourceProbe): Finding {
  const message = `${name}: the list has elements that are no objects, such as null`;
  return problem('list', 'other', message, 'Set `badRecords: quarantine` to set them aside.');
}

type Row = ProbedPage['rows'][number];

const textOf = (row: Row): string => JSON.stringify([...row]);

function rowsByKey({ keys, rows }: ProbedPage): (readonly [key: string, row: Row])[] {
  return rows.flatMap((row, at) =>
    (JSON.parse(keys[at]!) as unknown[]).includes(null) ? [] : [[keys[at]!, row] as const],
  );
}

/** The different rows of each key that has several. */
function sameKeys(rows: readonly (readonly [key: string, row: Row])[]): (readonly Row[])[] {
  const byKey = new Map<string, Map<string, Row>>();
  for (const [key, row] of rows)
    byKey.set(key, (byKey.get(key) ?? new Map<string, Row>()).set(textOf(row), row));
  return [...byKey.values()].flatMap((some) => (some.size > 1 ? [[...some.values()]] : []));
}

/** A key is not unique if one page has different rows of it, or two readings have the same two. */
function keyTrial(
  { resource }: ResourceProbe,
  first: Reading,
  second: Reading | null,
): Pick<ListTrial, 'findings' | 'settings'> {
  const { name, key } = resource;
  const onOnePage = first.pages.flatMap((page) => sameKeys(rowsByKey(page)));
  const later = new Set(second?.pages.flatMap(({ rows }) => rows.map(textOf)));
  const kept = first.pages.flatMap(rowsByKey).filter(([, row]) => later.has(textOf(row)));
  const same = [...onOnePage, ...sameKeys(kept)];
  if (same.length === 0) return { findings: [], settings: {} };
  const better = uniqueKey(key, same, first.pages.at(-1)!.columns);
  const message = `${name}: different records have the same key (${key.join(', ')})`;
  const remedy =
    better === null
      ? 'Name fields that identify a record in `key`.'
      : `Set \`key: [${better.join(', ')}]\`. A lake that has rows already needs a new URL for another key.`;
  return {
    findings: [problem('list', 'other', message, remedy)],
    settings: better === null ? {} : { key: better },
  };
}
