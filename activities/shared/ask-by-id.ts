import {
  BrokenPromiseError,
  type FetchRequest,
  RefusedError,
  RejectedError,
  type ServiceClient,
} from '../../src/api/index.js';

/** The service's answer to a request for one record by its id. */
type RecordAnswer = 'found' | 'gone' | 'unclear';

/**
 * Requests one record. The spec does not define the status of a deleted record. So an answer that is neither the record
 * nor 404 or 410 is `unclear`: it proves nothing and does not end the run.
 *
 * @throws RefusedError for a rejected API key or a plan without API access; TransientError; the signal's reason
 */
export async function askById(client: ServiceClient, request: FetchRequest): Promise<RecordAnswer> {
  try {
    return (await client.fetchById(request, () => true)) === null ? 'gone' : 'found';
  } catch (error) {
    if (error instanceof RefusedError && error.scope === 'grant') return 'unclear';
    if (error instanceof RejectedError || error instanceof BrokenPromiseError) return 'unclear';
    throw error;
  }
}
