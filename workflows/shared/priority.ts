import type { Priority } from '@temporalio/common';
import type { RequestSpec } from '../../src/core/mirror-requests.js';

/** Temporal's range is 1 (first) to 5, and activities without a priority have 3. */
const MANUAL = 2;
const BACKGROUND = 4;
/** Temporal's limit, in bytes. Names of connections are ASCII. */
const MAX_FAIRNESS_KEY = 64;

/**
 * The priority of a connection's activities on a task queue with a backlog. Work that someone waits for comes first. Within
 * one priority, connections take turns, however many activities each of them has. Servers without fairness ignore the key.
 *
 * @param work `background`: work that a Schedule or a change notice requested
 */
export function priorityOf(connection: string, work: 'manual' | 'background'): Priority {
  return {
    priorityKey: work === 'manual' ? MANUAL : BACKGROUND,
    fairnessKey: connection.slice(0, MAX_FAIRNESS_KEY),
  };
}

/** The work of a request to a mirror. Only a run can be requested in the background. */
export function workOf(request: RequestSpec): 'manual' | 'background' {
  return request.kind === 'run' && request.background === true ? 'background' : 'manual';
}
