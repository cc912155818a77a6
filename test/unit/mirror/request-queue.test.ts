import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunId, UtcSeconds } from '../../../src/core/brands.js';
import type { MirrorRequest, RunAnswer, RunRecord, RunRequest } from '../../../src/core/contract/index.js';
import {
  alertedBy,
  answerOf,
  enqueue,
  nextBatch,
  remember,
  syncProblem,
} from '../../../src/mirror/request-queue.js';
import { runRequest } from '../../support/run-request.js';
import { rounds } from '../../support/seeds.js';

const request = (requestId: string, more: Partial<RunRequest> = {}): RunRequest =>
  runRequest({ requestId, nominalStart: 0, ...more });
const answer = (requestId: string, rows = 1): RunAnswer => ({
  requestId,
  report: { resource: 'tasks', outcome: 'published', rows } as RunRecord,
});

const asker = {
  requestId: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  replyTo: fc.constantFrom(null, 'w1', 'w2'),
};
const anyRun: fc.Arbitrary<RunRequest> = fc.record({
  kind: fc.constant('run' as const),
  ...asker,
  mode: fc.constantFrom('full' as const, 'increment' as const),
  reconcile: fc.boolean(),
  adopt: fc.boolean(),
  allowDeletes: fc.boolean(),
  since: fc.constantFrom(null, '2026-01-01T00:00:00Z' as UtcSeconds),
  nominalStart: fc.nat(3),
});
const runId = fc.constantFrom(
  '20261121T020000Z-00000001',
  '20261121T020000Z-00000002',
) as fc.Arbitrary<RunId>;
const anyRequest: fc.Arbitrary<MirrorRequest> = fc.oneof(
  anyRun,
  fc.record({ kind: fc.constant('rollback' as const), ...asker, to: runId }),
  fc.record({ kind: fc.constant('purge' as const), ...asker, key: fc.constantFrom(['1'], ['1', '2']) }),
);
const wants = (request: MirrorRequest): string => {
  if (request.kind === 'rollback') return `rollback ${request.to}`;
  if (request.kind === 'purge') return `purge ${JSON.stringify(request.key)}`;
  const { mode, reconcile, adopt, allowDeletes, since } = request;
  return JSON.stringify([mode, reconcile, adopt, allowDeletes, since]);
};

const amend = (
  requestId: string,
  more: { kind: 'rollback'; to: RunId } | { kind: 'purge'; key: string[] },
): MirrorRequest => ({ requestId, replyTo: null, ...more });

/** The ids of the requests that each turn of the mirror answers. */
function servedIn(waiting: readonly MirrorRequest[]): string[][] {
  const turns: string[][] = [];
  for (let next = nextBatch(waiting); next !== null; next = nextBatch(next.rest))
    turns.push(next.batch.all.map(({ requestId }) => requestId));
  return turns;
}

describe('The queue of a mirror', () => {
  it('serves requests whose senders report for alerts together with others, and leaves the report to a sender', () => {
    const waiting = [request('a'), request('b', { alertedBy: 'sender' })].reduce<MirrorRequest[]>(
      enqueue,
      [],
    );
    const { batch } = nextBatch(waiting)!;
    expect(batch.all).toHaveLength(2);
    expect(alertedBy(batch.all, new Set(['a', 'b']))).toBe('sender');
    // A sender that has withdrawn its request cannot report the run, which may be published nevertheless.
    expect(alertedBy(batch.all, new Set(['a']))).toBe('mirror');
    expect(alertedBy(batch.all, new Set())).toBe('mirror');
    expect(alertedBy([request('a')], new Set(['a']))).toBe('mirror');
  });

  it('keeps the place of a repeated request and answers its last sender', () => {
    const waiting = [request('a'), request('b')].reduce<MirrorRequest[]>(enqueue, []);
    const again = enqueue(waiting, request('a', { replyTo: 'new' }));
    expect(again).toEqual([request('a', { replyTo: 'new' }), request('b')]);
    expect(waiting).toEqual([request('a'), request('b')]);
  });

  it('never holds a request twice, and keeps the order of arrival', () => {
    fc.assert(
      fc.property(fc.array(anyRequest), (arrivals) => {
        const waiting = arrivals.reduce<MirrorRequest[]>(enqueue, []);
        const ids = waiting.map(({ requestId }) => requestId);
        expect(ids).toEqual([...new Set(arrivals.map(({ requestId }) => requestId))]);
        for (const held of waiting) {
          expect(held).toEqual(arrivals.findLast(({ requestId }) => requestId === held.requestId));
        }
      }),
    );
  });

  it('merges equal requests into one batch, oldest first, and loses none', () => {
    fc.assert(
      fc.property(fc.array(anyRequest), (arrivals) => {
        const waiting = arrivals.reduce<MirrorRequest[]>(enqueue, []);
        const served: MirrorRequest[] = [];
        for (let next = nextBatch(waiting); next !== null; next = nextBatch(next.rest)) {
          const { first, all } = next.batch;
          const { nominalStart: _, ...oldest } = all[0] as RunRequest;
          expect(first).toMatchObject(oldest);
          if (first.kind === 'run')
            expect(first.nominalStart).toBe(Math.max(...all.map((one) => (one as RunRequest).nominalStart)));
          for (const one of all) expect(wants(one)).toBe(wants(first));
          served.push(...all);
        }
        const byId = (a: MirrorRequest, b: MirrorRequest) => (a.requestId < b.requestId ? -1 : 1);
        expect([...served].sort(byId)).toEqual([...waiting].sort(byId));
      }),
    );
  });

  it.each<[string, string[], string[][]]>([
    ['runs around a rollback', ['run', 'back', 'run'], [['0'], ['1'], ['2']]],
    ['runs around a purge', ['run', 'purge', 'run'], [['0'], ['1'], ['2']]],
    [
      'runs on each side',
      ['run', 'full', 'run', 'back', 'run', 'run'],
      [['0', '2'], ['1'], ['3'], ['4', '5']],
    ],
    ['rollbacks around a run', ['back', 'run', 'back'], [['0'], ['1'], ['2']]],
    ['rollbacks to the same run, one after the other', ['back', 'back', 'run'], [['0', '1'], ['2']]],
    ['rollbacks to different runs', ['back', 'other back', 'back'], [['0'], ['1'], ['2']]],
    ['a rollback around a purge', ['back', 'purge', 'back'], [['0'], ['1'], ['2']]],
    ['purges of the same record', ['purge', 'purge', 'other purge', 'purge'], [['0', '1'], ['2'], ['3']]],
    ['purges around a run', ['run', 'purge', 'run', 'purge'], [['0'], ['1'], ['2'], ['3']]],
    [
      'runs of two kinds before a purge',
      ['full', 'run', 'full', 'run', 'purge'],
      [['0', '2'], ['1', '3'], ['4']],
    ],
  ])('serves %s in their order, and merges only what may be merged', (_, kinds, batches) => {
    const some: Record<string, (id: string) => MirrorRequest> = {
      run: (id) => request(id),
      full: (id) => request(id, { mode: 'full' }),
      back: (id) => amend(id, { kind: 'rollback', to: '20261121T020000Z-00000001' as RunId }),
      'other back': (id) => amend(id, { kind: 'rollback', to: '20261121T020000Z-00000002' as RunId }),
      purge: (id) => amend(id, { kind: 'purge', key: ['1'] }),
      'other purge': (id) => amend(id, { kind: 'purge', key: ['2'] }),
    };
    const waiting = kinds.map((kind, at) => some[kind]!(String(at)));
    expect(servedIn(waiting)).toEqual(batches);
  });

  it('never lets a request overtake a rollback or purge, or one of these a request, and merges all others', () => {
    fc.assert(
      fc.property(fc.array(anyRequest, { maxLength: 12 }), (arrivals) => {
        const waiting = arrivals.map((one, at) => ({ ...one, requestId: String(at) }));
        const at = new Map(servedIn(waiting).flatMap((ids, turn) => ids.map((id) => [id, turn] as const)));
        const turnOf = (one: MirrorRequest): number => at.get(one.requestId)!;
        const isRun = (one: MirrorRequest): boolean => one.kind === 'run';
        for (const [n, earlier] of waiting.entries()) {
          for (const [m, later] of [...waiting.entries()].slice(n + 1)) {
            const between = waiting.slice(n + 1, m);
            const isSame = wants(earlier) === wants(later);
            // For people: the later request finds what the earlier one has done, and nothing that came after.
            if (!isRun(earlier) || !isRun(later)) {
              expect(turnOf(earlier)).toBeLessThanOrEqual(turnOf(later));
              const areTogether = isSame && between.every((one) => wants(one) === wants(later));
              expect(turnOf(earlier) === turnOf(later)).toBe(areTogether);
            } else if (isSame) expect(turnOf(earlier) === turnOf(later)).toBe(between.every(isRun));
            else expect(turnOf(earlier)).not.toBe(turnOf(later));
          }
        }
      }),
      { numRuns: rounds(1000) },
    );
  });

  it.each<[string, Partial<RunRequest>]>([
    ['a full pass', { mode: 'full' }],
    ['one that may conclude deletes', { reconcile: true }],
    ['an adoption', { adopt: true }],
    ['one that allows many deletes', { allowDeletes: true }],
  ])('does not take an increment and %s for the same', (_, more) => {
    const next = nextBatch([request('a'), request('b', more), request('c')])!;
    expect(next.batch.all.map(({ requestId }) => requestId)).toEqual(['a', 'c']);
    expect(next.rest.map(({ requestId }) => requestId)).toEqual(['b']);
  });

  it('starts a batch at its latest nominal start, so that a nightly run keeps its dt', () => {
    const waiting = [
      request('manual', { nominalStart: 1 }),
      request('nightly', { nominalStart: 9 }),
      request('x', { nominalStart: 5 }),
    ];
    const { first, all } = nextBatch(waiting)!.batch;
    expect(first).toEqual(request('manual', { nominalStart: 9 }));
    expect(all).toEqual(waiting);
  });

  it('is background work only if no one waits for any of its requests', () => {
    const nightly = request('nightly', { background: true });
    const all = (...waiting: RunRequest[]) => nextBatch(waiting)!.batch;
    expect(all(nightly, request('x', { background: true })).first).toEqual(nightly);
    const joined = all(nightly, request('manual'));
    expect(joined.first).toEqual(request('nightly'));
    expect(joined.all).toHaveLength(2);
  });

  it('is empty without requests', () => {
    expect(nextBatch([])).toBeNull();
  });
});

describe('The answers that a mirror keeps', () => {
  it('include the last answer to a request', () => {
    const answered = [answer('a', 1), answer('b', 2), answer('a', 3)].reduce<RunAnswer[]>(remember, []);
    expect(answerOf(answered, 'a')).toEqual(answer('a', 3));
    expect(answerOf(answered, 'b')).toEqual(answer('b', 2));
    expect(answerOf(answered, 'c')).toBeUndefined();
    expect(answered).toHaveLength(2);
  });

  it('are bounded, and the oldest is dropped first', () => {
    const ids = Array.from({ length: 120 }, (_, at) => `r${at}`);
    const answered = ids.map((id) => answer(id)).reduce<RunAnswer[]>(remember, []);
    expect(answered.map(({ requestId }) => requestId)).toEqual(ids.slice(-50));
    const again = remember(answered, answer('r70', 9));
    expect(again).toHaveLength(50);
    expect(again.at(-1)).toEqual(answer('r70', 9));
  });
});

it('merges requests that differ only in who reports them for alerts', () => {
  const next = nextBatch([request('a'), request('b', { alertedBy: 'sender' })]);
  expect(next?.batch.all.map(({ requestId }) => requestId)).toEqual(['a', 'b']);
});

describe('The update `sync`', () => {
  const full = Array.from({ length: 2000 }, (_, at) => request(`request-${at}`));
  const free = full.slice(0, 10);

  it('is refused while the queue is full, because its request would be dropped', () => {
    expect(syncProblem({}, { resource: 'tasks', waiting: free })).toBeNull();
    expect(syncProblem(undefined, { resource: 'tasks', waiting: full })).toEqual({
      type: 'QueueFull',
      message: expect.stringContaining('sync: tasks: 2000 requests wait for this mirror'),
    });
  });

  it('is refused for an input that is not valid, whatever waits', () => {
    for (const waiting of [free, full])
      expect(
        syncProblem({ mode: 'full', since: '2026-11-21T02:00:00Z' }, { resource: 'tasks', waiting }),
      ).toMatchObject({ type: 'InvalidSync', message: expect.stringContaining('sync: since') });
  });
});

describe('a dry run', () => {
  const dry = request('dry', { dryRun: {} });

  it('waits until nothing else does, and is merged with no request', () => {
    const same = request('same', { dryRun: {} });
    const purge = amend('purge', { kind: 'purge', key: ['1'] });
    const waiting = [dry, request('a'), same, purge, request('b')];
    expect(servedIn(waiting)).toEqual([['a'], ['purge'], ['b'], ['dry'], ['same']]);
  });

  it('is no barrier between equal requests', () => {
    expect(servedIn([request('a'), dry, request('b')])).toEqual([['a', 'b'], ['dry']]);
  });
});
