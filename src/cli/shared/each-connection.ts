import { inParallel } from '../../core/in-parallel.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { EXIT, type ExitCode } from './exit-code.js';
import { type Failure, failureOf } from './failure.js';
import { reachTimeoutMs } from './options.js';

/** Number of connections that a command works on at the same time. */
export const PARALLEL_CONNECTIONS = 16;
/** Once a server is unreachable, the others are tried for this long, so that one outage does not last for hours. */
const LATER_TIMEOUT_MS = 5_000;

/** The end of a command's work on one connection. */
export type Ended<T> =
  | { readonly connection: ConnectionSettings; readonly result: T; readonly failure: null }
  | { readonly connection: ConnectionSettings; readonly result: null; readonly failure: Failure };

/**
 * Runs a command's work on each connection, with at most `PARALLEL_CONNECTIONS` at the same time. A connection that fails
 * does not stop the others. Results are in the order of the connections.
 *
 * @param work receives how long a server may be unreachable, in milliseconds
 * @param onEnd called with each end, in the order of the ends
 */
export async function eachConnection<T>(
  connections: readonly ConnectionSettings[],
  work: (connection: ConnectionSettings, timeoutMs: number) => Promise<T>,
  onEnd: (ended: Ended<T>) => void = () => {},
): Promise<Ended<T>[]> {
  const timeoutMs = reachTimeoutMs(process.env);
  let isOutOfReach = false;
  return inParallel(connections, PARALLEL_CONNECTIONS, async (connection) => {
    const ended = await endOf(connection, () =>
      work(connection, isOutOfReach ? Math.min(timeoutMs, LATER_TIMEOUT_MS) : timeoutMs),
    );
    if (ended.failure?.code === EXIT.outOfReach) isOutOfReach = true;
    onEnd(ended);
    return ended;
  });
}

async function endOf<T>(connection: ConnectionSettings, work: () => Promise<T>): Promise<Ended<T>> {
  try {
    return { connection, result: await work(), failure: null };
  } catch (error) {
    return { connection, result: null, failure: failureOf(error, process.env) };
  }
}

/** The exit code of one connection. @param codeOf the exit code of a result */
export function endedCode<T>(ended: Ended<T>, codeOf: (result: T) => ExitCode): ExitCode {
  return ended.failure === null ? codeOf(ended.result) : ended.failure.code;
}
