import type { ExportResult } from '../core/contract.js';
import type { TemporalClient } from '../temporal/connect.js';
import { grpcMessage, isUnreachable } from '../temporal/grpc.js';
import { reach } from '../temporal/reach.js';
import { manualId, type StartOptions } from '../temporal/start.js';
import { withTemporal } from './context.js';
import { type Followed, followToEnd } from './follow.js';
import { reachTimeoutMs } from './options.js';
import { output } from './output.js';

type Start = (temporal: TemporalClient, options: StartOptions) => Promise<string>;

/** Starts what a command is for and follows it to its end. */
export function startAndFollow(followed: Omit<Followed, 'workflowId'>, start: Start): Promise<ExportResult> {
  const { what, connection, options } = followed;
  return withTemporal(options, async (temporal) => {
    // One id for all attempts: a start whose answer was lost is not made twice.
    const workflowId = manualId(connection.name, what);
    await reach(
      `Temporal at ${temporal.address}`,
      () => start(temporal, { workflowId, taskQueue: options.taskQueue }),
      isUnreachable,
      grpcMessage,
      { timeoutMs: reachTimeoutMs(process.env), onTrouble: output.note },
    );
    output.note(`${what[0]!.toUpperCase()}${what.slice(1)} of ${connection.name}: ${workflowId}`);
    return followToEnd(temporal, { ...followed, workflowId });
  });
}
