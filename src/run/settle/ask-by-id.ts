import {
  BrokenPromiseError,
  type FetchRequest,
  RefusedError,
  RejectedError,
  type ServiceClient,
  type TransientError,
} from '../../api/index.js';
import { recordIn } from '../../api/json/record-in.js';
import type { ByteString } from '../../core/brands.js';

/** The service's answer to a request for one record by its id. */
export type RecordAnswer = 'found' | 'gone' | 'unclear';

/**
 * Requests one record. The API does not define the status of a deleted record. So an answer that is neither the record
 * nor 404 or 410 is `unclear`: it proves nothing and does not end the run.
 *
 * @param keyField if given, a 2xx counts only if its body has the id in this field: some services answer every path with a page
 * @param onRecord called with the text of the record that was found, if `keyField` is given
 * @throws RefusedError for a rejected API key or a plan without API access; TransientError; the signal's reason
 */
export async function askById(
  client: ServiceClient,
  request: FetchRequest,
  keyField?: string,
  onRecord: (text: ByteString) => void = () => {},
): Promise<RecordAnswer> {
  try {
    const answer = await client.fetchById(request, (body) =>
      keyField === undefined ? body : recordIn(body, keyField, request.id),
    );
    if (answer === null) return 'gone';
    if (answer.value === null) return 'unclear';
    onRecord(answer.value);
    return 'found';
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
