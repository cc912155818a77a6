import type { ConnectionSettings } from '../../src/core/settings.js';
import type { ScheduleFacts } from './schedule-facts.js';

/** How old the data may be for each target with `stale`, in ms, by the target's id. Left out: any age. */
export function maxAgesOf(
  { notify, retries }: Pick<ConnectionSettings, 'notify' | 'retries'>,
  facts: ScheduleFacts,
): Map<string, number> {
  const standard =
    facts.state === 'active' && facts.longestGapMs !== null
      ? facts.longestGapMs + retries.giveUpAfterMs
      : null;
  return new Map(
    notify.flatMap(({ id, on, maxAgeMs }) => {
      const maxAge = maxAgeMs ?? standard;
      return on.includes('stale') && maxAge !== null ? [[id, maxAge] as const] : [];
    }),
  );
}
