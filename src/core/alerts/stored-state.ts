/**
 * The state of the workflow that sends alerts as one history passes it to the next. Temporal terminates a workflow that
 * continues as new with more than 2 MiB, and every alert would be lost with it. So equal parts are stored once, what follows
 * from other parts is left out, and the whole has a limit in bytes. Pure: the workflow sandbox imports this file.
 */

import type { EpochMs } from '../brands.js';
import type {
  AlertProblem,
  AlertsConnection,
  AlertsState,
  AlertTarget,
  AlertTargetState,
} from '../contract/alerts.js';
import { groupBy } from '../group-by.js';
import { jsonBytes } from '../text-budget.js';
import { stillSeen } from './message-rules.js';

const MAX_STORED_BYTES = 1.5 * 1024 * 1024;

/** What problems of many connections have in common. Fields of other builds stay. */
type Common = Omit<AlertProblem, 'connection' | 'text' | 'since' | 'overAt'>;

/** Places in `StoredAlerts.common` and `texts`, and times. */
type StoredProblem = readonly [common: number, text: number, since: EpochMs, overAt?: EpochMs];

/** A place in `StoredAlerts.targets`, and what is known of the connection. */
type StoredConnection = readonly [
  targets: number,
  checkAt: EpochMs | null,
  pausedAt: EpochMs,
  /** Each time with the places in `StoredAlerts.seen` that have it. */
  seen: readonly (readonly [asOf: EpochMs, ...of: number[]])[],
  problems: readonly StoredProblem[],
];

/** An `AlertsState` while no message is being sent. */
export interface StoredAlerts {
  /** What targets ask for. */
  readonly asked: readonly Omit<AlertTarget, 'id'>[];
  /** Lists of targets. The numbers are places in `asked`. */
  readonly targets: readonly (readonly (readonly [id: string, asked: number])[])[];
  /** What is known of targets, by id. */
  readonly times: Readonly<
    Record<string, readonly [quietUntil: EpochMs, remindAt: EpochMs, retryAt: EpochMs]>
  >;
  readonly seen: readonly string[];
  readonly common: readonly Common[];
  readonly texts: readonly string[];
  readonly stored: Readonly<Record<string, StoredConnection>>;
  /** When something was last left out, and the log says so. Absent: never. */
  readonly cutAt?: EpochMs;
}

/** What an earlier history, or an earlier build, has left. */
export function restoredAlerts(initial: AlertsState | StoredAlerts): AlertsState {
  if (!('stored' in initial)) return initial;
  const { asked, times, seen: keys, common, texts } = initial;
  const lists = initial.targets.map((list) => list.map(([id, at]): AlertTarget => ({ id, ...asked[at]! })));
  const restored = ([list, checkAt, pausedAt, seen, problems]: StoredConnection, connection: string) => ({
    ...{ targets: lists[list]!, checkAt, pausedAt },
    problems: problems.map(([of, text, since, overAt]) => ({
      ...{ ...common[of]!, connection, text: texts[text]!, since },
      ...(overAt !== undefined && { overAt }),
    })),
    seen: Object.fromEntries(seen.flatMap(([asOf, ...of]) => of.map((at) => [keys[at]!, asOf]))),
  });
  const connections = mapped(initial.stored, restored);
  const targets = lists.flat().map(({ id, incidents }): [string, AlertTargetState] => {
    const [quietUntil, remindAt, retryAt] = times[id] ?? [0, 0, 0];
    return [id, { incidents, quietUntil, remindAt, retryAt }];
  });
  return { connections, targets: Object.fromEntries(targets) };
}

/** What the next history gets. */
interface Stored {
  readonly stored: StoredAlerts;
  /** What was left out to keep the limit, in words for the log. */
  readonly left: readonly string[];
}

/**
 * A state while no message is being sent, in at most `maxBytes` of JSON. If it has more, it loses the texts, then the times
 * that recognize reports that come late, then the newest problems that no target has heard of, then connections without
 * problems; the next report of a connection has what lasts. A problem that a target has heard of stays, so that it hears of the
 * end. The rules keep at most 3,000 problems.
 */
export function storedAlerts(state: AlertsState, now: EpochMs, maxBytes = MAX_STORED_BYTES): Stored {
  const left = new Set<string>();
  let kept = state;
  let stored = pack(kept, now);
  for (const [what, without] of REDUCTIONS)
    while (jsonBytes(stored) > maxBytes) {
      const less = without(kept);
      if (less === kept) break;
      kept = less;
      stored = pack(kept, now);
      left.add(what);
    }
  return { stored, left: [...left] };
}

/** Each is repeated until it changes nothing. */
const REDUCTIONS: readonly (readonly [what: string, without: (state: AlertsState) => AlertsState])[] = [
  ['texts', withoutTexts],
  ['times of reports', withoutSeen],
  ['the newest problems', withoutNewest],
  ['connections without problems', withoutQuiet],
];

function withoutTexts(state: AlertsState): AlertsState {
  if (problemsOf(state).every(({ text }) => text === '')) return state;
  return withEach(state, (entry) => ({
    ...entry,
    problems: entry.problems.map((problem) => ({ ...problem, text: '' })),
  }));
}

function withoutSeen(state: AlertsState): AlertsState {
  if (Object.values(state.connections).every(({ seen = {} }) => Object.keys(seen).length === 0)) return state;
  return withEach(state, (entry) => ({ ...entry, seen: {} }));
}

/** Without the newer half of the problems that no target has heard of. */
function withoutNewest(state: AlertsState): AlertsState {
  const unknown = problemsOf(state)
    .filter(isUnknown)
    .sort((a, b) => a.since - b.since);
  if (unknown.length === 0) return state;
  const dropped = new Set(unknown.slice(Math.floor(unknown.length / 2)));
  return withEach(state, (entry) => ({
    ...entry,
    problems: entry.problems.filter((problem) => !dropped.has(problem)),
  }));
}

function isUnknown({ told }: AlertProblem): boolean {
  return Object.keys(told).length === 0;
}

function withoutQuiet(state: AlertsState): AlertsState {
  const entries = Object.entries(state.connections);
  const loud = entries.filter(([, { problems }]) => problems.length > 0);
  return loud.length === entries.length ? state : { ...state, connections: Object.fromEntries(loud) };
}

function problemsOf({ connections }: AlertsState): AlertProblem[] {
  return Object.values(connections).flatMap(({ problems }) => problems);
}

function withEach(state: AlertsState, change: (entry: AlertsConnection) => AlertsConnection): AlertsState {
  return { ...state, connections: mapped(state.connections, change) };
}

function mapped<A, B>(
  values: Readonly<Record<string, A>>,
  change: (value: A, name: string) => B,
): Record<string, B> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
}

function pack(state: AlertsState, now: EpochMs): StoredAlerts {
  const asked = new Places<Omit<AlertTarget, 'id'>>();
  const targets = new Places<StoredAlerts['targets'][number]>();
  const seen = new Places<string>();
  const common = new Places<Common>();
  const texts = new Places<string>();
  const stored = mapped(state.connections, (entry): StoredConnection => {
    const list = entry.targets.map(({ id, ...one }) => [id, asked.of(one)] as const);
    const problems = entry.problems.map(
      ({ connection: _, text, since, overAt, ...one }): StoredProblem =>
        overAt === undefined
          ? [common.of(one), texts.of(text), since]
          : [common.of(one), texts.of(text), since, overAt],
    );
    const times = groupBy(stillSeen(entry.seen, now), ([, asOf]) => String(asOf));
    return [
      ...([targets.of(list), entry.checkAt, entry.pausedAt] as const),
      [...times].map(([asOf, keys]) => [Number(asOf), ...keys.map(([key]) => seen.of(key))] as const),
      problems,
    ];
  });
  const times = Object.entries(state.targets)
    .map(([id, { quietUntil, remindAt, retryAt }]) => [id, [quietUntil, remindAt, retryAt] as const] as const)
    .filter(([, all]) => all.some((time) => time !== 0));
  return {
    ...{ asked: asked.values, targets: targets.values, times: Object.fromEntries(times) },
    ...{ seen: seen.values, common: common.values, texts: texts.values, stored },
  };
}

/** Different values. Equal ones have the same place. */
class Places<T> {
  readonly values: T[] = [];
  readonly #places = new Map<string, number>();

  of(value: T): number {
    const key = JSON.stringify(value);
    const place = this.#places.get(key) ?? this.values.push(value) - 1;
    this.#places.set(key, place);
    return place;
  }
}
