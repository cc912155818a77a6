import type { EpochMs } from '../../core/brands.js';
import { DAY_MS } from '../../core/duration.js';
import { errorMessage } from '../../core/errors.js';
import { allDone } from '../../core/in-parallel.js';
import {
  addRemovals,
  type ConditionalWrites,
  collected,
  conditionProblem,
  type ObjectStore,
  PROBES,
  type Removal,
  type StoreLogger,
  tryConditionalWrites,
} from '../../lake/store/index.js';
import type { OpenConnection } from '../deps.js';
import { finalFailure } from '../failures.js';

/** The trial of each connection of this process. Its store is another object after it was idle. */
const trials = new WeakMap<OpenConnection, Trial>();

interface Trial {
  readonly answer: Promise<ConditionalWrites>;
  /** Settles when probe objects are removed. Never fails. */
  readonly removed: Promise<unknown>;
}

/** An older probe object was left by a worker that died during the probe. One day allows for clocks that differ. */
const OLD_MS = DAY_MS;

interface TrialOptions {
  readonly now: () => EpochMs;
  readonly logger: StoreLogger;
}

/**
 * The trial of the conditional writes of a lake, as one run sees it. On a store that ignores their conditions, two concurrent
 * runs could both swap the pointer, and one of them would be lost without an error
 * (docs/explanation/how-it-works.md#atomic-publishing). A store is tried once per connection and worker process, while the run
 * reads its first pages: each answer of a distant store takes long.
 */
export class WriteTrial {
  /** The lake as the run sees it: nothing is written or removed before the store has passed. */
  readonly store: ObjectStore;
  #trial: Trial | null = null;

  constructor(
    private readonly connection: OpenConnection,
    private readonly options: TrialOptions,
  ) {
    this.store = onlyAfter(connection.store, () => this.passed());
  }

  /** Begins the trial, if none was made. It writes to the lake. */
  begin(): void {
    this.#trial ??= trials.get(this.connection) ?? begin(this.connection, this.options);
  }

  /** Waits until the store has passed. @throws a final failure `Configuration`, if it has not */
  async passed(): Promise<void> {
    this.begin();
    const problem = conditionProblem(await this.#trial!.answer);
    if (problem === null) return;
    throw finalFailure(
      'Configuration',
      `${this.store.url}: ${problem}, so a snapshot cannot be published safely. Nothing was written. Use AWS S3, another ` +
        'store with conditional writes, or a newer version of this one. If there is a proxy, check that it passes these headers on.',
    );
  }

  /** Waits for the end of a trial that was begun, and throws what `passed` does. */
  async ended(): Promise<void> {
    if (this.#trial === null) return;
    await this.#trial.removed;
    await this.passed();
  }
}

function begin(connection: OpenConnection, { now, logger }: TrialOptions): Trial {
  const { store } = connection;
  const { answer, removed } = tryConditionalWrites(store);
  const warn = (error: string | null): void =>
    logger.warn('probe objects of the lake could not be removed', { error });
  const removals = allDone([removed, removeOld(store, now())]).then(
    (ends) => {
      const { refused, said } = addRemovals(...ends);
      if (refused > 0) warn(said);
    },
    (error: unknown) => warn(errorMessage(error)),
  );
  const trial = { answer, removed: removals };
  trials.set(connection, trial);
  // The next run tries again: the store may have been repaired, or the error says nothing about conditional writes.
  const forget = (): unknown => trials.delete(connection);
  answer.then((found) => conditionProblem(found) !== null && forget(), forget);
  return trial;
}

async function removeOld(store: ObjectStore, now: number): Promise<Removal> {
  const old = (await collected(store.list(PROBES))).filter(({ modifiedAt }) => now - modifiedAt > OLD_MS);
  return store.remove(old.map(({ key }) => key));
}

/** A store whose writes and removals wait. */
function onlyAfter(store: ObjectStore, passed: () => Promise<void>): ObjectStore {
  const later =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await passed();
      return work(...args);
    };
  return {
    ...store,
    write: later(store.write),
    openWriter(key, options) {
      const writer = store.openWriter(key, options);
      return {
        get bytes() {
          return writer.bytes;
        },
        write: later((chunk, crc32) => writer.write(chunk, crc32)),
        finish: later(() => writer.finish()),
        abort: () => writer.abort(),
      };
    },
    swap: later(store.swap),
    copy: later(store.copy),
    remove: later(store.remove),
    abortUploads: later(store.abortUploads),
  };
}
