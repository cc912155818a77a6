import type { Random } from '../../support/random.js';
import { purge, rollback, takeOver } from './amendments.js';
import { LONG_MOMENTS, MOMENTS, type Moment, RunWatch, SPILLED } from './moments.js';
import { published } from './published.js';
import type { World } from './world.js';
import { calendarWriteBack, timeEntriesWriteBack } from './write-backs.js';

/** An operation that is in progress when processes are killed. Add new kinds to the table below. */
export interface Operation {
  readonly name: string;
  /** The points where a process may be killed. */
  readonly moments: readonly string[];
  /** Whether the lake has all records of the service afterwards. */
  readonly mirrorsAll: boolean;
  /** Chooses the details of the operation, which is to reach the moment. Starts nothing. */
  prepare(world: World, random: Random, moment: string): Promise<PreparedOperation>;
}

/** A chosen operation that can be run. */
export interface PreparedOperation {
  /** Runs the operation to its end, even if servers are down in between. Throws when it fails. */
  run(): Promise<void>;
  /** Whether the operation has reached this point. Called while it runs, so it must not slow it down. */
  reached(moment: string): Promise<boolean>;
  /** Compares the result with the request, when all processes are running again. */
  check(): Promise<void>;
}

export const OPERATIONS: readonly Operation[] = [
  mirroring('export', 'exportWorkflow', {}),
  mirroring('full export', 'exportWorkflow', { full: true }),
  mirroring('backfill', 'backfillWorkflow', {}),
  mirroring('reconcile', 'backfillWorkflow', { reconcile: true }),
  timeEntriesWriteBack,
  calendarWriteBack,
  rollback,
  purge,
  takeOver,
];

/** Operations that read a list whose chunks overlap. */
export const LONG_OPERATIONS: readonly Operation[] = [
  mirroring('full export', 'exportWorkflow', { full: true }, LONG_MOMENTS),
  mirroring('reconcile', 'backfillWorkflow', { reconcile: true }, LONG_MOMENTS),
];

/** Exports everything. @throws Error when a resource is not published */
export function exportAll(world: World): Promise<void> {
  return published(world, 'exportWorkflow', {});
}

/** Of the runs that are not killed in the lake. */
const SPILLED_SHARE = 0.2;

/** Lets the service demand a wait for the second page, so no run stays in memory. */
async function letWait(world: World, resource: string): Promise<void> {
  const fault = { kind: 'status', status: 429, retryAfter: 6 };
  await world.control('POST', 'faults', { match: { resource, page: 1 }, remaining: 1, fault });
}

/** An operation that reads the service. `checkMirrored` checks its result. */
function mirroring(
  name: string,
  workflow: string,
  input: object,
  moments: readonly Moment[] = MOMENTS,
): Operation {
  return {
    name,
    moments,
    mirrorsAll: true,
    async prepare(world, random, moment) {
      const resource = random.pick(world.resources);
      const watch = new RunWatch(world.lakeFolder, resource);
      await watch.begin();
      if (SPILLED.includes(moment) || random.share() < SPILLED_SHARE) await letWait(world, resource);
      return {
        run: () => published(world, workflow, input),
        reached: (moment) => watch.reached(moment as Moment),
        check: async () => {},
      };
    },
  };
}
