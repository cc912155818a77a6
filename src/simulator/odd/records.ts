import type { Dataset } from '../data/dataset.js';
import { mergeFields, readFields, readItems, writeFields } from '../data/raw-json.js';
import { isListRequest } from '../faults.js';
import type { Call } from '../http/call.js';
import { type Reply, replyWith } from '../http/reply.js';
import { DEMO_ORGANIZATION, REPLACED_KEY } from '../simulator-options.js';
import type { OddBehaviour, OddCatalog, OddTarget } from './odd-service.js';

/** The records of a page, and the text of its `page`. */
interface ReadList {
  readonly records: readonly string[];
  readonly page: string;
}

function listOf({ status, body }: Reply, call: Call): ReadList | null {
  const text = body.toString();
  if (!isListRequest(call) || status !== 200 || !text.startsWith('{"data":[')) return null;
  const { data = '[]', page = '' } = Object.fromEntries(readFields(text));
  return { records: readItems(data), page };
}

const withRecords = ({ page }: ReadList, records: readonly string[]): Reply =>
  replyWith(200, `{"data":[${records.join(',')}],"page":${page}}`);

const isLast = ({ page }: ReadList): boolean => page.includes('"nextCursor":null');
const isIncrement = (call: Call): boolean => call.query.has('updatedSince');
const isById = ({ method, segments }: Call): boolean => method === 'GET' && segments?.length === 1;

const fieldOf = (record: string, field: string): string =>
  Object.fromEntries(readFields(record))[field] ?? 'null';
const idOf = (record: string): string => String(JSON.parse(fieldOf(record, 'id')));

/** Changes records without moving their time of change. */
function changeQuietly(data: Dataset, resource: string, id: string, field: string, value: string): void {
  const updatedAt = fieldOf(data.text(resource, id)!, 'updatedAt');
  data.update(resource, id, [
    [field, value],
    ['updatedAt', updatedAt],
  ]);
}

/** Does something once, after the first complete list of a resource. */
function afterFirstList(
  action: (data: Dataset, resource: string, ids: readonly string[]) => void,
): NonNullable<OddBehaviour['reply']> {
  const done = new Set<string>();
  return (normal, call, service) => {
    const list = listOf(normal, call);
    if (list === null || !isLast(list) || isIncrement(call) || done.has(call.resource)) return normal;
    const data = service.dataset(DEMO_ORGANIZATION);
    const table = data.table(call.resource);
    const ids = [...table.rowsById()].map((row) => table.id(row));
    if (ids.length === 0) return normal;
    done.add(call.resource);
    action(data, call.resource, ids);
    return normal;
  };
}

/** The last versions of the deleted records of a list, each with the time of its deletion. */
function deletedRecords(service: OddTarget, resource: string) {
  const table = service.dataset(DEMO_ORGANIZATION).table(resource);
  return [...table.rowsById()].flatMap((row) => {
    const { text, deleted, updatedAt } = table.latest(row);
    return deleted ? [{ id: table.id(row), text, at: new Date(updatedAt).toISOString() }] : [];
  });
}

const withField = (record: string, field: string, value: string): string =>
  writeFields(mergeFields(readFields(record), [[field, value]]));

const byIdForAll: NonNullable<OddBehaviour['start']> = ({ options }) => {
  options.fetchById = 'all';
};

/** Answers GET by id of a deleted record. @param shown the body; `null`: 404 as usual */
function deletedById(
  shown: (text: string, at: string, service: OddTarget, resource: string) => string | null,
): () => OddBehaviour {
  return () => ({
    start: byIdForAll,
    reply: (normal, call, service) => {
      const gone = isById(call) && normal.status === 404 ? deletedRecords(service, call.resource) : [];
      const found = gone.find(({ id }) => id === call.segments![0]);
      const body = found === undefined ? null : shown(found.text, found.at, service, call.resource);
      return body === null ? normal : replyWith(200, body);
    },
  });
}

/** Lists hide archived records, and GET by id shows them. The first list archives two. */
function archivedRecords(): OddBehaviour {
  const archive = afterFirstList((data, resource, ids) => {
    for (const id of [ids[3], ids[8]])
      if (id !== undefined)
        data.update(resource, id, [
          ['name', '"Archived"'],
          ['archived', 'true'],
        ]);
  });
  return {
    start: byIdForAll,
    reply: (normal, call, service) => {
      const list = listOf(archive(normal, call, service), call);
      if (list === null || call.query.get('include_archived') === 'true') return normal;
      return withRecords(
        list,
        list.records.filter((record) => fieldOf(record, 'archived') !== 'true'),
      );
    },
  };
}

/** The third list comes from a replica that has not seen the last version of any record. */
function laggingReplica(): OddBehaviour {
  const versions = new Map<string, readonly string[]>();
  let lists = 1;
  return {
    reply: (normal, call) => {
      const list = listOf(normal, call);
      if (list === null) return normal;
      const lags = lists === 3;
      if (isLast(list)) lists++;
      const records = list.records.map((record) => {
        const known = versions.get(idOf(record)) ?? [];
        const all = known.at(-1) === record ? known : [...known.slice(-1), record];
        versions.set(idOf(record), all);
        return lags ? all[0]! : record;
      });
      return withRecords(list, records);
    },
  };
}

/** Records that are deleted, archived, changed or broken in ways that lists do not show. */
export const ODD_RECORDS: OddCatalog = {
  'tombstones-in-increments': [
    'lists deleted records as `{"id", "deleted": true, "updatedAt"}`, but only among changes',
    () => ({
      reply: (normal, call, service) => {
        const list = listOf(normal, call);
        const since = call.query.get('updatedSince');
        if (list === null || since === null || !isLast(list)) return normal;
        const gone = deletedRecords(service, call.resource).filter(({ at }) => at >= since);
        const records = gone.map(({ id, at }) => JSON.stringify({ id, deleted: true, updatedAt: at }));
        return withRecords(list, [...list.records, ...records]);
      },
    }),
  ],
  'by-id-deleted': [
    'answers GET by id of a deleted record with the record and `deletedAt`',
    deletedById((text, at) => withField(text, 'deletedAt', JSON.stringify(at))),
  ],
  'by-id-deleted-short': [
    'answers GET by id of a deleted record with `{"id", "deleted": true}`',
    deletedById((text) => JSON.stringify({ id: idOf(text), deleted: true })),
  ],
  'by-id-merged': [
    'answers GET by id of a deleted record with another record, as after a merge',
    deletedById((_, __, service, resource) => {
      const data = service.dataset(DEMO_ORGANIZATION);
      const table = data.table(resource);
      const live = [...table.rowsById()].find((row) => !table.latest(row).deleted);
      return live === undefined ? null : data.text(resource, table.id(live))!;
    }),
  ],
  'archived-records': [
    'hides archived records in its lists, unless `include_archived` is true, and archives two after the first complete list',
    archivedRecords,
  ],
  'replica-lags': [
    'answers the third list from a replica without the last version of each record',
    laggingReplica,
  ],
  'untimed-changes': [
    'renames the third record after the first complete list without a new `updatedAt`',
    () => ({
      reply: afterFirstList((data, resource, ids) => {
        if (ids[2] !== undefined) changeQuietly(data, resource, ids[2], 'name', '"Renamed"');
      }),
    }),
  ],
  'whole-decimals': [
    'writes `hours` of 8.0 as 8; such a value appears after the first complete list',
    () => ({
      start: (service) => {
        const data = service.dataset(DEMO_ORGANIZATION);
        const table = data.table('tasks');
        for (const [at, row] of [...table.rowsById()].entries())
          changeQuietly(data, 'tasks', table.id(row), 'hours', `${at}.5`);
      },
      reply: afterFirstList((data, resource, ids) => {
        const [, second] = ids;
        if (second !== undefined) data.update(resource, second, [['hours', '8']]);
      }),
    }),
  ],
  'key-replaced': [
    'revokes the demo key after the first complete list, and takes `wt_demo_key_replaced` instead',
    () => {
      let isReplaced = false;
      return {
        reply: (normal, call, { keys }) => {
          const list = listOf(normal, call);
          if (list === null || !isLast(list) || isReplaced) return normal;
          isReplaced = true;
          keys.revoke('demo');
          keys.add({ key: REPLACED_KEY, name: 'replaced', organization: DEMO_ORGANIZATION, grants: ['*'] });
          return normal;
        },
      };
    },
  ],
  'poison-record': [
    'answers 500 to each page with the record in the thirteenth place, whatever its size',
    () => {
      let poison: string | undefined;
      return {
        reply: (normal, call, service) => {
          const list = listOf(normal, call);
          const table = service.dataset(DEMO_ORGANIZATION).table(call.resource);
          poison ??= [...table.rowsById()].map((row) => table.id(row))[12];
          return list?.records.some((record) => idOf(record) === poison)
            ? replyWith(500, '{"message":"Internal server error"}')
            : normal;
        },
      };
    },
  ],
};
