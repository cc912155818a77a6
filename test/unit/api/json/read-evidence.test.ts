import { describe, expect, it } from 'vitest';
import { incompleteness } from '../../../../src/api/json/incomplete-words.js';
import { EvidenceReader, withResponse } from '../../../../src/api/json/read-evidence.js';
import { toByteString } from '../../../../src/core/brands.js';
import { NO_EVIDENCE, type PageEvidence, type RecordRange } from '../../../../src/core/list-evidence.js';
import { JsonScanner } from '../../../../src/json/scanner.js';

const saysIncomplete = (text: string): boolean => incompleteness(text) !== null;

/** What the members of an envelope say. */
const evidenceIn = (envelope: unknown): PageEvidence => readEnvelope(envelope).found;

function readEnvelope(envelope: unknown): EvidenceReader {
  const scanner = new JsonScanner(toByteString(JSON.stringify(envelope)));
  const reader = new EvidenceReader();
  scanner.peek();
  for (const [name] of scanner.members())
    if (name === 'page') {
      for (const [inner] of scanner.members()) if (!reader.read(inner, scanner, 1)) scanner.skip();
    } else if (!reader.read(name, scanner)) scanner.skip();
  return reader;
}

describe('A page that says that its list is incomplete', () => {
  it.each<[unknown, string]>([
    [{ incomplete_results: true }, '"incomplete_results": true'],
    [{ incompleteResults: true }, '"incompleteResults": true'],
    [{ 'is-incomplete': true }, '"is-incomplete": true'],
    [{ PARTIAL: 'true' }, '"PARTIAL": "true"'],
    [{ page: { partial: 1 } }, '"partial": 1'],
    [{ page: { timedOut: true } }, '"timedOut": true'],
    [{ meta: { timed_out: true } }, '"timed_out": true'],
    [{ _shards: { total: 5, failed: 1 } }, '"_shards": { "failed": 1 }'],
    [{ shards: { failures: [{}] } }, '"shards": { "failures": [1] }'],
    [{ failed_shards: 2 }, '"failed_shards": 2'],
    [{ failedShardCount: '2' }, '"failedShardCount": "2"'],
    [{ hasPartialResults: true }, '"hasPartialResults": true'],
    [{ 'search.timed out': true }, '"search.timed out": true'],
    [{ timeout: true }, '"timeout": true'],
    [{ data_incomplete: true }, '"data_incomplete": true'],
    [{ meta: { pagination: { partial: true } } }, '"partial": true'],
    [{ statusMessage: 'List truncated' }, 'List truncated'],
    [{ alerts: ['Not all shards responded'] }, 'Not all shards responded'],
    [{ warning: 'Results may be incomplete.' }, 'Results may be incomplete.'],
    [{ warnings: [{ code: 'PARTIAL_RESULTS' }] }, 'PARTIAL_RESULTS'],
    [{ page: { message: 'The search timed out' } }, 'The search timed out'],
  ])('%j', (envelope, words) => {
    const { incomplete, part } = evidenceIn(envelope);
    expect(incomplete ?? part?.words).toBe(words);
  });

  it.each<[unknown]>([
    [{ incomplete: false, partial: null, timed_out: 'no', isPartial: 0 }],
    [{ partial: 12 }],
    [{ timeout: 1 }],
    [{ partialPage: true }],
    [{ _shards: { total: 5, failed: 0, failures: [] } }],
    [{ warnings: [], message: 'OK' }],
    [{ other: { incomplete: true } }],
  ])('is not one with %j', (envelope) => {
    expect(evidenceIn(envelope)).toMatchObject({ incomplete: null, part: null });
  });

  it.each<[unknown]>([
    [{ partial: true }],
    [{ page: { isPartial: true } }],
    [{ meta: { incomplete: 'true' } }],
    [{ partialContent: true }],
    [{ message: 'Partial Content' }],
    [{ warnings: ['Only the first 1000 results are returned. Use the cursor.'] }],
    [{ message: 'Not all results are shown' }],
    [{ notice: 'Results are truncated' }],
    [{ notice: 'Result limit of 1000 reached' }],
    [{ notice: 'Too many results' }],
  ])('may only mean that another page follows, with %j', (envelope) => {
    expect(evidenceIn(envelope)).toMatchObject({ incomplete: null, part: { range: null } });
  });

  it.each<[unknown]>([
    [{ incomplete_results: true }],
    [{ partialRecords: true }],
    [{ timed_out: true, partial: true }],
    [{ _shards: { failed: 1 } }],
    [{ warnings: ['Results are truncated', '1 of 5 shards did not respond'] }],
    [{ message: 'Results are truncated. The search timed out.' }],
    [{ message: 'Not all records could be loaded' }],
    [{ message: 'Not all results could be returned' }],
  ])('means the list, with %j', (envelope) => {
    expect(evidenceIn(envelope).incomplete).not.toBeNull();
  });

  it.each([
    'Only the first 10,000 results are returned',
    'Not all records could be loaded',
    '12 tasks are missing',
    'Some of the time entries were omitted. Try again.',
    'One shard is down: the list was truncated',
    'partial',
    'Could not reach region eu-2',
    'The parameter `x` is deprecated. Results are partial.',
    'Result set limited to 10000 records',
    'Partial success',
    'Result set truncated',
    '1 of 5 shards did not respond',
    'Shard 3 did not answer in time.',
    'Some data is temporarily unavailable',
    'The list is not complete',
    "The response isn't complete",
    'The query exceeded its time limit and was stopped early',
    'Request took too long; returning what we have',
    'Results were capped at 10000',
    'Maximum number of results reached',
    'Result limit of 10,000 exceeded',
    'One of the data sources is unavailable',
    'The index is being rebuilt, results may be stale or missing',
    'The search index is catching up; some tasks may not appear',
    'Records from region eu-west are missing',
    "We couldn't load everything",
    'Too many results; the first 5000 are shown',
    'Fewer results than expected',
  ])('in words: %s', (text) => {
    expect(saysIncomplete(text)).toBe(true);
  });

  it.each([
    'The parameter `partial` is deprecated',
    'Parameter "timeout" is not supported',
    'This list will be truncated from 2027 on',
    'Results are not truncated',
    'No records are missing',
    'Descriptions of more than 1000 characters are truncated',
    'Field "notes" was omitted',
    'Results limited to 100 records per page',
    'pageSize is limited to 100 records',
    'Each response is limited to 100 records',
    'Attachments are not included; expand them',
    'Archived records are not included',
    'Deleted records are omitted by default',
    'The list is complete',
    'Too many requests per minute slow the service down',
    'Partial matches are found, too',
    'Successfully loaded all records',
    'Please migrate to v3, v2 may time out',
    'Scheduled maintenance on Sunday',
    'Some projects have an incomplete budget',
  ])('not in words about something else: %s', (text) => {
    expect(saysIncomplete(text)).toBe(false);
  });

  it('reads long texts in linear time', () => {
    const begun = performance.now();
    for (const text of ['not ', 'results be ', 'some of the ', '1,', 'partial '])
      saysIncomplete(text.repeat(200_000));
    expect(performance.now() - begun).toBeLessThan(1000);
  });
});

describe('The total of a list', () => {
  it.each<[unknown, number | null]>([
    [{ page: { total: 10_800 } }, 10_800],
    [{ totalCount: '30' }, 30],
    [{ page: { total_records: 7 } }, 7],
    [{ pagination: { total: 7 } }, 7],
    [{ page: { total: { value: 12, relation: 'eq' } } }, 12],
    [{ '@odata.count': 3 }, 3],
    [{ meta: { pagination: { total: 7 } } }, 7],
    [{ meta: { page: { totalRecordCount: 7 } } }, 7],
    [{ numFound: 7 }, 7],
    [{ page: { total_number_of_results: 7 } }, 7],
    [{ totalHours: 80, total_pages: 4 }, null],
    [{ page: { total: null } }, null],
    [{ page: { total: -1 } }, null],
    [{ page: { total: 'many' } }, null],
    [{ totalPages: 4 }, null],
  ])('%j', (envelope, total) => {
    expect(evidenceIn(envelope).total).toBe(total);
  });
});

describe('A page that says that its list continues', () => {
  it.each([
    ...[
      { hasMore: true },
      { page: { has_more: true } },
      { pagination: { hasNextPage: true } },
      { more: true },
    ],
    ...[
      { isTruncated: true },
      { resultsTruncated: true },
      { page: { isLast: false } },
      { moreAvailable: true },
    ],
  ])('%j', (envelope) => expect(readEnvelope(envelope).isMore).toBe(true));

  it.each([
    { hasMore: false },
    { page: { isLast: true } },
    { next: 'https://service.example/2' },
    { more: 3 },
  ])('is not one with %j', (envelope) => expect(readEnvelope(envelope).isMore).toBe(false));
});

describe('The status and the headers of a page', () => {
  const shown = (text: string): string => text.replace('secret', '[redacted]');

  const STATUS = 'status 206 (Partial Content)';
  const of206 = (range: RecordRange): Partial<PageEvidence> => {
    return { part: { words: STATUS, range }, total: range.total };
  };

  it.each<[Record<string, string>, number, Partial<PageEvidence>]>([
    [{}, 206, { part: { words: STATUS, range: null } }],
    [{ 'content-range': 'items 0-9/120' }, 206, of206({ from: 0, to: 9, total: 120 })],
    [{ 'content-range': '0-999/10000' }, 206, of206({ from: 0, to: 999, total: 10_000 })],
    [{ 'content-range': '0-999/*' }, 206, of206({ from: 0, to: 999, total: null })],
    [{ 'content-range': 'records=1-10/120' }, 206, of206({ from: 1, to: 10, total: 120 })],
    [{ 'x-content-range': 'tasks 0 - 9 / 120' }, 206, of206({ from: 0, to: 9, total: 120 })],
    [{ 'content-range': '*/120' }, 206, of206({ from: null, to: null, total: 120 })],
    [{ 'x-total-count': '120' }, 206, of206({ from: null, to: null, total: 120 })],
    [{ 'content-range': 'bytes 0-4999/12000' }, 206, { part: { words: STATUS, range: null } }],
    [{ 'content-range': 'id 0123..4567' }, 206, { part: { words: STATUS, range: null } }],
    [{ 'content-range': 'bytes 0-4999/5000' }, 206, {}],
    [{ 'content-range': 'bytes 0-4999/12000' }, 200, {}],
    [{ 'content-range': 'pages 1-1/4' }, 200, {}],
    [{ 'x-partial-content': 'true' }, 200, { part: { words: 'x-partial-content: true', range: null } }],
    [
      { warning: '199 - "Results are truncated"' },
      200,
      { part: { words: 'warning: 199 - "Results are truncated"', range: null } },
    ],
    [{ 'x-incomplete-results': 'true' }, 200, { incomplete: 'x-incomplete-results: true' }],
    [
      { warning: '199 - "Results are incomplete: secret"' },
      200,
      { incomplete: 'warning: 199 - "Results are incomplete: [redacted]"' },
    ],
    [{ warning: '299 - "Deprecated API"' }, 200, {}],
    [{ 'x-total-count': '12' }, 200, { total: 12 }],
    [{ 'x-wp-total': '12' }, 200, { total: 12 }],
    [{ 'x-total-results': '12' }, 200, { total: 12 }],
    [{ 'x-pagination': '{"totalPages":2,"TotalCount":12,"pageSize":10}' }, 200, { total: 12 }],
    [{ 'x-page-count': '2', 'x-pagination': 'cursor' }, 200, {}],
    [{ 'content-range': 'items 0-9/120' }, 200, { total: 120 }],
    [{ 'content-range': 'items 0-9/*' }, 200, {}],
  ])('%j with %d', (headers, status, expected) => {
    expect(withResponse(NO_EVIDENCE, { headers, status, shown })).toEqual({ ...NO_EVIDENCE, ...expected });
  });

  it('adds its range to words that repeat the status, and to no others', () => {
    const headers = { 'content-range': 'items 0-9/120' };
    const partOf = (words: string) =>
      withResponse({ ...NO_EVIDENCE, part: { words, range: null } }, { headers, status: 206, shown }).part;
    expect(partOf('Partial Content')).toEqual({ words: STATUS, range: { from: 0, to: 9, total: 120 } });
    expect(partOf('Results are truncated')).toEqual({ words: 'Results are truncated', range: null });
  });

  it('does not take a total of the body for one that explains the status', () => {
    const { part } = withResponse({ ...NO_EVIDENCE, total: 10 }, { headers: {}, status: 206, shown });
    expect(part).toEqual({ words: STATUS, range: null });
  });
});
