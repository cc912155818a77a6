import type { Dataset } from '../data/dataset.js';
import type { Fault } from '../faults.js';
import type { Call, CursorState } from '../http/call.js';
import { jsonTextReply, Refusal, type Reply } from '../http/reply.js';
import type { Service } from '../simulated-service.js';
import type { TunableOptions } from '../simulator-options.js';

const UPDATED_SINCE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

/** Serves one page of a list (docs/service-api.md#requests). Throws `Refusal` 400. */
export function servePage(service: Service, call: Call, data: Dataset, fault: Fault | null): Reply {
  const { options, codec, cursorHistory: history } = service;
  const limit = readLimit(call.query.get('limit'), options);
  const since = readUpdatedSince(call.query.get('updatedSince'));
  if (call.cursor === 'invalid') throw new Refusal(400, 'The cursor is not valid.');
  const cursor: CursorState = call.cursor ?? {
    after: null,
    skip: 0,
    page: 0,
    chain: history.startChain(),
    resource: call.resource,
  };
  const requested = call.query.get('cursor') ?? '';
  const previous = requested === '' ? undefined : history.record(cursor.chain, requested);
  const following = { ...cursor, page: cursor.page + 1 };

  if (fault?.kind === 'empty-page') return envelope([], limit, codec.encode(following));
  const table = data.table(call.resource);
  const { rows, more } = table.page({
    after: cursor.after,
    skip: cursor.skip,
    limit,
    // Times are whole milliseconds, so an inclusive bound is an exclusive bound one millisecond earlier.
    changedAfter: options.updatedSinceBound === 'inclusive' ? since - 1 : since,
    windowFrom: data.windowFrom(call.resource),
  });
  const last = rows.at(-1);
  let next: string | null = null;
  if (more && options.cursorStyle === 'offset')
    next = codec.encode({ ...following, skip: cursor.skip + rows.length });
  else if (more && last !== undefined)
    next = codec.encode({ ...following, after: table.position(last), skip: 0 });
  if (fault?.kind === 'cursor-loop') next = fault.length === 1 ? requested : (previous ?? requested);
  return envelope(table.slices(rows), limit, next);
}

const HEAD = Buffer.from('{"data":[');

function envelope(records: readonly Buffer[], limit: number, nextCursor: string | null): Reply {
  const tail = Buffer.from(`],"page":${JSON.stringify({ limit, nextCursor })}}`);
  return jsonTextReply(200, Buffer.concat([HEAD, ...records, tail]));
}

function readLimit(text: string | null, options: TunableOptions): number {
  if (text === null) return Math.min(options.pageDefault, options.pageMax);
  if (!/^-?\d+$/.test(text)) throw new Refusal(400, `limit must be an integer, not ${JSON.stringify(text)}.`);
  const limit = Number(text);
  if (limit > options.pageMax && options.tooLargeLimit === 'refuse') {
    throw new Refusal(400, `limit must not be larger than ${options.pageMax}.`);
  }
  return Math.max(1, Math.min(limit, options.pageMax));
}

function readUpdatedSince(text: string | null): number {
  if (text === null) return Number.NEGATIVE_INFINITY;
  const ms = UPDATED_SINCE.test(text) ? Date.parse(text) : Number.NaN;
  // Date.parse reads February 30 as March 1 or 2. A strict service rejects it.
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== text.replace('Z', '.000Z')) {
    throw new Refusal(400, 'updatedSince must have the form YYYY-MM-DDTHH:MM:SSZ.');
  }
  return ms;
}
