import { DateTime } from 'luxon';
import { readFields, readItems } from '../data/raw-json.js';
import { DAY_MS, HOUR_MS } from '../data/service-clock.js';
import { isListRequest } from '../faults.js';
import type { Call } from '../http/call.js';
import { replyWith } from '../http/reply.js';
import { DEMO_ORGANIZATION } from '../simulator-options.js';
import { type OddBehaviour, type OddCatalog, withQuery } from './odd-service.js';

const isById = ({ method, segments }: Call): boolean => method === 'GET' && segments?.length === 1;

/** Answers each request for one record in the same way. */
function byId(status: number, body: string): () => OddBehaviour {
  return () => ({ reply: (normal, call) => (isById(call) ? replyWith(status, body) : normal) });
}

/** Fields with the time of a creation or a change keep their form. */
const TIME = /"(?!createdAt|updatedAt)(\w+)":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)"/g;

/** Writes the dates of records in another form. */
function dates(write: (at: Date) => unknown): () => OddBehaviour {
  const rewrite = (text: string): string =>
    text.replace(
      TIME,
      (_, field: string, time: string) => `"${field}":${JSON.stringify(write(new Date(time)))}`,
    );
  return () => ({
    reply: (normal, call) =>
      normal.status === 200 && (isListRequest(call) || isById(call))
        ? { ...normal, body: Buffer.from(rewrite(normal.body.toString('utf8'))) }
        : normal,
  });
}

/** Reads `updatedSince` as the local time of a zone. @param hours of the zone ahead of UTC */
function localTime(hours: number): () => OddBehaviour {
  return () => ({
    request(call) {
      const since = call.query.get('updatedSince');
      const at = Date.parse(since ?? '');
      if (Number.isNaN(at)) return call;
      const updatedSince = `${new Date(at - hours * HOUR_MS).toISOString().slice(0, 19)}Z`;
      return withQuery(call, { updatedSince });
    },
  });
}

/** Hides each fourth record after the first complete list: it is in no list, and GET by id is forbidden. */
function hiddenRecords(): OddBehaviour {
  const complete = new Set<string>();
  const isHidden = (text: string): boolean => {
    const id = /"id":"([^"]*)"/.exec(text)?.[1] ?? '';
    return [...id].reduce((sum, one) => sum + one.charCodeAt(0), 0) % 4 === 0;
  };
  return {
    reply(normal, call) {
      if (normal.status !== 200) return normal;
      if (isById(call))
        return isHidden(normal.body.toString('utf8')) ? replyWith(403, '{"message":"Forbidden"}') : normal;
      const text = normal.body.toString('utf8');
      if (!isListRequest(call) || !text.startsWith('{"data":[')) return normal;
      const { data = '', page = '' } = Object.fromEntries(readFields(text));
      const hides = complete.has(call.resource);
      if (page.includes('"nextCursor":null')) complete.add(call.resource);
      if (!hides) return normal;
      const seen = readItems(data).filter((record) => !isHidden(record));
      return replyWith(200, `{"data":[${seen.join(',')}],"page":${page}}`);
    },
  };
}

/** Moves each fifth record of a list with a window to 200 days ago, after the first complete list. */
function movedRecords(): OddBehaviour {
  const moved = new Set<string>();
  return {
    reply(normal, call, service) {
      const field = service.resources.get(call.resource)?.windowField;
      const isLast = isListRequest(call) && normal.body.includes('"nextCursor":null');
      if (field === undefined || !isLast || call.query.has('updatedSince') || moved.has(call.resource))
        return normal;
      const data = service.dataset(DEMO_ORGANIZATION);
      const day = JSON.stringify(new Date(service.clock.now() - 200 * DAY_MS).toISOString());
      const table = data.table(call.resource);
      const ids = [...table.rowsById()].map((row) => table.id(row));
      if (ids.length > 0) moved.add(call.resource);
      for (const id of ids.filter((_, at) => at % 5 === 0)) data.update(call.resource, id, [[field, day]]);
      return normal;
    },
  };
}

const iso = (at: Date): string => at.toISOString();

/** Services that make it hard to tell what was deleted, and when. */
export const ODD_DELETES: OddCatalog = {
  'dates-day-month-year': [
    'writes dates as 09/08/2026, the day first',
    dates((at) => iso(at).slice(0, 10).split('-').reverse().join('/')),
  ],
  'dates-epoch-seconds': [
    'writes dates as seconds since 1970',
    dates((at) => Math.floor(at.getTime() / 1000)),
  ],
  'dates-epoch-milliseconds': ['writes dates as milliseconds since 1970', dates((at) => at.getTime())],
  'dates-without-zone': [
    'writes dates as local time, without the zone',
    dates((at) =>
      iso(new Date(at.getTime() + 2 * HOUR_MS))
        .slice(0, 19)
        .replace('T', ' '),
    ),
  ],
  'dates-with-offset': [
    'writes dates with an offset from UTC',
    dates((at) => `${iso(new Date(at.getTime() + 5.5 * HOUR_MS)).slice(0, 19)}+05:30`),
  ],
  'dates-of-weeks': [
    'writes dates as 2026-W32-7',
    dates((at) => DateTime.fromJSDate(at, { zone: 'utc' }).toISOWeekDate()),
  ],
  'by-id-404': ['has no fetch by id: 404 for every id', byId(404, '{"message":"Not found"}')],
  'by-id-200': ['answers every fetch by id with 200 and an empty object', byId(200, '{}')],
  'by-id-403': ['answers every fetch by id with 403', byId(403, '{"message":"Forbidden"}')],
  'lists-become-empty': [
    'answers full lists with 200 and no records from the third request on, as after a lost permission',
    () => {
      const seen = new Map<string, number>();
      return {
        reply(normal, call) {
          if (!isListRequest(call) || call.query.has('updatedSince')) return normal;
          const before = seen.get(call.resource) ?? 0;
          if (!call.query.has('cursor')) seen.set(call.resource, before + 1);
          return before < 1 || (call.query.has('cursor') && before < 2)
            ? normal
            : replyWith(200, '{"data":[],"page":{"limit":100,"nextCursor":null}}');
        },
      };
    },
  ],
  'hidden-records': [
    'hides each fourth record after the first complete list, and answers 403 for it by id',
    hiddenRecords,
  ],
  'moved-records': ['moves each fifth record out of the window after the first complete list', movedRecords],
  'updated-since-ignored': [
    'ignores `updatedSince`: every increment shows the whole list',
    () => ({ request: (call) => withQuery(call, { updatedSince: null }) }),
  ],
  'updated-since-new-york': ['reads `updatedSince` as local time, five hours behind UTC', localTime(-5)],
  'updated-since-tokyo': ['reads `updatedSince` as local time, nine hours ahead of UTC', localTime(9)],
};
