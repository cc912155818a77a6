import { randomBytes } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { ExportResult } from '../../../src/core/contract.js';
import type { Random } from '../../support/random.js';
import { resultOf } from '../../support/stack.js';
import { MOMENTS, type Moment, RunWatch } from './moments.js';
import { patiently } from './patience.js';
import type { World } from './world.js';
import { calendarWriteBack, timeEntriesWriteBack } from './write-backs.js';

/** Something that is under way when things are killed. More kinds of it go into the table below. */
export interface Operation {
  readonly name: string;
  /** How far it may be when something is killed. */
  readonly moments: readonly string[];
  /** Whether everything that the service holds is in the lake afterwards. */
  readonly mirrorsAll: boolean;
  /** Draws what exactly is to be done; begins nothing. */
  prepare(world: World, random: Random): Promise<Undertaking>;
}

/** One operation that was drawn. */
export interface Undertaking {
  /** Asks for it and waits for its end, whatever is away meanwhile. Throws when it did not end well. */
  run(): Promise<void>;
  /** Whether it has come so far; asked while it runs, and must not disturb it. */
  reached(moment: string): Promise<boolean>;
  /** Holds what has come of it against what was asked for, when everything is up again. */
  check(): Promise<void>;
}

export const OPERATIONS: readonly Operation[] = [
  mirroring('export', 'exportWorkflow', {}),
  mirroring('full export', 'exportWorkflow', { full: true }),
  mirroring('backfill', 'backfillWorkflow', {}),
  mirroring('reconcile', 'backfillWorkflow', { reconcile: true }),
  timeEntriesWriteBack,
  calendarWriteBack,
];

/** Brings everything into the lake. @throws Error when it is not published */
export function exportAll(world: World): Promise<void> {
  return published(world, 'exportWorkflow', {});
}

/** What reads the service; `checkMirrored` sees what has come of it. */
function mirroring(name: string, workflow: string, input: object): Operation {
  return {
    name,
    moments: MOMENTS,
    mirrorsAll: true,
    async prepare(world, random) {
      const watch = new RunWatch(world.lakeFolder, random.pick(world.resources));
      await watch.begin();
      return {
        run: () => published(world, workflow, input),
        reached: (moment) => watch.reached(moment as Moment),
        check: async () => {},
      };
    },
  };
}

async function published(world: World, workflow: string, input: object): Promise<void> {
  const workflowId = `${workflow}-${randomBytes(4).toString('hex')}`;
  const { client } = world.temporal;
  await patiently(async () => {
    const args = [{ connection: world.connection, ...input }];
    try {
      await client.workflow.start(workflow, { workflowId, taskQueue: world.taskQueue, args });
    } catch (error) {
      // The start before this one got through after all.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  });
  const result = await patiently(
    () => client.workflow.getHandle(workflowId).result() as Promise<ExportResult>,
  ).catch(resultOf);
  if (result.outcome !== 'published') throw new Error(`${workflow}: ${JSON.stringify(result.runs)}`);
}
