import type { RunId } from '../../core/brands.js';
import type { Writer } from '../../core/contract/index.js';
import type { Pointer } from '../documents/pointer.js';
import type { ObjectStore } from '../store/index.js';
import { descendsFrom } from './chain.js';

/** The connection that a lake belongs to. */
type Owner = Pick<Pointer, 'connection' | 'baseUrl'>;

export interface WriterClaim extends Owner {
  readonly resource: string;
  /** This mirror. */
  readonly writer: Writer;
  /** The last run that this mirror knows as published; `null` for none. */
  readonly publishedRunId: RunId | null;
  /** Whether another mirror won a publication race against this one, and `--adopt` was not given since. */
  readonly displaced: boolean;
  readonly adopt: boolean;
}

type Fence =
  | { readonly outcome: 'ours' | 'empty' }
  /**
   * `movedFrom`: the base URL in the pointer, if the configuration now has another one. `renamedFrom`: the same of the
   * connection's name.
   */
  | { readonly outcome: 'adopted'; readonly movedFrom?: string; readonly renamedFrom?: string }
  | { readonly outcome: 'displaced' | 'foreign' | 'vanished' | 'restored'; readonly message: string };

/** Whether two documents of the lake are of the same mirror. */
export function isSameWriter(a: Writer, b: Writer): boolean {
  return a.workflow === b.workflow && a.namespace === b.namespace;
}

/**
 * Checks whether this mirror may write the resource. Each resource has one writer, and the pointer is the fence
 * (docs/explanation/guarantees.md#one-writer):
 *
 * - A pointer of this mirror that descends from the run that it knows as published is its own, even if the result of the
 *   newer run was lost.
 * - A mirror that has published nothing adopts the existing snapshot.
 * - A mirror that finds the pointer of another mirror, or an earlier run of this mirror, stops.
 *
 * @param descends whether the pointer's run descends from `publishedRunId`, as `descendsFrom` says
 */
export function checkFence(pointer: Pointer | null, claim: WriterClaim, descends: boolean): Fence {
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
  const isOwn = isSameWriter(pointer.writer, claim.writer);
  if (isOwn && pointer.runId === publishedRunId) return { outcome: 'ours' };
  const isFresh = publishedRunId === null && (isOwn || !claim.displaced);
  if (adopt || isFresh || (isOwn && descends)) return { outcome: 'adopted' };
  if (isOwn) {
    return {
      outcome: 'restored',
      message:
        `${resource}: latest.json names ${who}, but this mirror published run ${publishedRunId} later, which is not among the ` +
        'runs before it. If latest.json was restored from an earlier version, restore the newest one; or continue from the run ' +
        'there: worktrack export --adopt',
    };
  }
  const ours = publishedRunId === null ? 'has published no run' : `last published run ${publishedRunId}`;
  return {
    outcome: 'displaced',
    message:
      `another mirror has written ${resource}: latest.json names ${who}, and this mirror ${ours}. ` +
      'If this mirror is the right one, take over with `worktrack export --adopt`. Otherwise stop its worker.',
  };
}

/** Whether the pointer's run descends from the run that this mirror knows as published, for `checkFence`. */
export function descendsFromPublished(
  store: ObjectStore,
  pointer: Pointer,
  { publishedRunId, writer, adopt }: WriterClaim,
): Promise<boolean> | boolean {
  if (publishedRunId === null || pointer.runId === publishedRunId) return true;
  // Otherwise the mirror stops, whatever the chain says.
  if (!adopt && !isSameWriter(pointer.writer, writer)) return false;
  return descendsFrom(store, pointer, publishedRunId);
}

/** The owner of a lake that belongs to a connection of another name or URL, and what to do. */
export function otherOwnerText(owner: Owner, claim: Owner): string {
  return `the lake belongs to connection "${owner.connection}" (${owner.baseUrl}). ${otherOwner(owner, claim)}`;
}

/** Whether a pointer is of a connection with another name or URL. */
export function hasOtherOwner(owner: Owner, claim: Owner): boolean {
  return owner.connection !== claim.connection || owner.baseUrl !== claim.baseUrl;
}

function otherOwner(owner: Owner, { connection, baseUrl }: Owner): string {
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
