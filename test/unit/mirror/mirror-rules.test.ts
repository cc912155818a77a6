import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObjectKey, RunId, UtcSeconds } from '../../../src/core/brands.js';
import type {
  MirrorRequest,
  MirrorState,
  NextPhase,
  PublishedRun,
  RecordPurged,
  RunError,
  RunInput,
  RunPublished,
  RunRecord,
  RunSpilled,
  Swept,
} from '../../../src/core/contract/index.js';
import { HOUR_MS } from '../../../src/core/duration.js';
import { newMirror, type RunFailure } from '../../../src/core/mirror-requests.js';
import { ALL_REMOVED } from '../../../src/core/removal.js';
import { beganAfter, haveSameRequest } from '../../../src/core/run-id.js';
import type {
  Call,
  CallEnd,
  CallName,
  Command,
  Decided,
  Mirror,
  PhasesInput,
} from '../../../src/mirror/mirror-commands.js';
import {
  callEnded,
  nextTurn,
  progressed,
  requested,
  sweepDue,
  untilTurn,
  withdrawn,
} from '../../../src/mirror/mirror-rules.js';
import { untilSweep } from '../../../src/mirror/sweep-rules.js';
import { runRequest } from '../../support/run-request.js';
import { rounds } from '../../support/seeds.js';
import { newWriter } from '../../support/writer.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const FIRST = '20261121T010000Z-00000001' as RunId;
const SECOND = '20261122T020000Z-00000002' as RunId;
const AT = { now: NOW, random: () => '0a0b0c0d' };
const SWEPT: Swept = { folders: 0, staged: 0, strays: 0, uploads: 0, isDone: true, refused: ALL_REMOVED };
const onPublished = { workflow: 'loadWarehouse', taskQueue: 'warehouse' };

const idle = (state: Partial<MirrorState> = {}): Mirror => ({
  ...{ state: { ...newMirror('acme', 'tasks'), ...state }, writer: newWriter(), turn: null },
});

const run = (at: number, more: Partial<PublishedRun> = {}): PublishedRun =>
  ({
    ...{ snapshot: `snapshot-${at}` as ObjectKey, publishedAt: at, counts: { rows: at % 100 } },
    ...{ warnings: [], checkpoint: { updatedSince: new Date(at).toISOString() as UtcSeconds }, ...more },
  }) as PublishedRun;

const inMemory = (runId: RunId, more: Partial<RunPublished> = {}): RunPublished => ({
  ...{
    kind: 'published',
    runId,
    run: run(NOW),
    table: false,
    onPublished: null,
    pageSize: null,
    swept: null,
  },
  ...more,
});

const failure = (type: RunError['type'] | 'cancelled', more: Partial<RunFailure> = {}): RunFailure => ({
  outcome: type === 'cancelled' ? 'cancelled' : type === 'Refused' ? 'refused' : 'failed',
  error: { type: type === 'cancelled' ? 'Failed' : type, message: 'said' },
  ...more,
});

const next = (phase: NextPhase['phase']): NextPhase => ({
  ...{ kind: 'next', phase, step: 0, batches: 1, summary: '', pages: 0, rows: 0 },
});
const spilled = (more: Partial<RunSpilled> = {}) => ({
  result: {
    ...{ kind: 'spilled', next: next('read'), mode: 'increment', resumed: null, giveUpAfterMs: HOUR_MS },
    ...{ hookedTo: null, ...more },
  } satisfies RunSpilled,
});

const callOf = ({ commands }: Decided): Call | null => commands.find((one) => one.do === 'call') ?? null;
const repliesOf = ({ commands }: Decided) => commands.filter((one) => one.do === 'reply');

/** A turn, with the ends of its calls. @returns the calls, the report, and the mirror after it */
function serve(
  mirror: Mirror,
  request: MirrorRequest,
  ends: readonly object[],
  phase: NextPhase['phase'] = 'merge',
) {
  const calls: string[] = [];
  let decided = nextTurn(requested(mirror, { ...request, replyTo: 'export' }).mirror, AT)!;
  for (const end of ends) {
    const call = callOf(decided)!;
    calls.push(call.name.replace('worktrack.', ''));
    const at = call.name === 'phases' ? progressed(decided.mirror, next(phase)) : decided.mirror;
    decided = callEnded(at, call, end as CallEnd<CallName>, AT);
  }
  expect(callOf(decided)).toBeNull();
  const [answer] = repliesOf(decided);
  return { calls, decided, report: answer!.answer.report, ...decided.mirror };
}

const published = { result: inMemory(FIRST) };
const toSweep = { result: inMemory(FIRST, { swept: 'to do' }) };
const failed = (...of: Parameters<typeof failure>) => ({ failure: failure(...of) });
const swept = { result: SWEPT };
const nothing = { result: undefined };
const unread = { object: `_staging/tasks/${FIRST}/run.json` as ObjectKey, layout: 9 };

describe('a turn of a mirror', () => {
  it.each<[string, object[], string[], string, NextPhase['phase']?]>([
    ['in memory', [published], ['run'], 'published'],
    ['with its sweep to do', [toSweep, swept], ['run', 'sweep'], 'published'],
    ['whose sweep fails', [toSweep, failed('Lake')], ['run', 'sweep'], 'published'],
    [
      'with a table',
      [{ result: inMemory(FIRST, { table: true }) }, { result: { version: 1, warnings: [] } }],
      ['run', 'followTable'],
      'published',
    ],
    [
      'whose table and workflow fail',
      [
        { result: inMemory(FIRST, { table: true, onPublished, swept: 'to do' }) },
        failed('Lake'),
        failed('Failed'),
        swept,
      ],
      ['run', 'followTable', 'followOnPublished', 'sweep'],
      'published',
    ],
    ['in the lake', [spilled(), toSweep, swept], ['run', 'phases', 'sweep'], 'published'],
    [
      'refused once because of a newer id',
      [failed('Failed', { newerId: SECOND }), published],
      ['run', 'run'],
      'published',
    ],
    [
      'refused twice',
      [failed('Failed', { newerId: FIRST }), failed('Failed', { newerId: SECOND })],
      ['run', 'run'],
      'failed',
    ],
    [
      'that no worker can continue',
      [spilled(), failed('Transient', { unread }), nothing, published],
      ['run', 'phases', 'sweepFailedRun', 'run'],
      'published',
    ],
    [
      'that no worker can continue, and whose swap may arrive late',
      [spilled(), failed('Transient', { unread }), published],
      ['run', 'phases', 'run'],
      'published',
      'publish',
    ],
    [
      'that no worker can continue, twice',
      [spilled(), failed('Transient', { unread }), nothing, failed('Transient', { unread })],
      ['run', 'phases', 'sweepFailedRun', 'run'],
      'failed',
    ],
    ['that fails in memory', [failed('Transient')], ['run'], 'failed'],
    [
      'that fails in the lake',
      [spilled(), failed('Transient'), nothing],
      ['run', 'phases', 'sweepFailedRun'],
      'failed',
    ],
    [
      'that cannot be discarded',
      [spilled(), failed('BrokenPromise'), failed('Lake')],
      ['run', 'phases', 'sweepFailedRun'],
      'failed',
    ],
    ['whose swap may arrive late', [spilled(), failed('Transient')], ['run', 'phases'], 'failed', 'publish'],
    [
      'whose swap is lost',
      [spilled(), failed('Displaced', { isOvertaken: true }), nothing],
      ['run', 'phases', 'sweepFailedRun'],
      'failed',
      'publish',
    ],
    ['that is refused', [failed('Refused')], ['run'], 'refused'],
    [
      'that is cancelled',
      [spilled(), failed('cancelled'), nothing],
      ['run', 'phases', 'sweepFailedRun'],
      'cancelled',
    ],
  ])('%s', (_, ends, calls, outcome, phase) => {
    const served = serve(idle(), runRequest({ nominalStart: NOW }), ends, phase);
    expect(served.calls).toEqual(calls);
    expect(served.report.outcome).toBe(outcome);
    expect(served.turn).toBeNull();
    expect(served.state.lastRun).toEqual(served.report);
    // A cancelled run says nothing of its resource.
    const alert = outcome === 'cancelled' ? [] : ['alert'];
    expect(served.decided.commands.map((one) => one.do)).toEqual(['count', ...alert, 'reply']);
    // The checkpoint moves only with `latest.json`.
    const moved = outcome === 'published' ? run(NOW).checkpoint : null;
    expect(served.state.checkpoint).toEqual(moved);
  });

  it.each([false, true])(
    'sweeps what other attempts and the run before it have left, with a table: %s',
    (table) => {
      const lastRun = { outcome: 'failed', runId: FIRST } as RunRecord;
      let decided = nextTurn(requested(idle({ lastRun }), runRequest()).mirror, AT)!;
      const { runId } = callOf(decided)!.input as { runId: RunId };
      const ends = [
        { result: inMemory(SECOND, { swept: 'to do', table }) },
        { result: { version: 1, warnings: [] } },
      ];
      for (const end of table ? ends : ends.slice(0, 1))
        decided = callEnded(decided.mirror, callOf(decided)!, end as CallEnd<CallName>, AT);
      expect(callOf(decided)).toMatchObject({
        name: 'worktrack.sweep',
        input: { runId: SECOND, publishedRunId: SECOND, replaced: [runId, FIRST], before: null },
      });
    },
  );

  it('begins again under another id of the request, and sweeps what the run had that could not be continued', () => {
    const request = runRequest({ mode: 'increment' });
    let decided = nextTurn(
      requested(idle({ sweepAt: { at: NOW + 1, before: null, refused: null } }), request).mirror,
      AT,
    )!;
    const { runId: first } = callOf(decided)!.input as RunInput;
    decided = callEnded(decided.mirror, callOf(decided)!, spilled() as CallEnd<CallName>, AT);
    const at = { now: NOW + HOUR_MS, random: () => 'ffffffff' };
    decided = callEnded(decided.mirror, callOf(decided)!, failed('Transient', { unread }), at);
    expect(callOf(decided)!.input).toMatchObject({ runId: first, staging: 'removed' });
    decided = callEnded(decided.mirror, callOf(decided)!, nothing as CallEnd<CallName>, at);
    const again = callOf(decided)!.input as RunInput;
    expect(haveSameRequest(again.runId, first)).toBe(true);
    expect(again).toMatchObject({
      ...{ startedAt: at.now, notContinued: { runId: first, ...unread } },
      sweep: { ended: [first], scope: 'all' },
    });
    expect(again.runId).not.toBe(first);
    const toSweep = { result: inMemory(again.runId, { swept: 'to do' }) } as CallEnd<CallName>;
    decided = callEnded(decided.mirror, callOf(decided)!, toSweep, at);
    expect(callOf(decided)!.input).toMatchObject({ replaced: [first] });
  });

  it('warns of what could not follow the published run, and keeps it for the next one', () => {
    const found = inMemory(FIRST, { table: true, onPublished, swept: 'to do' });
    const { report, state } = serve(idle(), runRequest(), [
      ...[{ result: found }, failed('Lake'), failed('Failed', { hookedTo: SECOND }), failed('Lake')],
    ]);
    expect(report.warnings.map(({ kind }) => kind)).toEqual([
      'table-behind',
      'hook-not-started',
      'sweep-failed',
    ]);
    expect(state.published?.tableWarning).toMatchObject({ kind: 'table-behind' });
    expect(state).toMatchObject({ hookedTo: SECOND, sweepAt: null });
    const next = serve(idle(state), runRequest(), [published]);
    expect(next.state).toMatchObject({ hookedTo: null, published: { tableWarning: null } });
  });

  it.each<[string, RunError['type'] | 'cancelled', NextPhase['phase'], boolean, boolean]>([
    ['keeps all that it has read', 'Transient', 'read', true, false],
    ['keeps what it has staged, and removes the rest', 'Configuration', 'merge', true, true],
    ['removes all if its pages may be wrong', 'BrokenPromise', 'read', false, true],
    ['removes all if it was cancelled', 'cancelled', 'read', false, true],
  ])('a run that fails in the lake %s', (_, type, phase, mayResume, isDiscarded) => {
    const ends = [spilled(), failed(type), ...(isDiscarded ? [nothing] : [])];
    const { calls, state, report } = serve(idle({ resumable: FIRST }), runRequest(), ends, phase);
    expect(calls.includes('sweepFailedRun')).toBe(isDiscarded);
    expect(state.resumable).toBe(mayResume ? report.runId : null);
  });

  it('leaves the pages of an earlier run to the next, if it fails in memory', () => {
    expect(serve(idle({ resumable: FIRST }), runRequest(), [failed('Lake')]).state.resumable).toBe(FIRST);
    expect(serve(idle({ resumable: FIRST }), runRequest(), [published]).state.resumable).toBeNull();
  });

  it('stays displaced from a lost swap until it publishes again', () => {
    const overtaken = [spilled(), failed('Displaced', { isOvertaken: true }), nothing];
    const { state } = serve(idle(), runRequest(), overtaken);
    expect(state.displaced).toBe(true);
    expect(serve(idle(state), runRequest(), [failed('Lake')]).state.displaced).toBe(true);
    expect(serve(idle(state), runRequest(), [published]).state.displaced).toBe(false);
  });

  it('changes nothing if it is a dry run, and removes its diff later', () => {
    const request = runRequest({ dryRun: { cells: 3 } });
    const dryRun = { diff: 'diff' as ObjectKey };
    const preview = { result: { kind: 'previewed', run: { counts: { rows: 3 }, warnings: [], dryRun } } };
    const { report, state, decided } = serve(idle(), request, [preview]);
    expect(report).toMatchObject({ outcome: 'would-publish', runId: null, rows: 3 });
    expect(state).toEqual(idle().state);
    expect(decided.commands.map((one) => one.do)).toEqual(['discard-later', 'reply']);
    const lost = serve(idle(), request, [failed('Transient'), nothing]);
    expect(lost.calls).toEqual(['run', 'sweepFailedRun']);
    expect(lost.state).toEqual(idle().state);
    expect(serve(idle(), request, [spilled(), preview]).calls).toEqual(['run', 'phases']);
  });

  it('gives way to any other request if it is a dry run', () => {
    const dry = nextTurn(requested(idle(), runRequest({ dryRun: {}, replyTo: 'export' })).mirror, AT)!;
    const same = requested(dry.mirror, runRequest({ dryRun: {} }));
    expect(same.commands).toEqual([]);
    const other = requested(same.mirror, runRequest());
    expect(other.commands).toEqual([{ do: 'cancel' }]);
    const discarding = callEnded(other.mirror, callOf(dry)!, failed('cancelled'), AT);
    const ended = callEnded(discarding.mirror, callOf(discarding)!, { result: undefined } as never, AT);
    expect(repliesOf(ended)[0]!.answer.report.error).toMatchObject({ type: 'GaveWay' });
  });

  it('requires a sweep an hour later if it is a purge, whatever its end', () => {
    const amended: RecordPurged = {
      published: null,
      checkpoint: null,
      purged: { snapshots: 1, changeLogs: 0 },
    };
    const purge: MirrorRequest = { kind: 'purge', requestId: 'p', replyTo: null, key: ['1'] };
    for (const end of [{ result: amended }, failed('Lake')]) {
      const { calls, state, decided } = serve(idle(), purge, [end]);
      expect(calls).toEqual(['purgeRecord']);
      expect(decided.commands.map((one) => one.do)).toEqual(['reply']);
      expect(state.lastRun).toBeNull();
      expect(untilSweep(state, NOW)).toBe(HOUR_MS);
      const timer = sweepDue(decided.mirror, NOW + HOUR_MS);
      const done = callEnded(timer.mirror, callOf(timer)!, swept as never, { ...AT, now: NOW + HOUR_MS });
      expect(callOf(done)).toBeNull();
      expect(untilSweep(done.mirror.state, NOW + HOUR_MS)).toBeNull();
    }
  });

  it('counts that hour from the end of the purge', () => {
    const purge: MirrorRequest = { kind: 'purge', requestId: 'p', replyTo: null, key: ['1'] };
    const begun = nextTurn(requested(idle(), purge).mirror, AT)!;
    expect(untilSweep(begun.mirror.state, NOW)).toBe(HOUR_MS);
    const result: RecordPurged = {
      published: null,
      checkpoint: null,
      purged: { snapshots: 1, changeLogs: 0 },
    };
    const { mirror } = callEnded(begun.mirror, callOf(begun)!, { result } as never, {
      ...AT,
      now: NOW + 5000,
    });
    expect(untilSweep(mirror.state, NOW)).toBe(HOUR_MS + 5000);
  });

  it('has the warning of an earlier sweep only until another one has tried again', () => {
    const refused = { refused: 2, said: '403 AccessDenied' };
    const mirror = serve(idle(), runRequest(), [toSweep, { result: { ...SWEPT, refused } }]);
    expect(mirror.report.warnings).toEqual([{ kind: 'not-removed', ...refused, from: 'lake' }]);
    const again = {
      result: inMemory(SECOND, { swept: 'to do', run: run(NOW, { warnings: mirror.report.warnings }) }),
    };
    expect(serve(idle(mirror.state), runRequest(), [again, swept]).report.warnings).toEqual([]);
    const none = { result: { ...again.result, swept: null } };
    expect(serve(idle(mirror.state), runRequest(), [none]).report.warnings).toEqual(mirror.report.warnings);
  });
});

const anySpec: fc.Arbitrary<object> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('run'), mode: fc.constantFrom('increment', 'full') }),
  },
  fc.constant({ kind: 'run', mode: 'increment', alertedBy: 'sender' }),
  fc.constant({ kind: 'run', dryRun: {} }),
  fc.record({ kind: fc.constant('rollback'), to: fc.constantFrom(FIRST, SECOND) }),
  fc.record({ kind: fc.constant('purge'), key: fc.constantFrom(['1'], ['2']) }),
);
const anyEvent = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constant('request' as const), spec: anySpec }) },
  fc.record({ what: fc.constantFrom('repeat' as const, 'withdraw' as const), which: fc.nat(20) }),
  {
    weight: 6,
    arbitrary: fc.record({ what: fc.constant('end' as const), how: fc.nat(9), ms: fc.nat(2 * HOUR_MS) }),
  },
);

/** An end of a call, as it may happen. */
function endOf({ name, input }: Call, how: number, now: number): object {
  if (how === 9) return failed('Transient', { unread });
  const newerId = `${new Date(now + 9000).toISOString().replace(/[-:]|\.\d+/g, '')}-00000009` as RunId;
  if (how < 3) return failed((['Transient', 'Lake', 'BrokenPromise'] as const)[how]!);
  if (how === 3) return failed('cancelled');
  if (how === 4) return failed('Failed', { newerId, isOvertaken: true });
  const { ref } = input as Partial<PhasesInput>;
  const { runId = ref?.runId, dryRun } = input as Partial<RunInput>;
  const previewed = { counts: { rows: 1 }, warnings: [], dryRun: { diff: how === 5 ? 'diff' : null } };
  const isDry = dryRun !== undefined || ref?.isDry === true;
  // As `hookedToOf` says: a dry run leaves it as it is.
  const { hookedTo = null } = isDry ? (input as Partial<RunInput>) : {};
  if (name === 'worktrack.run' && how < 7) return spilled({ hookedTo });
  if ((name === 'worktrack.run' || name === 'phases') && isDry)
    return { result: { kind: 'previewed', run: previewed } };
  const checkpoint = { updatedSince: new Date(now).toISOString() as UtcSeconds };
  const amended = { published: null, checkpoint, purged: { snapshots: 1, changeLogs: 1 } };
  const results: Partial<Record<CallName, unknown>> = {
    'worktrack.run': inMemory(runId!, { run: run(now), swept: how === 7 ? 'to do' : null, table: how === 8 }),
    phases: inMemory(runId!, {
      ...{ run: run(now), swept: 'to do', table: how === 6, onPublished: how === 6 ? onPublished : null },
    }),
    'worktrack.followTable': { version: 1, warnings: [] },
    'worktrack.followOnPublished': { hookedTo: runId, warnings: [] },
    'worktrack.sweep': SWEPT,
    'worktrack.purgeRecord': amended,
  };
  return { result: results[name] };
}

/** A mirror whose events come in any order, and what has been seen of it. */
class World {
  mirror = idle();
  now = NOW;
  call: Call | null = null;
  /** Requests, and the answers that each sending of them has got. */
  readonly sent = new Map<
    string,
    { request: MirrorRequest; answers: RunRecord[]; sendings: number; withdrawn: boolean }
  >();
  runs = 0;

  take(decided: Decided): void {
    const call = callOf(decided);
    // One run at a time: the next call is decided when the one before it has ended.
    if (call !== null) expect(this.call).toBeNull();
    this.call = call ?? this.call;
    this.#checkAlerts(decided);
    this.mirror = decided.mirror;
    for (const command of decided.commands) this.note(command);
    const { state, turn } = this.mirror;
    const ids = [...state.waiting, ...(turn?.batch.all ?? [])].map(({ requestId }) => requestId);
    expect(ids).toEqual([...new Set(ids)]);
    if (turn !== null)
      expect(turn.batch.all.map(({ requestId }) => requestId)).toEqual(
        expect.arrayContaining([...turn.wanted]),
      );
  }

  /** Someone reports each run that has published or failed: a sender that still waits, or else the mirror. */
  #checkAlerts({ commands }: Decided): void {
    const alerts = commands.filter((command) => command.do === 'alert').length;
    const ended = commands.find((command) => command.do === 'count')?.report.outcome ?? 'cancelled';
    const { batch, wanted = [] } = this.mirror.turn ?? {};
    const senders = batch?.all.filter((one) => one.kind === 'run' && one.alertedBy === 'sender') ?? [];
    const isReported = senders.some(({ requestId }) => wanted.includes(requestId));
    expect(alerts).toBe(ended === 'cancelled' || isReported ? 0 : 1);
  }

  note(command: Command): void {
    if (command.do === 'cancel') expect(this.call).not.toBeNull();
    if (command.do === 'reply') this.sent.get(command.answer.requestId)!.answers.push(command.answer.report);
    if (command.do === 'count') this.runs++;
  }

  request(request: MirrorRequest): void {
    const known = this.sent.get(request.requestId);
    const sendings = (known?.sendings ?? 0) + 1;
    this.sent.set(request.requestId, { request, answers: known?.answers ?? [], sendings, withdrawn: false });
    this.take(requested(this.mirror, request));
  }

  withdraw(requestId: string): void {
    const one = this.sent.get(requestId)!;
    const isWaiting = this.mirror.state.waiting.some((request) => request.requestId === requestId);
    this.sent.set(requestId, { ...one, withdrawn: isWaiting || one.withdrawn });
    this.take(withdrawn(this.mirror, requestId));
    expect(this.mirror.state.waiting.map((request) => request.requestId)).not.toContain(requestId);
  }

  /** Ends the call in progress, or begins the next turn. */
  step(how: number): void {
    const { call } = this;
    const { state } = this.mirror;
    if (call === null) {
      this.begin();
      return;
    }
    this.call = null;
    const isDry =
      call.name !== 'worktrack.sweepFailedRun' &&
      this.mirror.turn?.batch.first.kind === 'run' &&
      'dryRun' in this.mirror.turn.batch.first;
    this.take(callEnded(this.mirror, call, endOf(call, how, this.now) as CallEnd<CallName>, this.at()));
    // The checkpoint moves with the pointer only, and a dry run changes nothing.
    const mayMove = ['worktrack.run', 'phases', 'worktrack.purgeRecord'].includes(call.name) && how > 4;
    if (!mayMove || isDry) expect(this.mirror.state.checkpoint).toEqual(state.checkpoint);
    if (isDry) expect(this.mirror.state).toEqual(state);
  }

  begin(): void {
    const { state } = this.mirror;
    const sweepIn = untilSweep(state, this.now);
    if (sweepIn !== null && sweepIn <= 1) {
      this.take(sweepDue(this.mirror, this.now));
      return;
    }
    this.now += untilTurn(state, this.now);
    const turn = nextTurn(this.mirror, this.at());
    if (turn === null) return;
    const withdrawnIds = [...this.sent].filter(([, one]) => one.withdrawn).map(([id]) => id);
    for (const { requestId } of turn.mirror.turn!.batch.all) expect(withdrawnIds).not.toContain(requestId);
    const { runId, publishedRunId } = callOf(turn)!.input as { runId: RunId; publishedRunId: RunId | null };
    // Run ids are in the order of publishing, and each call names the run that the mirror has published.
    expect(publishedRunId).toBe(state.published?.runId ?? null);
    if (state.published !== null) expect(beganAfter(runId, state.published.runId)).toBe(true);
    if (state.lastRun?.runId) expect(beganAfter(runId, state.lastRun.runId)).toBe(true);
    this.take(turn);
  }

  at() {
    return { now: this.now, random: () => '0a0b0c0d' };
  }
}

describe('a mirror, whatever happens and in any order', () => {
  it('has one call at a time, answers each request once, and runs none that was withdrawn', () => {
    const totals = { runs: 0, answers: 0, withdrawn: 0 };
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60, size: 'max' }), (events) => {
        const world = new World();
        const pick = (which: number) =>
          [...world.sent.values()].at(which % Math.max(1, world.sent.size))?.request;
        for (const event of events) {
          if (event.what === 'request')
            world.request({
              ...runRequest(),
              nominalStart: NOW,
              ...event.spec,
              requestId: `r${world.sent.size}`,
              replyTo: 'w',
            } as MirrorRequest);
          else if (event.what === 'end') {
            world.now += event.ms;
            world.step(event.how);
          } else {
            const request = pick(event.which);
            if (request === undefined) continue;
            if (event.what === 'repeat') world.request(request);
            else world.withdraw(request.requestId);
          }
        }
        for (let turns = 0; world.call !== null || world.mirror.state.waiting.length > 0; turns++) {
          expect(turns).toBeLessThan(2000);
          world.step(9);
        }
        for (const { answers, sendings, withdrawn: isWithdrawn } of world.sent.values()) {
          totals.answers += answers.length;
          totals.withdrawn += isWithdrawn ? 1 : 0;
          if (!isWithdrawn) expect(answers.length).toBeGreaterThan(0);
          if (sendings === 1) expect(answers.length).toBe(isWithdrawn ? 0 : 1);
          expect(answers.length).toBeLessThanOrEqual(sendings);
        }
        expect(world.mirror.turn).toBeNull();
        totals.runs += world.runs;
      }),
      { numRuns: rounds(150) },
    );
    expect(Math.min(...Object.values(totals))).toBeGreaterThan(10);
  });

  it('answers a repeated request as before, without a second run', () => {
    const request = runRequest({ replyTo: 'export' });
    const { report, decided } = serve(idle(), request, [published]);
    const again = requested(decided.mirror, { ...request, replyTo: 'other' });
    expect(again.commands).toEqual([
      { do: 'reply', to: 'other', answer: { requestId: request.requestId, report } },
    ]);
    expect(again.mirror.state.waiting).toEqual([]);
  });

  it('cancels a run when the last of its senders no longer waits, unless one of them asks again', () => {
    const [one, two] = [runRequest(), runRequest()];
    const waiting = requested(requested(idle(), one).mirror, two).mirror;
    const { mirror } = nextTurn(waiting, AT)!;
    const first = withdrawn(mirror, one.requestId);
    expect(first.commands).toEqual([]);
    expect(withdrawn(first.mirror, one.requestId).commands).toEqual([]);
    expect(withdrawn(first.mirror, two.requestId).commands).toEqual([{ do: 'cancel' }]);
    const again = requested(first.mirror, one).mirror;
    expect(withdrawn(again, two.requestId).commands).toEqual([]);
  });
});
