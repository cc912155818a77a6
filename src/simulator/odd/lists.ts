import { HOUR_MS } from '../data/service-clock.js';
import { isListRequest } from '../faults.js';
import type { Call } from '../http/call.js';
import { type Reply, replyWith } from '../http/reply.js';
import { type OddBehaviour, type OddCatalog, withQuery } from './odd-service.js';

/** Pages of more records are too heavy. */
const LIGHT_RECORDS = 200;

/** A page: the text of its records, and the cursor of the next page as JSON. */
interface PageText {
  readonly records: string;
  readonly next: string;
}

const PAGE = /^\{"data":\[(.*)\],"page":\{"limit":(\d+),"nextCursor":(null|"(?:[^"\\]|\\.)*")\}\}$/s;

function readPage({ status, body }: Reply): PageText | null {
  const [, records, , next] = (status === 200 ? PAGE.exec(body.toString()) : null) ?? [];
  return records === undefined || next === undefined ? null : { records, next };
}

function pageReply({ records, next }: PageText): Reply {
  return replyWith(200, `{"data":[${records}],"page":{"limit":1000,"nextCursor":${next}}}`);
}

const cursorOf = (call: Call): string => call.query.get('cursor') ?? '';

/** A service that changes its own cursors. @param own the service's cursor in a changed one; `null`: none */
function withCursors(
  own: (cursor: string) => string | null,
  change: (page: PageText, cursor: string) => PageText | null,
  instead: (cursor: string) => PageText | null = () => null,
): () => OddBehaviour {
  return () => ({
    request: (call, { codec }) => {
      const cursor = isListRequest(call) ? own(cursorOf(call)) : null;
      if (cursor === null) return call;
      return { ...withQuery(call, { cursor }), cursor: codec.decode(cursor, call.resource) };
    },
    reply: (normal, call) => {
      if (!isListRequest(call)) return normal;
      const cursor = cursorOf(call);
      const other = instead(cursor);
      if (other !== null) return pageReply(other);
      const page = readPage(normal);
      const changed = page === null || page.next === 'null' ? null : change(page, cursor);
      return changed === null ? normal : pageReply(changed);
    },
  });
}

/** Continues each list after its last page, with fresh cursors. @param more the records of such a page, given all pages so far */
function endless(more: (pages: readonly string[], at: number) => string): () => OddBehaviour {
  return () => {
    const pages = new Map<string, string[]>();
    let cursors = 0;
    return {
      reply: (normal, call) => {
        if (!isListRequest(call)) return normal;
        const seen = pages.get(call.resource) ?? [];
        const next = `"more-${++cursors}"`;
        if (cursorOf(call).startsWith('more-')) return pageReply({ records: more(seen, cursors), next });
        const page = readPage(normal);
        if (page === null) return normal;
        pages.set(call.resource, cursorOf(call) === '' ? [page.records] : [...seen, page.records]);
        return page.next === 'null' ? pageReply({ ...page, next }) : normal;
      },
    };
  };
}

const firstRecord = (records: string): string =>
  /^\{(?:[^{}"]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*\}/.exec(records)?.[0] ?? '';

/** Answers pages of more than 200 records with a failure. @param isPage which pages fail */
function heavy(
  failure: OddBehaviour['fault'],
  isPage: (call: Call) => boolean = () => true,
): () => OddBehaviour {
  const isHeavy = (call: Call): boolean =>
    isListRequest(call) && Number(call.query.get('limit') ?? 0) > LIGHT_RECORDS && isPage(call);
  return () => ({ fault: (call) => (isHeavy(call) ? (failure?.(call) ?? null) : null) });
}

const gateway = (status: number) => (): ReturnType<NonNullable<OddBehaviour['fault']>> => ({
  kind: 'status',
  status,
  contentType: 'text/html',
  body: `<html><body><center><h1>${status} Gateway Time-out</h1></center></body></html>`,
});

/** Sets the clock when the simulator starts, and again after the first complete list. */
function clock(atStart: number, afterList: number): () => OddBehaviour {
  return () => {
    let isSetAgain = false;
    return {
      start: (service) => service.clock.advance(atStart),
      reply: (normal, call, service) => {
        if (!isSetAgain && isListRequest(call) && readPage(normal)?.next === 'null') {
          service.clock.advance(afterList);
          isSetAgain = true;
        }
        return normal;
      },
    };
  };
}

/** Lists that do not end or have odd cursors, pages that are too heavy, and clocks that are set. */
export const ODD_LISTS: OddCatalog = {
  'endless-empty-pages': [
    'returns empty pages with fresh cursors after the last page of each list',
    endless(() => ''),
  ],
  'endless-last-page': [
    'repeats the last page of each list with fresh cursors',
    endless((pages) => pages.at(-1) ?? ''),
  ],
  'endless-one-record': [
    'returns pages of one known record after the last page of each list',
    endless((pages, at) => firstRecord(pages[at % pages.length] ?? '')),
  ],
  'endless-list': [
    'begins each list again after its last page',
    endless((pages, at) => pages[at % pages.length] ?? ''),
  ],
  'cursor-ignored': [
    'ignores `cursor`: every page is the first one, with a fresh cursor',
    () => {
      let cursors = 0;
      return {
        request: (call) =>
          isListRequest(call) ? { ...withQuery(call, { cursor: null }), cursor: null } : call,
        reply: (normal, call) => {
          const page = isListRequest(call) ? readPage(normal) : null;
          return page === null ? normal : pageReply({ ...page, next: `"page-${++cursors}"` });
        },
      };
    },
  ],
  'sparse-pages': [
    'returns 40 empty pages before each page of a list, as services do that filter after paging',
    withCursors(
      (cursor) => /^gap40\.(.*)$/.exec(cursor)?.[1] ?? null,
      (page) => ({ ...page, next: `"gap0.${page.next.slice(1)}` }),
      (cursor) => {
        const [, gap, rest] = /^gap(\d+)\.(.*)$/.exec(cursor) ?? [];
        return gap === undefined || gap === '40'
          ? null
          : { records: '', next: `"gap${Number(gap) + 1}.${rest}"` };
      },
    ),
  ],
  'growing-cursors': [
    'returns cursors that become longer with each page',
    withCursors(
      (cursor) => (cursor.endsWith('~') ? cursor.slice(0, cursor.indexOf('~')) : null),
      (page, cursor) => {
        const pad = '~'.repeat((cursor.endsWith('~') ? cursor.length - cursor.indexOf('~') : 0) + 1000);
        return { ...page, next: `${page.next.slice(0, -1)}${pad}"` };
      },
    ),
  ],
  'huge-cursor': [
    'returns cursors of 100,000 characters',
    withCursors(
      () => null,
      (page) => ({ ...page, next: `"${'x'.repeat(100_000)}"` }),
    ),
  ],
  'heavy-500': ['answers 500 to pages of more than 200 records', heavy(gateway(500))],
  'heavy-502': ['answers 502 to pages of more than 200 records', heavy(gateway(502))],
  'heavy-504': ['answers 504 to pages of more than 200 records', heavy(gateway(504))],
  'heavy-close': [
    'closes the connection for a page of more than 200 records',
    heavy(() => ({ kind: 'reset' })),
  ],
  'heavy-cut': [
    'cuts the body of a page of more than 200 records',
    heavy(() => ({ kind: 'truncated-json' })),
  ],
  'heavy-timeout': [
    'never answers a request for a page of more than 200 records',
    heavy(() => ({ kind: 'hang' })),
  ],
  'heavy-later-page': [
    'answers 504 to pages of more than 200 records, but not to the first of a list',
    heavy(gateway(504), (call) => cursorOf(call) !== ''),
  ],
  'outage-502': [
    'answers 502 to the first 14 requests for lists, whatever their size',
    () => {
      let failures = 0;
      return { fault: (call) => (isListRequest(call) && ++failures <= 14 ? gateway(502)() : null) };
    },
  ],
  'no-date': [
    'sends no Date header',
    () => ({
      start: ({ options }) => {
        options.date = 'omit';
      },
    }),
  ],
  'clock-back': [
    'has a clock that goes back by three hours after the first complete list',
    clock(0, -3 * HOUR_MS),
  ],
  'clock-ahead-then-right': [
    'has a clock that is two days ahead, until it is corrected after the first complete list',
    clock(48 * HOUR_MS, -48 * HOUR_MS),
  ],
};
