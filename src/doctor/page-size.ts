import { NotFoundError, RejectedError } from '../api/index.js';
import { errorMessage } from '../core/errors.js';
import type { ResourceSettings } from '../core/settings.js';
import { type Finding, ok, problem, warning } from './finding.js';
import type { RequestPage } from './service.js';

/**
 * Requests a page of the configured size, and halves the size while the service rejects it, as a run does
 * (docs/explanation/guarantees.md#page-size): the API gives no bounds.
 *
 * @param echoedForOne the `page.limit` that the service returned for a request of one record
 */
export async function checkPageSize(
  resource: ResourceSettings,
  configured: number,
  echoedForOne: number | null,
  requestPage: RequestPage,
): Promise<Finding> {
  const small = echoedForOne === null || echoedForOne === 1 ? '' : `; requested 1, applied ${echoedForOne}`;
  for (let size = configured; size >= 1; size = Math.floor(size / 2)) {
    try {
      const received = await requestPage(resource, size);
      if (received === null) return notSearched(resource.name, configured);
      const { limit } = received.value;
      if (size < configured)
        return warning(
          'page size',
          `${resource.name}: the service rejects pages of ${configured} records and accepts ${size}`,
          `Set \`sync.pageSize: ${size}\`. Otherwise each run finds it with a few rejected requests.`,
        );
      if (limit === null)
        return ok('page size', `requested ${size}; the service does not report the applied size`);
      return ok(
        'page size',
        limit === size
          ? `requested and applied ${size}${small}`
          : `requested ${size}, applied ${limit}${small}`,
      );
    } catch (error) {
      if (error instanceof RejectedError && !(error instanceof NotFoundError)) continue;
      return problem(
        'page size',
        'other',
        errorMessage(error),
        `A page of one record works and a page of ${size} does not. Set a smaller \`sync.pageSize\`.`,
      );
    }
  }
  return problem(
    'page size',
    'other',
    `${resource.name}: the service rejects every page size from ${configured} down to 1`,
    "Report it to the service's support.",
  );
}

function notSearched(name: string, configured: number): Finding {
  return warning(
    'page size',
    `${name}: the service rejects pages of ${configured} records; the doctor sent no more requests to find a size that it accepts`,
    '`worktrack doctor --try-service` finds the largest one. Otherwise each run finds one with a few rejected requests.',
  );
}
