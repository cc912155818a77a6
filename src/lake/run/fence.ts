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
  /**
   * `movedFrom`: the base URL in the pointer, if the configuration now has another one. `renamedFrom`: the same of the
   * connection's name.
   */
  | { readonly outcome: 'adopted'; readonly movedFrom?: string; readonly renamedFrom?: string }
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
  const isRenamed = pointer.connection !== claim.connection;
  const isMoved = pointer.baseUrl !== claim.baseUrl;
  if (isRenamed || isMoved) {
    // Only a person can know that the connection has another name now, or that the service has moved.
    if (adopt) {
      return {
        outcome: 'adopted',
        ...(isRenamed ? { renamedFrom: pointer.connection } : {}),
        ...(isMoved ? { movedFrom: pointer.baseUrl } : {}),
      };
    }
    return {
      outcome: 'foreign',
      message: `${resource} in this lake belongs to ${who}. ${otherOwner(pointer, claim)}`,
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

/** The owner of a lake that belongs to a connection of another name or URL, and what to do. */
export function otherOwnerText(
  owner: Pick<Pointer, 'connection' | 'baseUrl'>,
  claim: Pick<Claim, 'connection' | 'baseUrl'>,
): string {
  return `the lake belongs to connection "${owner.connection}" (${owner.baseUrl}). ${otherOwner(owner, claim)}`;
}

/** Whether a pointer is of a connection with another name or URL. */
export function hasOtherOwner(
  owner: Pick<Pointer, 'connection' | 'baseUrl'>,
  claim: Pick<Claim, 'connection' | 'baseUrl'>,
): boolean {
  return owner.connection !== claim.connection || owner.baseUrl !== claim.baseUrl;
}

function otherOwner(
  owner: Pick<Pointer, 'connection' | 'baseUrl'>,
  { connection, baseUrl }: Pick<Claim, 'connection' | 'baseUrl'>,
): string {
  const takeOver = 'take over with `worktrack export --adopt`.';
  if (owner.connection === connection) {
    return (
      `Connection "${connection}" now has the URL ${baseUrl}. ` +
      `If the service has moved from ${owner.baseUrl} to ${baseUrl}, ${takeOver} ` +
      'Otherwise correct baseUrl, or give the connection a separate lake URL.'
    );
  }
  return (
    `This is connection "${connection}" (${baseUrl}). ` +
    `If you have renamed "${owner.connection}" to "${connection}", ${takeOver} ` +
    'Otherwise give each connection a separate lake URL.'
  );
}
