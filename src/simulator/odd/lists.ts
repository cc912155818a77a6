import type { Call } from '../http/call.js';
import type { Reply } from '../http/reply.js';
import type { Service } from '../service.js';
import { isListRequest, type OddBehaviour, type OddService } from './odd-service.js';

const HOUR_MS = 3_600_000;
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
  const body = Buffer.from(`{"data":[${records}],"page":{"limit":1000,"nextCursor":${next}}}`);
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

const cursorOf = (call: Call): string => call.query.get('cursor') ?? '';

/** The same request without its cursor. */
function withoutCursor(call: Call): Call {
  const query = new URLSearchParams(call.query);
  query.delete('cursor');
  return { ...call, query, cursor: null };
}

/** A service that changes its own cursors. @param own the service's cursor in a changed one; `null`: none */
function withCursors(
  own: (cursor: string) => string | null,
  change: (page: PageText, cursor: string) => PageText | null,
  instead: (cursor: string) => PageText | null = () => null,
): () => OddBehaviour {
  return () => {
    let service: Service | null = null;
    return {
      start: (started) => {
        service = started;
      },
      request: (call) => {
        const cursor = isListRequest(call) ? own(cursorOf(call)) : null;
        if (cursor === null || service === null) return call;
        const query = new URLSearchParams(call.query);
        query.set('cursor', cursor);
        return { ...call, query, cursor: service.codec.decode(cursor, call.resource) };
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
    };
  };
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
    let service: Service | null = null;
    return {
      start: (started) => {
        started.clock.advance(atStart);
        service = started;
      },
      reply: (normal, call) => {
        if (isListRequest(call) && service !== null && readPage(normal)?.next === 'null') {
          service.clock.advance(afterList);
          service = null;
        }
        return normal;
      },
    };
  };
}

/** Lists that do not end or have odd cursors, pages that are too heavy, and clocks that are set. */
export const ODD_LISTS: readonly OddService[] = [
  {
    name: 'endless-empty-pages',
    description: 'returns empty pages with fresh cursors after the last page of each list',
    create: endless(() => ''),
  },
  {
    name: 'endless-last-page',
    description: 'repeats the last page of each list with fresh cursors',
    create: endless((pages) => pages.at(-1) ?? ''),
  },
  {
    name: 'endless-one-record',
    description: 'returns pages of one known record after the last page of each list',
    create: endless((pages, at) => firstRecord(pages[at % pages.length] ?? '')),
  },
  {
    name: 'endless-list',
    description: 'begins each list again after its last page',
    create: endless((pages, at) => pages[at % pages.length] ?? ''),
  },
  {
    name: 'cursor-ignored',
    description: 'ignores `cursor`: every page is the first one, with a fresh cursor',
    create: () => {
      let cursors = 0;
      return {
        request: (call) => (isListRequest(call) ? withoutCursor(call) : call),
        reply: (normal, call) => {
          const page = isListRequest(call) ? readPage(normal) : null;
          return page === null ? normal : pageReply({ ...page, next: `"page-${++cursors}"` });
        },
      };
    },
  },
  {
    name: 'sparse-pages',
    description: 'returns 40 empty pages before each page of a list, as services do that filter after paging',
    create: withCursors(
      (cursor) => /^gap40\.(.*)$/.exec(cursor)?.[1] ?? null,
      (page) => ({ ...page, next: `"gap0.${page.next.slice(1)}` }),
      (cursor) => {
        const [, gap, rest] = /^gap(\d+)\.(.*)$/.exec(cursor) ?? [];
        return gap === undefined || gap === '40'
          ? null
          : { records: '', next: `"gap${Number(gap) + 1}.${rest}"` };
      },
    ),
  },
  {
    name: 'growing-cursors',
    description: 'returns cursors that become longer with each page',
    create: withCursors(
      (cursor) => (cursor.endsWith('~') ? cursor.replace(/~+$/, '') : null),
      (page, cursor) => {
        const pad = '~'.repeat(/~*$/.exec(cursor)![0].length + 1000);
        return { ...page, next: `${page.next.slice(0, -1)}${pad}"` };
      },
    ),
  },
  {
    name: 'huge-cursor',
    description: 'returns cursors of 100,000 characters',
    create: withCursors(
      () => null,
      (page) => ({ ...page, next: `"${'x'.repeat(100_000)}"` }),
    ),
  },
  ...([500, 502, 504] as const).map((status) => ({
    name: `heavy-${status}`,
    description: `answers ${status} to pages of more than 200 records`,
    create: heavy(gateway(status)),
  })),
  {
    name: 'heavy-close',
    description: 'closes the connection when a page has more than 200 records',
    create: heavy(() => ({ kind: 'reset' })),
  },
  {
    name: 'heavy-cut',
    description: 'cuts the body of a page of more than 200 records',
    create: heavy(() => ({ kind: 'truncated-json' })),
  },
  {
    name: 'heavy-timeout',
    description: 'never answers a request for a page of more than 200 records',
    create: heavy(() => ({ kind: 'hang' })),
  },
  {
    name: 'heavy-later-page',
    description: 'answers 504 to pages of more than 200 records, but not to the first of a list',
    create: heavy(gateway(504), (call) => cursorOf(call) !== ''),
  },
  {
    name: 'outage-502',
    description: 'answers 502 to the first 14 requests for lists, whatever their size',
    create: () => {
      let failures = 0;
      return { fault: (call) => (isListRequest(call) && ++failures <= 14 ? gateway(502)() : null) };
    },
  },
  {
    name: 'no-date',
    description: 'sends no Date header',
    create: () => ({
      start: ({ options }) => {
        options.date = 'omit';
      },
    }),
  },
  {
    name: 'clock-back',
    description: 'has a clock that goes back by three hours after the first complete list',
    create: clock(0, -3 * HOUR_MS),
  },
  {
    name: 'clock-ahead-then-right',
    description: 'has a clock that is two days ahead, until it is corrected after the first complete list',
    create: clock(48 * HOUR_MS, -48 * HOUR_MS),
  },
];
