import type { Call } from './call.js';
import type { CursorCodec, CursorState } from './cursors.js';
import type { Dataset } from './dataset.js';
import type { Fault } from './fault-types.js';
import { jsonTextReply, Refusal, type Reply } from './reply.js';

const DAY = 86_400_000;
const UPDATED_SINCE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

/** The cursors that chains of pages were asked with lately, for faults that lead a client back. */
export class ChainTrails {
  #trails = new Map<number, string[]>();
  #begun = 0;

  begin(): number {
    return ++this.#begun;
  }

  /** Notes the cursor of a request; the answer is the one before it, if there was one. */
  follow(chain: number, cursor: string): string | undefined {
    const trail = this.#trails.get(chain) ?? [];
    if (trail.at(-1) !== cursor) trail.push(cursor);
    if (trail.length > 2) trail.shift();
    this.#trails.set(chain, trail);
    if (this.#trails.size > 1000) this.#trails.delete(this.#trails.keys().next().value as number);
    return trail.length === 2 ? trail[0] : undefined;
  }
}

/** Serves one page of a list (spec, "Query parameters common to list endpoints"). Throws `Refusal` 400. */
export function servePage(
  call: Call,
  data: Dataset,
  codec: CursorCodec,
  trails: ChainTrails,
  fault: Fault | null,
): Reply {
  const { options, resources, clock } = data.context;
  const limit = readLimit(call.query.get('limit'), options);
  const windowed = resources.get(call.resource)?.windowField !== undefined;
  const since = readUpdatedSince(call.query.get('updatedSince'));
  if (call.cursor === 'invalid') throw new Refusal(400, 'The cursor is not valid.');
  const cursor: CursorState = call.cursor ?? {
    after: null,
    skip: 0,
    page: 0,
    chain: trails.begin(),
    resource: call.resource,
  };
  const asked = call.query.get('cursor') ?? '';
  const before = asked === '' ? undefined : trails.follow(cursor.chain, asked);
  const onward = { ...cursor, page: cursor.page + 1 };

  if (fault?.kind === 'empty-page') return envelope([], limit, codec.encode(onward));
  const table = data.table(call.resource);
  const { rows, more } = table.page({
    after: cursor.after,
    skip: cursor.skip,
    limit,
    // Both bounds are whole milliseconds: "not before" is "after the millisecond before".
    changedAfter: options.updatedSinceBound === 'inclusive' ? since - 1 : since,
    windowFrom: windowed ? clock.now() - options.windowDays * DAY : Number.NEGATIVE_INFINITY,
  });
  const last = rows.at(-1);
  let next: string | null = null;
  if (more && options.cursorStyle === 'offset')
    next = codec.encode({ ...onward, skip: cursor.skip + rows.length });
  else if (more && last !== undefined)
    next = codec.encode({ ...onward, after: table.position(last), skip: 0 });
  if (fault?.kind === 'cursor-loop') next = fault.length === 1 ? asked : (before ?? asked);
  const pieces: Buffer[] = [];
  table.gather(rows, pieces);
  return envelope(pieces, limit, next);
}

const HEAD = Buffer.from('{"data":[');

function envelope(pieces: readonly Buffer[], limit: number, nextCursor: string | null): Reply {
  const tail = Buffer.from(`],"page":${JSON.stringify({ limit, nextCursor })}}`);
  return jsonTextReply(200, Buffer.concat([HEAD, ...pieces, tail]));
}

function readLimit(text: string | null, options: Dataset['context']['options']): number {
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
  // Date.parse takes February 30 for March 1 or 2; a strict service does not.
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== text.replace('Z', '.000Z')) {
    throw new Refusal(400, 'updatedSince must have the form YYYY-MM-DDTHH:MM:SSZ.');
  }
  return ms;
}
