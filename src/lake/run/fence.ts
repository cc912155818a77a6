import type { RunId } from '../../core/brands.js';
import type { Pointer } from '../published/pointer.js';

export interface Claim {
  readonly connection: string;
  readonly baseUrl: string;
  readonly resource: string;
  /** The last run that this mirror published; `null` for none. */
  readonly publishedRunId: RunId | null;
  /** A run of this mirror whose publication has an unknown outcome. */
  readonly publishingRunId: RunId | null;
  /** Target of a rollback of this mirror whose outcome is unknown. The pointer may name it. */
  readonly rollbackRunId: RunId | null;
  /** Target of the current rollback. An earlier attempt may already have set the pointer. */
  readonly to?: RunId;
  /** Whether another mirror won a publication race against this one, and `--adopt` was not given since. */
  readonly displaced: boolean;
  readonly adopt: boolean;
  /** Unpublished runs of this mirror, which a delayed request may still have published. */
  readonly ownRunIds?: readonly RunId[];
}

type Fence =
  | { readonly outcome: 'ours' | 'empty' }
  /** `movedFrom`: the base URL in the pointer, if the configuration now has another one. */
  | { readonly outcome: 'adopted'; readonly movedFrom?: string }
  | { readonly outcome: 'displaced' | 'foreign' | 'vanished'; readonly message: string };

/**
 * Checks whether this mirror may write the resource. Each resource has one writer, and the pointer is the fence
 * (docs/explanation/architecture.md#one-writer). A mirror that has published nothing adopts the existing snapshot. A
 * mirror that finds another mirror's run instead of its own stops.
 */
export function checkFence(pointer: Pointer | null, claim: Claim): Fence {
  const { resource, publishedRunId, adopt } = claim;
  if (pointer === null) {
    if (publishedRunId === null || adopt) return { outcome: 'empty' };
    return {
      outcome: 'vanished',
      message:
        `${resource}/latest.json is gone from the lake, although this mirror published run ${publishedRunId}. ` +
        'Restore it, or start the resource from the beginning: worktrack export --adopt',
    };
  }
  const who = `run ${pointer.runId} of connection "${pointer.connection}" (${pointer.baseUrl}), published ${pointer.publishedAt}`;
  if (pointer.connection !== claim.connection) {
    return {
      outcome: 'foreign',
      message:
        `${resource} in this lake belongs to ${who}. This is connection "${claim.connection}" (${claim.baseUrl}). ` +
        'Give each connection a separate lake URL.',
    };
  }
  if (pointer.baseUrl !== claim.baseUrl) {
    // Only a person can know that the service has moved to another URL.
    if (adopt) return { outcome: 'adopted', movedFrom: pointer.baseUrl };
    return {
      outcome: 'foreign',
      message:
        `${resource} in this lake belongs to ${who}. Connection "${claim.connection}" now has the URL ${claim.baseUrl}. ` +
        `If the service has moved from ${pointer.baseUrl} to ${claim.baseUrl}, take over with \`worktrack export --adopt\`. ` +
        'Otherwise correct baseUrl, or give the connection a separate lake URL.',
    };
  }
  if (publishedRunId !== null && pointer.runId === publishedRunId) return { outcome: 'ours' };
  const mayBePublished = [claim.publishingRunId, ...(claim.ownRunIds ?? [])];
  if (adopt || mayBePublished.includes(pointer.runId)) return { outcome: 'adopted' };
  if (publishedRunId === null && !claim.displaced) return { outcome: 'adopted' };
  const wentBackTo = [claim.rollbackRunId, claim.to ?? null];
  if (!claim.displaced && wentBackTo.includes(pointer.runId)) return { outcome: 'adopted' };
  const ours = publishedRunId === null ? 'has published no run' : `last published run ${publishedRunId}`;
  return {
    outcome: 'displaced',
    message:
      `another mirror has written ${resource}: latest.json names ${who}, and this mirror ${ours}. ` +
      'If this mirror is the right one, take over with `worktrack export --adopt`. Otherwise stop its worker.',
  };
}
