import { expect } from 'vitest';
import type { AlertEvent, ProblemKind } from '../../../src/core/alerts/index.js';
import {
  alertBegun,
  alertSent,
  type DueAlert,
  newAlerts,
  nextAlerts,
  reported,
} from '../../../src/core/alerts/message-rules.js';
import { restoredAlerts, storedAlerts } from '../../../src/core/alerts/stored-state.js';
import type { AlertReport, AlertsState, Observation } from '../../../src/core/contract/index.js';

export const START = Date.parse('2026-11-01T02:00:00Z');
export const FAILED: readonly ProblemKind[] = ['failure', 'check', 'deletes-held'];
export const ALL: readonly AlertEvent[] = [
  'failure',
  'recovery',
  'stale',
  'check',
  'warning',
  'schema-change',
  'rows-not-written',
  'deletes-held',
  'behind',
];

/** What a target has received, and when. */
interface Received {
  readonly at: number;
  readonly target: string;
  readonly kind: string;
  readonly event: AlertEvent;
  readonly news: readonly string[];
  readonly over: readonly string[];
  readonly still: readonly string[];
}

interface TestTarget {
  readonly id: string;
  readonly on?: readonly AlertEvent[];
  readonly incidents?: boolean;
}

/** Runs the rules by a separate clock. Each message is sent as soon as it is due, and arrives immediately unless it is held. */
export class World {
  state: AlertsState = newAlerts();
  now = START;
  readonly received: Received[] = [];
  /** The outcome of the next messages; then all are sent. */
  readonly outcomes: ('sent' | 'failed' | 'gone')[] = [];
  isHeld = false;
  readonly #held: DueAlert[] = [];

  constructor(
    readonly targets: readonly TestTarget[] = [{ id: 'slack' }],
    readonly resources: readonly string[] = ['tasks', 'projects'],
  ) {}

  report(connection: string, observations: readonly Observation[], more: Partial<AlertReport> = {}): void {
    this.state = reported(
      this.state,
      {
        connection,
        targets: this.targets.map(({ id, on = ALL, incidents = false }) => ({ id, on, incidents })),
        resources: this.resources,
        observations,
        ...more,
      },
      this.now,
    );
    this.#send();
  }

  failed(
    connection: string,
    resource = 'tasks',
    kind: ProblemKind = 'failure',
    more: Partial<AlertReport> = {},
  ) {
    const problems = [{ kind, mark: kind, text: 'no answer' }];
    this.report(connection, [{ resource, covers: FAILED, problems }], more);
  }

  published(connection: string, resource = 'tasks', problems: Observation['problems'] = []): void {
    const covers = [...FAILED, 'stale', 'warning', 'schema-change'] as const;
    this.report(connection, [{ resource, covers, problems }]);
  }

  /** Lets time pass, with a look whenever one is due. */
  pass(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const { at } = nextAlerts(this.state, this.now);
      if (at === null || at > end) break;
      this.now = at;
      this.#send();
    }
    this.now = end;
  }

  #send(): void {
    for (let rounds = 0; ; rounds++) {
      expect(rounds).toBeLessThan(10_000);
      const { due } = nextAlerts(this.state, this.now);
      if (due.length === 0) return;
      for (const one of due) {
        this.state = alertBegun(this.state, one);
        if (this.isHeld) this.#held.push(one);
        else this.#arrive(one);
      }
    }
  }

  /** Continues in a new history, once the messages that are held have arrived. @param maxBytes of the state */
  continueAsNew(maxBytes?: number): string[] {
    this.release();
    const { stored, left } = storedAlerts(this.state, this.now, maxBytes);
    this.state = restoredAlerts(JSON.parse(JSON.stringify(stored)) as typeof stored);
    return [...left];
  }

  /** Lets the messages that are held arrive, and those after them immediately. */
  release(): void {
    this.isHeld = false;
    for (const one of this.#held.splice(0)) this.#arrive(one);
    this.#send();
  }

  #arrive(one: DueAlert): void {
    const outcome = this.outcomes.shift() ?? 'sent';
    const { target, kind, event, news, over, still } = one.message;
    const names = (groups: typeof news): string[] =>
      groups.groups.map((group) => `${group.connection} ${group.event} ${group.resources.join('+')}`);
    if (outcome === 'sent')
      this.received.push({
        ...{ at: this.now, target, kind, event },
        ...{ news: names(news), over: names(over), still: names(still) },
      });
    this.state = alertSent(this.state, one, outcome, this.now);
  }

  /** What was received since the last call: the kind of each message and its subjects. */
  take(): string[] {
    return this.received
      .splice(0)
      .map(({ kind, event, news, over, still }) =>
        [kind, event, ...news.map((one) => `+${one}`), ...over.map((one) => `-${one}`), ...still].join(' | '),
      );
  }
}
