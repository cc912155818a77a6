import { describe, expect, it } from 'vitest';
import { RejectedError } from '../../../src/api/errors.js';
import type { ListRequest, ServiceClient } from '../../../src/api/index.js';
import type { Parse, ReceivedPage } from '../../../src/api/service-client.js';
import { type Cursor, toByteString, type UtcSeconds } from '../../../src/core/brands.js';
import { NOTHING_READ } from '../../../src/core/list-evidence.js';
import type { RunFile } from '../../../src/lake/documents/run-file.js';
import { PageChain } from '../../../src/run/read/page-chain.js';
import { PageReader } from '../../../src/run/read/page-reader.js';
import { RUN } from './run.js';

/** What the service does, in order: `asked` by cursor, `answered` when the body is read. */
class FakeService {
  readonly log: string[] = [];
  readonly signals: AbortSignal[] = [];
  mustEnd = false;
  onAsked: (cursor: string, onWait: NonNullable<ListRequest['onWait']>) => void = () => {};
  readonly reader = new PageReader(RUN, []);
  readonly #bodies: Readonly<Record<string, string>>;

  endCursors: readonly string[] = [];

  /** @param bodies by cursor; '' is that of the first page */
  constructor(bodies: Readonly<Record<string, string>>) {
    this.#bodies = bodies;
  }

  chain(
    mode: RunFile['mode'] = 'full',
    from: Partial<ConstructorParameters<typeof PageChain>[1]> = {},
  ): PageChain {
    const client = { listPage: this.#listPage } as unknown as ServiceClient;
    const run = { ...RUN, mode, sync: { ...RUN.sync, overlapMs: 1000, endCursors: this.endCursors } };
    const start = { cursor: null, updatedSince: null, chain: 0, restarts: 0, shrinks: 0, pageSize: 2 };
    const position = { ...start, ...from };
    const { signal } = new AbortController();
    const options = {
      client,
      run,
      reader: this.reader,
      signal,
      now: Date.now,
      evidence: NOTHING_READ,
      upTo: mode === 'full' ? null : { workflow: 0, service: null },
      onWait: () => {},
      mustEnd: () => this.mustEnd,
    };
    return new PageChain(options, position, new Set());
  }

  #listPage = async <T>(
    { cursor, signal, onWait }: ListRequest,
    parse: Parse<T>,
  ): Promise<ReceivedPage<T>> => {
    this.log.push(`asked ${cursor ?? 'first'}`);
    this.signals.push(signal!);
    this.onAsked(cursor ?? 'first', onWait!);
    await new Promise(setImmediate);
    const body = this.#bodies[cursor ?? ''];
    if (body === 'ended') throw new RejectedError('the cursor has ended', { status: 400 });
    if (body === undefined) throw new Error(`no page ${cursor}`);
    const facts = {
      status: 200,
      location: null,
      url: '',
      message: () => null,
      shown: (text: string) => text,
      headers: {},
    };
    const value = await parse(toByteString(body), facts);
    this.log.push(`read ${cursor ?? 'first'}`);
    return {
      value,
      serviceDate: null,
      announced: null,
      status: 200,
      bytes: body.length,
      replaced: 0,
      repaired: 0,
      isBlank: false,
      durationMs: 1,
      retries: 0,
    };
  };
}

const page = (id: string, next: string | null, more = '') =>
  `{"data":[{"id":"${id}","${id}":1}],"page":{"nextCursor":${JSON.stringify(next)}}${more}}`;

async function readAll(chain: PageChain): Promise<(Cursor | null)[]> {
  const cursors: (Cursor | null)[] = [];
  for (;;) {
    const { next, done } = await chain.next();
    cursors.push(next.cursor);
    if (done) return cursors;
  }
}

describe('a chain of pages', () => {
  it('requests the next page before it reads the current one', async () => {
    const service = new FakeService({ '': page('a', 'x'), x: page('b', 'y'), y: page('c', null) });
    expect(await readAll(service.chain())).toEqual(['x', 'y', null]);
    expect(service.log).toEqual(['asked first', 'asked x', 'read first', 'asked y', 'read x', 'read y']);
  });

  it('drops a prefetched page that is not the next one, and its columns', async () => {
    // What stands last in the body looks like the cursor of the page.
    const misleading = page('a', 'x', ',"links":{"nextCursor":"wrong"}');
    const service = new FakeService({ '': misleading, wrong: page('never', 'z'), x: page('b', null) });
    expect(await readAll(service.chain())).toEqual(['x', null]);
    expect(service.log).toEqual(['asked first', 'asked wrong', 'read first', 'asked x', 'read x']);
    expect(service.reader.columns.names).toEqual(['id', 'a', 'b']);
  });

  it('continues by time if the cursor of a part has ended, which an earlier call began', async () => {
    const service = new FakeService({ old: 'ended', '': page('a', null) });
    const latest = Date.parse('2026-11-02T00:00:00Z');
    const round = { number: 1, since: '2026-11-01T00:00:00Z' as UtcSeconds, after: latest - 1 };
    const chain = service.chain('full', { cursor: 'old' as Cursor, chain: 1, restarts: 1, round, latest });
    const { next } = await chain.next();
    expect(next.round).toEqual({ number: 2, since: '2026-11-01T23:59:59Z', after: latest });
    expect(service.log).toEqual(['asked old', 'asked old', 'asked first', 'read first']);
  });

  it('prefetches only one page', async () => {
    const service = new FakeService({ '': page('a', 'x'), x: page('b', 'y'), y: page('c', null) });
    await service.chain().next();
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    expect(service.log).toEqual(['asked first', 'asked x', 'read first']);
    expect(service.reader.columns.names).toEqual(['id', 'a']);
  });

  it('cancels the request for a prefetched page when it is closed', async () => {
    const service = new FakeService({ '': page('a', 'x'), x: page('b', null) });
    const chain = service.chain();
    await chain.next();
    expect(service.signals[1]!.aborted).toBe(false);
    chain.close();
    expect(service.signals[1]!.aborted).toBe(true);
  });

  it('does not request the next page when the worker is shutting down', async () => {
    const service = new FakeService({ '': page('a', 'x'), x: page('b', null) });
    const chain = service.chain();
    service.mustEnd = true;
    expect(chain.endsAfter(await chain.next())).toBe(true);
    expect(service.log).toEqual(['asked first', 'read first']);
  });

  it('waits for a page in flight when the worker is shutting down', async () => {
    const service = new FakeService({ '': page('a', 'x'), x: page('b', 'y'), y: page('c', null) });
    const chain = service.chain();
    service.onAsked = (cursor) => {
      service.mustEnd = cursor === 'x';
    };
    expect(chain.endsAfter(await chain.next())).toBe(false);
    expect(chain.endsAfter(await chain.next())).toBe(true);
    expect(service.log).toEqual(['asked first', 'asked x', 'read first', 'read x']);
  });

  it('does not wait for a page whose request is to be retried later', async () => {
    const service = new FakeService({ '': page('a', 'x'), x: page('b', null) });
    const chain = service.chain();
    service.onAsked = (cursor, onWait) => {
      service.mustEnd = cursor === 'x';
      if (cursor === 'x') onWait(Date.now() + 20_000, 'retry');
    };
    expect(chain.endsAfter(await chain.next())).toBe(true);
    chain.close();
  });

  it('does not prefetch the second page of an increment, because the first may be requested again', async () => {
    const service = new FakeService({ '': page('a', 'x'), x: page('b', 'y'), y: page('c', null) });
    await readAll(service.chain('increment'));
    expect(service.log.slice(0, 3)).toEqual(['asked first', 'read first', 'asked x']);
  });

  it('does not request the same cursor twice', async () => {
    const service = new FakeService({ '': page('a', 'x'), x: page('b', 'x') });
    await expect(readAll(service.chain())).rejects.toThrow(/same nextCursor twice/);
    expect(service.log.filter((entry) => entry === 'asked x').length).toBe(1);
  });

  it.each(['0', '-1', 'end', 'null'])(
    'names the setting for a last page that is marked by "%s", which begins the list again, and ends there with it',
    async (mark) => {
      const bodies = { '': page('a', 'page-2'), 'page-2': page('b', mark), [mark]: page('a', 'page-2') };
      const said = new RegExp(`sync\\.endCursors: \\["${mark}"\\]`);
      await expect(readAll(new FakeService(bodies).chain())).rejects.toThrow(said);
      const repeated = { ...bodies, [mark]: page('b', mark) };
      await expect(readAll(new FakeService(repeated).chain())).rejects.toThrow(said);
      const service = new FakeService(bodies);
      service.endCursors = [mark];
      expect(await readAll(service.chain())).toEqual(['page-2', null]);
    },
  );

  it('shows no longer cursor', async () => {
    const bodies = { '': page('a', 'secret-cursor'), 'secret-cursor': page('b', 'secret-cursor') };
    await expect(readAll(new FakeService(bodies).chain())).rejects.not.toThrow(/secret|endCursors/);
  });
});
