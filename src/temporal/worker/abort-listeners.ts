import { setMaxListeners } from 'node:events';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/**
 * Lets any number of requests of one activity listen to its cancellation signal. A merge reads dozens of objects at a time;
 * from the eleventh listener on, Node would warn of a leak (MaxListenersExceededWarning). Each listener leaves with its
 * request, and the signal with its activity.
 */
export const manyAbortListeners: ActivityInterceptorsFactory = ({ cancellationSignal }) => {
  setMaxListeners(0, cancellationSignal);
  return {};
};
