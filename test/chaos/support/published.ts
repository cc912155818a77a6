import { randomBytes } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { ExportResult } from '../../../src/core/contract/index.js';
import type { TemporalClient } from '../../../src/temporal/client/connect.js';
import { resultOf } from '../../support/stack.js';
import { retryWhileDown } from './retry-while-down.js';
import type { World } from './world.js';

/** Starts a workflow and waits for its result, even if servers are down in between. */
export async function runToEnd(
  world: World,
  workflow: string,
  input: object,
  temporal: TemporalClient = world.temporal,
): Promise<ExportResult> {
  const workflowId = `${workflow}-${randomBytes(4).toString('hex')}`;
  const { client } = temporal;
  await retryWhileDown(async () => {
    const args = [{ connection: world.connection, ...input }];
    try {
      await client.workflow.start(workflow, { workflowId, taskQueue: world.taskQueue, args });
    } catch (error) {
      // An earlier start request succeeded, but its response was lost.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  });
  return retryWhileDown(() => client.workflow.getHandle(workflowId).result() as Promise<ExportResult>).catch(
    resultOf,
  );
}

/** As `runToEnd`. @throws Error when not everything was published */
export async function published(
  world: World,
  workflow: string,
  input: object,
  temporal: TemporalClient = world.temporal,
): Promise<void> {
  const result = await runToEnd(world, workflow, input, temporal);
  if (result.outcome !== 'published') throw new Error(`${workflow}: ${JSON.stringify(result.runs)}`);
}
