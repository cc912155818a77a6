import { randomBytes } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError, WorkflowFailedError } from '@temporalio/client';
import type { ExportResult } from '../../../src/core/contract.js';
import { resultOf } from '../../support/stack.js';
import type { World } from './world.js';

/** Something that is under way when things are killed. More kinds of it go into the table below. */
export interface Operation {
  readonly name: string;
  /** Asks for it and waits for its end, whatever is away meanwhile. Throws when it did not end well. */
  run(world: World): Promise<void>;
}

const PATIENCE_MS = 240_000;

export const OPERATIONS: readonly Operation[] = [
  { name: 'export', run: (world) => published(world, 'exportWorkflow', {}) },
  { name: 'full export', run: (world) => published(world, 'exportWorkflow', { full: true }) },
  { name: 'backfill', run: (world) => published(world, 'backfillWorkflow', {}) },
  { name: 'reconcile', run: (world) => published(world, 'backfillWorkflow', { reconcile: true }) },
];

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

/** Asks Temporal again and again while it is away. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const late = new Promise<never>((_, reject) =>
      setTimeout(() => reject(new Error(`no end within ${PATIENCE_MS} ms`)), deadline - Date.now()).unref(),
    );
    try {
      return await Promise.race([ask(), late]);
    } catch (error) {
      if (error instanceof WorkflowFailedError || Date.now() >= deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
