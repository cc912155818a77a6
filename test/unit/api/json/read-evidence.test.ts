import { describe, expect, it } from 'vitest';
import { EvidenceReader, saysIncomplete, withResponse } from '../../../../src/api/json/read-evidence.js';
import { toByteString } from '../../../../src/core/brands.js';
import { NO_EVIDENCE, type PageEvidence } from '../../../../src/core/list-evidence.js';
import { JsonScanner } from '../../../../src/json/scanner.js';

/** What the members of an envelope say. */
function evidenceIn(envelope: unknown): PageEvidence {
  const scanner = new JsonScanner(toByteString(JSON.stringify(envelope)));
  const reader = new EvidenceReader();
  scanner.peek();
  for (const [name] of scanner.members())
    if (name === 'page') {
      for (const [inner] of scanner.members()) if (!reader.read(inner, scanner, 'page')) scanner.skip();
    } else if (!reader.read(name, scanner, 'envelope')) scanner.skip();
  return reader.found;
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
    [{ warning: 'Results may be incomplete.' }, 'Results may be incomplete.'],
    [{ warnings: [{ code: 'PARTIAL_RESULTS' }] }, 'PARTIAL_RESULTS'],
    [{ page: { message: 'The search timed out' } }, 'The search timed out'],
  ])('%j', (envelope, words) => {
    expect(evidenceIn(envelope).incomplete).toBe(words);
  });

  it.each<[unknown]>([
    [{ incomplete: false, partial: null, timed_out: 'no', isPartial: 0 }],
    [{ partial: 12 }],
    [{ _shards: { total: 5, failed: 0, failures: [] } }],
    [{ warnings: [], message: 'OK' }],
    [{ other: { incomplete: true } }],
  ])('is not one with %j', (envelope) => {
    expect(evidenceIn(envelope).incomplete).toBeNull();
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
    [{ page: { total: null } }, null],
    [{ page: { total: -1 } }, null],
    [{ page: { total: 'many' } }, null],
    [{ totalPages: 4 }, null],
  ])('%j', (envelope, total) => {
    expect(evidenceIn(envelope).total).toBe(total);
  });
});

describe('The status and the headers of a page', () => {
  const shown = (text: string): string => text.replace('secret', '[redacted]');

  it.each<[Record<string, string>, number, Partial<PageEvidence>]>([
    [{}, 206, { incomplete: 'status 206 (Partial Content)' }],
    [{ 'x-incomplete-results': 'true' }, 200, { incomplete: 'x-incomplete-results: true' }],
    [
      { warning: '199 - "Results are incomplete: secret"' },
      200,
      { incomplete: 'warning: 199 - "Results are incomplete: [redacted]"' },
    ],
    [{ warning: '299 - "Deprecated API"' }, 200, {}],
    [{ 'x-total-count': '12' }, 200, { total: 12 }],
    [{ 'content-range': 'items 0-9/120' }, 200, { total: 120 }],
    [{ 'content-range': 'items 0-9/*' }, 200, {}],
  ])('%j with %d', (headers, status, expected) => {
    expect(withResponse(NO_EVIDENCE, { headers, status, shown })).toEqual({ ...NO_EVIDENCE, ...expected });
  });
});
