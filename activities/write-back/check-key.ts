import { RefusedError, refusalScope } from '../../src/api/index.js';
import type { WritableResource } from '../../src/core/contract/write-back.js';
import type { OpenConnection } from '../shared/deps.js';

/**
 * Whether the service refuses the API key itself: it also refuses to read the resource, in words about the key or the plan,
 * or in the same words as for the row. A key may lack the grant to read; such a refusal, and any other response, shows
 * nothing. Never throws.
 *
 * @param refused the refusal of a row
 */
export async function isKeyRefused(
  { client, settings }: OpenConnection,
  resource: WritableResource,
  refused: RefusedError | null,
  signal: AbortSignal,
): Promise<boolean> {
  const mirrored = settings.resources.find(({ name }) => name === resource);
  const path = mirrored?.path ?? settings.writeBack[resource].path;
  try {
    const request = { resource, path, limit: 1, cursor: null, updatedSince: null, signal };
    await client.listPage(request, () => null);
    return false;
  } catch (error) {
    if (!(error instanceof RefusedError) || error.status === null) return false;
    const isAlike = error.status === refused?.status && error.serviceMessage === refused.serviceMessage;
    return isAlike || refusalScope(error.status, error.serviceMessage) !== 'grant';
  }
}
