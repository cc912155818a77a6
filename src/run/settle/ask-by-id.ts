import {
  BrokenPromiseError,
  type FetchRequest,
  RefusedError,
  RejectedError,
  type ServiceClient,
  type TransientError,
} from '../../api/index.js';
import { hasId } from '../../api/json/has-id.js';

/** The service's answer to a request for one record by its id. */
type RecordAnswer = 'found' | 'gone' | 'unclear';

/**
 * Requests one record. The API does not define the status of a deleted record. So an answer that is neither the record
 * nor 404 or 410 is `unclear`: it proves nothing and does not end the run.
 *
 * @param keyField if given, a 2xx counts only if its body has the id in this field: some services answer every path with a page
 * @throws RefusedError for a rejected API key or a plan without API access; TransientError; the signal's reason
 */
export async function askById(
  client: ServiceClient,
  request: FetchRequest,
  keyField?: string,
): Promise<RecordAnswer> {
  try {
    const answer = await client.fetchById(
      request,
      (body) => keyField === undefined || hasId(body, keyField, request.id),
    );
    if (answer === null) return 'gone';
    return answer.value ? 'found' : 'unclear';
  } catch (error) {
    if (error instanceof RefusedError && error.scope === 'grant') return 'unclear';
    if (error instanceof RejectedError || error instanceof BrokenPromiseError) return 'unclear';
    throw error;
  }
}

/** Some services answer an unknown path with their start page, or with a redirect to it. That is not an outage. */
export function isWebPage({ reason }: TransientError): boolean {
  return reason === 'body' || reason === 'redirect';
}

/**
 * Whether a service refuses the request by its status, and only a page or words make it look like a limit or a firewall. An
 * endpoint that the API key may not use answers so forever, while the list works.
 */
export function seemsRefused({ refusal, evidence }: TransientError): boolean {
  return refusal !== null && (evidence === 'challenge' || evidence === 'words');
}
