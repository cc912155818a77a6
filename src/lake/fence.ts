import type { RunId } from '../core/brands.js';
import type { Pointer } from './pointer.js';

export interface Claim {
  readonly connection: string;
  readonly baseUrl: string;
  readonly resource: string;
  /** What this mirror published last; `null` for one that has published nothing. */
  readonly publishedRunId: RunId | null;
  /** A run of ours of whose publishing nothing was heard. */
  readonly publishingRunId: RunId | null;
  /** Whether another mirror has won a race against this one, and it was not told to adopt since. */
  readonly displaced: boolean;
  readonly adopt: boolean;
}

export type Fence =
  | { readonly outcome: 'ours' | 'adopted' | 'empty' }
  | { readonly outcome: 'displaced' | 'foreign' | 'vanished'; readonly message: string };

/**
 * Whether this mirror may write the resource: one writer, fenced by the pointer (DESIGN 2). A mirror that has
 * published nothing takes up what it finds; one that finds another's run in place of its own stops.
 */
export function checkFence(pointer: Pointer | null, claim: Claim): Fence {
  const { resource, publishedRunId, adopt } = claim;
  if (pointer === null) {
    if (publishedRunId === null || adopt) return { outcome: 'empty' };
    return {
      outcome: 'vanished',
      message:
        `${resource}/latest.json is gone from the lake, although this mirror published run ${publishedRunId}. ` +
        'Restore it, or start the resource anew with `worktrack export --adopt`.',
    };
  }
  const who = `run ${pointer.runId} of connection "${pointer.connection}" (${pointer.baseUrl}), published ${pointer.publishedAt}`;
  if (pointer.connection !== claim.connection || pointer.baseUrl !== claim.baseUrl) {
    return {
      outcome: 'foreign',
      message:
        `${resource} in this lake belongs to ${who}; this is connection "${claim.connection}" (${claim.baseUrl}). ` +
        'Give each connection a lake URL of its own.',
    };
  }
  if (publishedRunId !== null && pointer.runId === publishedRunId) return { outcome: 'ours' };
  if (adopt || pointer.runId === claim.publishingRunId) return { outcome: 'adopted' };
  if (publishedRunId === null && !claim.displaced) return { outcome: 'adopted' };
  const ours = publishedRunId === null ? 'has published none' : `published run ${publishedRunId} last`;
  return {
    outcome: 'displaced',
    message:
      `another mirror has written ${resource}: latest.json names ${who}, and this mirror ${ours}. ` +
      'If this mirror is the right one, take over with `worktrack export --adopt`; else stop its worker.',
  };
}
