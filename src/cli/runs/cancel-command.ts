import { CancelledFailure, WorkflowNotFoundError } from '@temporalio/client';
import {
  BACKFILL_WORKFLOW,
  EXPORT_WORKFLOW,
  PURGE_WORKFLOW,
  ROLLBACK_WORKFLOW,
} from '../../core/contract/index.js';
import { CONFIRM_WORKFLOW, WRITE_BACK_WORKFLOW } from '../../core/contract/write-back.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { awaitResult } from '../../temporal/follow/follow-workflow.js';
import { type Silence, whySilent } from '../../temporal/status/silence.js';
import { EXIT, type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import { type GlobalOptions, reachTimeoutMs } from '../shared/command-options.js';
import { reachTemporal, withTemporal } from '../shared/context.js';
import { output, printJson } from '../shared/output.js';
import { type WaitOptions, watchForWorker } from './follow-session.js';

/** What may be cancelled. A mirror runs forever and holds the checkpoint; only its requests are cancelled. */
const CANCELLABLE: Readonly<Record<string, string>> = {
  [EXPORT_WORKFLOW]: 'export',
  [BACKFILL_WORKFLOW]: 'backfill',
  [ROLLBACK_WORKFLOW]: 'rollback',
  [PURGE_WORKFLOW]: 'purge',
  [WRITE_BACK_WORKFLOW]: 'write-back',
  // A batch that is cancelled leaves it running: the rows that it has written are still looked for.
  [CONFIRM_WORKFLOW]: 'confirmation',
};

/** `worktrack cancel`: cancels a workflow that a command or a Schedule started, and waits for its end. */
export function runCancel(given: string, options: GlobalOptions & WaitOptions): Promise<ExitCode> {
  return withTemporal(options, async (temporal) => {
    const workflowId = await fullId(temporal, given);
    const { type, status } = await describe(temporal, workflowId);
    const what = CANCELLABLE[type];
    if (what === undefined)
      throw new UsageError(
        `${workflowId} is a ${type}, which the other workflows need. Cancel the export, backfill or write-back that it works for.`,
      );
    const print = (outcome: string, text: string): ExitCode => {
      if (options.json === true) printJson({ workflowId, outcome });
      else output.out(text);
      return EXIT.done;
    };
    if (status !== 'RUNNING')
      return print('ended', `The ${what} has already ended (${status.toLowerCase()}).`);
    await reachTemporal(temporal, () => temporal.client.workflow.getHandle(workflowId).cancel());
    if (options.wait === false) return print('requested', `The ${what} is being cancelled.`);
    const outcome = await endOf(temporal, workflowId);
    const text =
      outcome === 'cancelled'
        ? `The ${what} was cancelled. Published data stays.`
        : `The ${what} ended before it could be cancelled (${outcome}).`;
    return print(outcome, text);
  });
}

/** The id of a write-back or its confirmation whose batch id is shortened, as the command prints it; any other id as it is. */
async function fullId(temporal: TemporalClient, given: string): Promise<string> {
  if (!/^worktrack\/[^/']+\/(?:write-back|confirm)\/[a-z-]+\/[0-9a-f]{12,63}$/.test(given)) return given;
  const query = `WorkflowId STARTS_WITH '${given}'`;
  const ids = await reachTemporal(temporal, async () => {
    const found = new Set<string>();
    for await (const { workflowId } of temporal.client.workflow.list({ query }))
      if (!workflowId.endsWith('/demand')) found.add(workflowId);
    return [...found];
  });
  const [only = given, ...others] = ids;
  if (ids.includes(given) || others.length === 0) return ids.includes(given) ? given : only;
  throw new UsageError(`${ids.length} workflows begin with ${given}. Give more digits of the batch id.`);
}

async function describe(temporal: TemporalClient, workflowId: string) {
  try {
    const handle = temporal.client.workflow.getHandle(workflowId);
    const { type, status } = await reachTemporal(temporal, () => handle.describe());
    return { type, status: status.name };
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    throw new UsageError(
      `There is no workflow "${workflowId}" in the namespace "${temporal.namespace}" of Temporal at ${temporal.address}. ` +
        'The command that started it printed its id.',
    );
  }
}

/** Why a workflow does not end; `null` if a worker works on it. */
async function whyStill(temporal: TemporalClient, workflowId: string): Promise<Silence | null> {
  const silence = await whySilent(temporal, await temporal.client.workflow.getHandle(workflowId).describe());
  return silence.kind === 'busy' ? null : silence;
}

/** Waits for the end. A worker must be running, because the workflow itself ends its runs. */
async function endOf(
  temporal: TemporalClient,
  workflowId: string,
): Promise<'cancelled' | 'completed' | 'failed'> {
  const worker = watchForWorker(() => whyStill(temporal, workflowId), output.note);
  let outcome: 'cancelled' | 'completed' | 'failed' = 'completed';
  try {
    const options = { timeoutMs: reachTimeoutMs(process.env), onOutage: output.note };
    await awaitResult<unknown>(temporal, workflowId, options, ({ cause }) => {
      outcome = cause instanceof CancelledFailure ? 'cancelled' : 'failed';
    });
    return outcome;
  } finally {
    worker.close();
  }
}
