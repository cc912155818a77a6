import type { ResourceProbe } from './probe.js';

/**
 * What the service makes of `cursor`. `ignored`: the second page is the first one again; `one-page`: the list has no second page
 * even with one record per page.
 */
export type CursorUse =
  | { readonly kind: 'honoured' }
  | { readonly kind: 'ignored' }
  | { readonly kind: 'one-page' }
  | { readonly kind: 'rejected'; readonly message: string };

/** Requests two pages of one record. */
export async function tryCursor(probe: ResourceProbe): Promise<CursorUse> {
  const first = await probe.page({ limit: 1 });
  if (first.kind !== 'page') return { kind: 'rejected', message: first.message };
  if (first.nextCursor === null) return { kind: 'one-page' };
  const second = await probe.page({ limit: 1, cursor: first.nextCursor });
  if (second.kind !== 'page') return { kind: 'rejected', message: second.message };
  if (second.rows.length === 0)
    return second.nextCursor === null ? { kind: 'one-page' } : { kind: 'honoured' };
  return second.keys.every((key) => first.keys.includes(key)) ? { kind: 'ignored' } : { kind: 'honoured' };
}
