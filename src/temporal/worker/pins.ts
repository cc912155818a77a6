import { AsyncLocalStorage } from 'node:async_hooks';
import type { OpenConnection } from '../../../activities/index.js';
import { HOUR_MS } from '../../core/duration.js';

/** The connections that one run, batch or single activity uses, even after the configuration has changed. */
interface Pin {
  readonly connections: Map<string, OpenConnection>;
  /** Number of its activities in progress. */
  running: number;
  /** When the last of its activities ended, milliseconds since 1970. */
  idleSince: number;
}

/** The part of an activity's input that names its run or batch. */
interface Input {
  readonly connection?: unknown;
  readonly resource?: unknown;
  readonly runId?: unknown;
  readonly batchId?: unknown;
}

/** A run starts with this activity. Until it succeeds, each attempt takes the current configuration. */
const FIRST: readonly string[] = ['worktrack.prepareRun', 'worktrack.planWriteBack'];
const LAST: readonly string[] = ['worktrack.sweep', 'worktrack.discardRun', 'worktrack.writeResults'];
/** These need no other activity's configuration, and a run can be over, or have only this activity. They open no pin. */
const ALONE: readonly string[] = [
  ...['worktrack.shortRun', 'worktrack.reportAlerts', 'worktrack.watch', 'worktrack.notify'],
  ...['worktrack.purgeRecord', 'worktrack.followTable'],
  ...LAST,
];
/** No activity of a run waits longer than `retries.giveUpAfter`, and most configurations have less than this. */
const MIN_KEPT_MS = 24 * HOUR_MS;

/**
 * Keeps the configuration of each run until its end (docs/explanation/how-it-works.md#components). All activities of a run
 * in this process share a pin. A run that ends without its last activity loses its pin when it has been idle for longer
 * than any retry waits.
 */
export class Pins {
  readonly #current = new AsyncLocalStorage<Pin>();
  readonly #ofRuns = new Map<string, Pin>();
  /** Of activities that belong to no run, while they are in progress. */
  readonly #others = new Set<Pin>();
  /** When idle runs were last looked for, milliseconds since 1970. */
  #lastRemoval = 0;

  /** @param now milliseconds since 1970 */
  constructor(private readonly now: () => number) {}

  /** Runs an activity, or other work that uses connections, with the pin of its run. */
  async during<T>(activityType: string, input: unknown, work: () => Promise<T>): Promise<T> {
    this.#removeIdle();
    const id = idOf(input);
    const pin = this.#pinOf(activityType, id);
    pin.running++;
    try {
      const result = await this.#current.run(pin, work);
      if (id !== null && LAST.includes(activityType)) this.#ofRuns.delete(id);
      return result;
    } finally {
      pin.running--;
      pin.idleSince = this.now();
      this.#others.delete(pin);
    }
  }

  /** The connection of the current run, which `open` provides on first use. */
  connection(name: string, open: () => OpenConnection): OpenConnection {
    const pin = this.#current.getStore();
    const connection = pin?.connections.get(name) ?? open();
    pin?.connections.set(name, connection);
    return connection;
  }

  /** The connections of all pins. */
  used(): Set<OpenConnection> {
    const pins = [...this.#ofRuns.values(), ...this.#others];
    return new Set(pins.flatMap(({ connections }) => [...connections.values()]));
  }

  #pinOf(activityType: string, id: string | null): Pin {
    const known = id === null || FIRST.includes(activityType) ? undefined : this.#ofRuns.get(id);
    if (known !== undefined) return known;
    const pin = { connections: new Map(), running: 0, idleSince: 0 };
    if (id === null || ALONE.includes(activityType)) this.#others.add(pin);
    else this.#ofRuns.set(id, pin);
    return pin;
  }

  /** Looks at all runs at most once an hour, because a worker can have thousands of them. */
  #removeIdle(): void {
    if (this.now() - this.#lastRemoval < HOUR_MS) return;
    this.#lastRemoval = this.now();
    for (const [id, { running, idleSince, connections }] of this.#ofRuns) {
      const waits = [...connections.values()].map(({ settings }) => 2 * settings.retries.giveUpAfterMs);
      if (running === 0 && this.now() - idleSince > Math.max(MIN_KEPT_MS, ...waits)) this.#ofRuns.delete(id);
    }
  }
}

function idOf(input: unknown): string | null {
  const { connection, resource, runId, batchId } = (input ?? {}) as Input;
  const run = runId ?? batchId;
  return typeof connection === 'string' && typeof run === 'string'
    ? JSON.stringify([connection, resource ?? null, run])
    : null;
}
