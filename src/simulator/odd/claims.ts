import { HOUR_MS } from '../data/service-clock.js';
import { isListRequest } from '../faults.js';
import type { Call } from '../http/call.js';
import { type Reply, replyWith } from '../http/reply.js';
import { DEMO_ORGANIZATION } from '../simulator-options.js';
import { type OddBehaviour, type OddCatalog, type OddTarget, withQuery } from './odd-service.js';

/** A page of a list: the text of each record, and what follows `data`. */
interface ListText {
  readonly records: readonly string[];
  readonly isLast: boolean;
  readonly isIncrement: boolean;
}

const BEGIN = '{"data":[';

function pageOf({ status, body }: Reply, call: Call): ListText | null {
  const text = body.toString();
  const end = text.lastIndexOf('],"page":');
  if (!isListRequest(call) || status !== 200 || !text.startsWith(BEGIN) || end < 0) return null;
  const records = text.slice(BEGIN.length, end).split(/,(?=\{"id":)/);
  return {
    records: records[0] === '' ? [] : records,
    isLast: text.slice(end).includes('"nextCursor":null'),
    isIncrement: call.query.has('updatedSince'),
  };
}

/** The same page with other records and another rest. */
function withPage(normal: Reply, records: readonly string[], change: (rest: string) => string): Reply {
  const text = normal.body.toString();
  const rest = text.slice(text.lastIndexOf('],"page":'));
  return replyWith(200, `${BEGIN}${records.join(',')}${change(rest)}`);
}

/** From the second complete list on, the lists lack two records and say so. @param members of the envelope, with a comma before each */
function lacking(members: string, status = 200): () => OddBehaviour {
  return () => {
    let lists = 0;
    let lost: readonly string[] = [];
    const idOf = (record: string): string => /"id":("[^"]*"|\d+)/.exec(record)?.[1] ?? '';
    return {
      reply: (normal, call) => {
        const page = pageOf(normal, call);
        if (page === null) return normal;
        if (lost.length === 0) lost = page.records.slice(2, 4).map(idOf);
        const isWhole = lists === 0;
        if (page.isLast) lists++;
        if (isWhole) return normal;
        const records = page.records.filter((record) => !lost.includes(idOf(record)));
        return { ...withPage(normal, records, (rest) => rest.replace(/\}$/, `${members}}`)), status };
      },
    };
  };
}

/** Marks the last page, and begins the list again for the mark. @param mark as JSON */
function markedEnd(mark: string): () => OddBehaviour {
  const cursor = mark.replaceAll('"', '');
  return () => ({
    request: (call) =>
      call.query.get('cursor') === cursor ? { ...withQuery(call, { cursor: null }), cursor: null } : call,
    reply: (normal, call) => {
      const page = pageOf(normal, call);
      if (page === null || !page.isLast) return normal;
      return withPage(normal, page.records, (rest) =>
        rest.replace('"nextCursor":null', `"nextCursor":${mark}`),
      );
    },
  });
}

/** Accepts a cursor only in so many requests after the first page of its list. */
function shortCursors(requests: number): OddBehaviour {
  let left = requests;
  return {
    fault: (call) => {
      if (!isListRequest(call)) return null;
      const isFirst = !call.query.has('cursor');
      left = isFirst ? requests : left - 1;
      return left >= 0
        ? null
        : {
            kind: 'status',
            status: 400,
            body: '{"error":"CursorExpiredError","message":"The cursor has expired."}',
          };
    },
  };
}

/** Answers with an error to the requests for lists that are meant. */
function refusing(status: number, message: string, isMeant: (call: Call) => boolean): () => OddBehaviour {
  const body = JSON.stringify({ error: { message } });
  return () => ({
    reply: (normal, call) => (isListRequest(call) && isMeant(call) ? replyWith(status, body) : normal),
  });
}

type Where = 'member' | 'header';

/** How many records a resource has. @param since only those that changed at this time (ms) or later */
function totalOf({ resource }: Call, service: OddTarget, since = Number.NEGATIVE_INFINITY): number {
  const table = service.dataset(DEMO_ORGANIZATION).table(resource);
  const versions = [...table.rowsById()].map((row) => table.latest(row));
  return versions.filter(({ deleted, updatedAt }) => !deleted && updatedAt >= since).length;
}

/** A page with the number of all records. */
function withTotal(normal: Reply, { records }: ListText, total: number, where: Where): Reply {
  const headers = { 'x-total-count': String(total) };
  if (where === 'header') return { ...normal, headers: { ...normal.headers, ...headers } };
  return withPage(normal, records, (rest) => rest.replace('"page":{', `"page":{"total":${total},`));
}

/** Ends complete lists after two pages, although the total says more. */
function cut(where: Where): () => OddBehaviour {
  return () => {
    let lists = 0;
    let pages = 0;
    return {
      reply: (normal, call, service) => {
        const page = pageOf(normal, call);
        if (page === null || page.isIncrement) return normal;
        const total = totalOf(call, service);
        pages = call.query.has('cursor') ? pages + 1 : 1;
        const isCut = (lists > 0 || total > 1000) && pages === 2;
        if (page.isLast) lists++;
        const counted = withTotal(normal, page, total, where);
        return isCut
          ? {
              ...counted,
              body: Buffer.from(counted.body.toString().replace(/"nextCursor":"[^"]*"/, '"nextCursor":null')),
            }
          : counted;
      },
    };
  };
}

/** Answers with 206 where a page is not the whole list, and says in Content-Range which part it is. @param counted by its total */
function ranged(counted: 'list' | 'everything'): () => OddBehaviour {
  return () => {
    const begins = new Map<string | null, number>();
    return {
      reply: (normal, call, service) => {
        const page = pageOf(normal, call);
        if (page === null) return normal;
        const { cursor = null, updatedSince } = Object.fromEntries(call.query);
        const from = begins.get(cursor) ?? 0;
        const end = from + page.records.length;
        const next = /"nextCursor":"([^"]*)"/.exec(normal.body.toString())?.[1];
        if (next !== undefined) begins.set(next, end);
        const isOfList = counted === 'list' && updatedSince !== undefined;
        const total = isOfList ? totalOf(call, service, Date.parse(updatedSince)) : totalOf(call, service);
        const range = page.records.length === 0 ? '*' : `${from}-${end - 1}`;
        const headers = { ...normal.headers, 'content-range': `items ${range}/${total}` };
        return { ...normal, status: page.records.length < total ? 206 : 200, headers };
      },
    };
  };
}

/** Lists that say about themselves that they lack records, and lists whose form is odd. */
export const ODD_CLAIMS: OddCatalog = {
  'incomplete-results': [
    'leaves records out of its lists after the first one, with `"incomplete_results": true`',
    lacking(',"incomplete_results":true'),
  ],
  'failed-shards': [
    'leaves records out of its lists after the first one, with a failed shard',
    lacking(',"timed_out":false,"_shards":{"total":5,"failed":1}'),
  ],
  'incomplete-in-words': [
    'leaves records out of its lists after the first one, and says so in words',
    lacking(',"warnings":["Some results could not be loaded."]'),
  ],
  'partial-206': ['leaves records out of its lists after the first one, with status 206', lacking('', 206)],
  'list-cut': [
    'ends complete lists after two pages, the first one only if it has over 1,000 records, although `page.total` says more',
    cut('member'),
  ],
  'list-cut-header': ['does the same, and names the total in X-Total-Count', cut('header')],
  'total-ignores-since': [
    'has the number of all records in `page.total`, also in lists of changes',
    () => ({
      reply: (normal, call, service) => {
        const page = pageOf(normal, call);
        return page === null ? normal : withTotal(normal, page, totalOf(call, service), 'member');
      },
    }),
  ],
  'pages-206': [
    'answers each page of a longer list with 206 and its Content-Range, as PostgREST does',
    ranged('list'),
  ],
  'pages-206-ignore-since': [
    'does the same, and has the number of all records in the Content-Range of changes, too',
    ranged('everything'),
  ],
  'list-cut-400': [
    'answers 400 behind the second page of each complete list, although `page.total` says more',
    () => {
      let shown = 0;
      return {
        reply: (normal, call, service) => {
          const page = pageOf(normal, call);
          if (page === null || page.isIncrement) return normal;
          if (call.query.get('cursor') === null) shown = 0;
          if (shown >= 20) return replyWith(400, '{"message":"Result window is too large."}');
          shown += page.records.length;
          return withTotal(normal, page, totalOf(call, service), 'member');
        },
      };
    },
  ],
  'empty-cursor-array': [
    'writes `"nextCursor": []` on the last page',
    () => ({
      reply: (normal, call) => {
        const page = pageOf(normal, call);
        return page?.isLast
          ? withPage(normal, page.records, (rest) => rest.replace('"nextCursor":null', '"nextCursor":[]'))
          : normal;
      },
    }),
  ],
  'since-too-new': [
    'refuses a time of changes that is less than an hour ago',
    () => ({
      reply: (normal, call, { clock }) => {
        const since = Date.parse(call.query.get('updatedSince') ?? '');
        return isListRequest(call) && since > clock.now() - HOUR_MS
          ? replyWith(400, '{"message":"updatedSince must not be in the future."}')
          : normal;
      },
    }),
  ],
  'empty-map-array': [
    'writes `"page": []` on the last page, as PHP writes an empty map',
    () => ({
      reply: (normal, call) => {
        const page = pageOf(normal, call);
        return page?.isLast ? withPage(normal, page.records, () => '],"page":[]}') : normal;
      },
    }),
  ],
  'null-records': [
    'has `null` among the records of each page',
    () => ({
      reply: (normal, call) => {
        const page = pageOf(normal, call);
        if (page === null) return normal;
        return withPage(
          normal,
          [...page.records.slice(0, 1), 'null', ...page.records.slice(1)],
          (rest) => rest,
        );
      },
    }),
  ],
  'cursors-end-early': [
    'accepts cursors in two requests after the first page of a list only',
    () => shortCursors(2),
  ],
  'silent-changes': [
    'leaves the first changed record out of each increment',
    () => ({
      reply: (normal, call) => {
        const page = pageOf(normal, call);
        return page?.isIncrement ? withPage(normal, page.records.slice(1), (rest) => rest) : normal;
      },
    }),
  ],
  'since-too-old': [
    'refuses each time of changes as too old',
    refusing(400, 'updatedSince is too old.', (call) => call.query.has('updatedSince')),
  ],
  'list-ended-410': ['answers 410 to each list', refusing(410, 'This version has ended.', () => true)],
  'announced-end': [
    'announces the end of its lists in `Deprecation` and `Sunset`',
    () => ({
      reply: (normal, call) =>
        isListRequest(call)
          ? {
              ...normal,
              headers: { ...normal.headers, deprecation: 'true', sunset: 'Fri, 31 Dec 2027 23:59:59 GMT' },
            }
          : normal,
    }),
  ],
  'marked-deletes': [
    'marks the second record as deleted in each list after the first one, instead of leaving it out',
    () => {
      let lists = 0;
      let marked = '';
      return {
        reply: (normal, call) => {
          const page = pageOf(normal, call);
          if (page === null) return normal;
          const isFirst = lists === 0;
          if (page.isLast) lists++;
          if (isFirst) marked ||= page.records[1] ?? '';
          if (isFirst) return normal;
          const gone = marked.replace(/\}$/, ',"deletedAt":"2026-01-01T00:00:00Z"}');
          const others = page.records.filter((record) => record.slice(0, 40) !== marked.slice(0, 40));
          return withPage(normal, page.isLast ? [...others, gone] : others, (rest) => rest);
        },
      };
    },
  ],
  'last-page-0': ['marks the last page with the cursor 0', markedEnd('0')],
  'last-page-end': ['marks the last page with the cursor "end"', markedEnd('"end"')],
  'repeated-ids': [
    'has ids that are unique only within a project',
    () => {
      const ids = new Map<string, string>();
      const perProject = new Map<string, number>();
      const idOf = (record: string): string => {
        const { id, projectId } = JSON.parse(record) as { id: string; projectId: string };
        const own = (perProject.get(projectId) ?? 0) + 1;
        if (!ids.has(id)) {
          ids.set(id, `${own}`);
          perProject.set(projectId, own);
        }
        return ids.get(id)!;
      };
      return {
        reply: (normal, call) => {
          const page = pageOf(normal, call);
          if (page === null) return normal;
          const records = page.records.map((record) =>
            record.replace(/^\{"id":"[^"]*"/, () => `{"id":"${idOf(record)}"`),
          );
          return withPage(normal, records, (rest) => rest);
        },
      };
    },
  ],
};
