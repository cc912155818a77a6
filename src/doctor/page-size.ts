import { NotFoundError, RejectedError } from '../api/index.js';
import type { ResourceSettings } from '../core/settings.js';
import { type Finding, ok, problem, warning } from './finding.js';
import type { AskPage } from './service.js';

/**
 * Asks for a page of the configured size, and for half of it while it is refused, as a run does (DESIGN 3.7): the spec
 * leaves the bounds open.
 *
 * @param least what `page.limit` echoed of a request for one record
 */
export async function checkPageSize(
  resource: ResourceSettings,
  configured: number,
  least: number | null,
  ask: AskPage,
): Promise<Finding> {
  const small = least === null || least === 1 ? '' : `; of 1, ${least}`;
  for (let size = configured; size >= 1; size = Math.floor(size / 2)) {
    try {
      const { limit } = (await ask(resource, size)).value;
      if (size < configured)
        return warning(
          'page size',
          `${resource.name}: pages of ${configured} are refused, ${size} are served`,
          `Set \`sync.pageSize: ${size}\`; each run finds it by itself otherwise, with a few refused requests.`,
        );
      if (limit === null)
        return ok('page size', `asked for ${size}; the service does not say what it applies`);
      return ok(
        'page size',
        limit === size
          ? `asked for ${size}, applied${small}`
          : `asked for ${size}, the service applies ${limit}${small}`,
      );
    } catch (error) {
      if (error instanceof RejectedError && !(error instanceof NotFoundError)) continue;
      return problem(
        'page size',
        'other',
        error instanceof Error ? error.message : String(error),
        `A page of one record came and one of ${size} did not: set a smaller \`sync.pageSize\`.`,
      );
    }
  }
  return problem(
    'page size',
    'other',
    `${resource.name}: no page size from ${configured} down is taken`,
    "Report it to the service's support.",
  );
}
