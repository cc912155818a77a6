import { totalmem } from 'node:os';
import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';
import type { Activities } from '../../core/contract/index.js';

const MIB = 2 ** 20;
/** What an activity holds at its peak, beside the worker itself (docs/internals/benchmarks.md). */
const HEAVY_BYTES = 64 * MIB;
const LIGHT_BYTES = 8 * MIB;
/** What a worker with a small cache of workflows holds while no activity runs. */
const IDLE_BYTES = 192 * MIB;
/** These hold pages, chunks or parts. All others hold documents and small buffers. */
const HEAVY: readonly string[] = [
  'worktrack.shortRun',
  'worktrack.extractPages',
  'worktrack.findAbsent',
  'worktrack.mergeParts',
  'worktrack.publish',
  'worktrack.followTable',
  'worktrack.purgeRecord',
  'worktrack.planWriteBack',
  'worktrack.sendRows',
  'worktrack.writeResults',
] satisfies (keyof Activities)[];

/** A slot; its weight is known once a task is assigned to it. */
class Permit implements SlotPermit {
  bytes = HEAVY_BYTES;
}

interface Waiting {
  readonly grant: (permit: Permit) => void;
}

export interface SlotLimits {
  /** Activities at the same time. */
  readonly maxActivities: number;
  /** Memory for activities, bytes. One activity always runs, whatever it needs. */
  readonly memoryBytes: number;
}

/**
 * Gives slots to activities while both limits hold: their number, and the sum of the memory that each kind of activity holds
 * at its peak. A slot is reserved before its task is known, so it counts as heavy until then.
 */
export class MemorySlots implements CustomSlotSupplier<ActivitySlotInfo> {
  readonly type = 'custom';
  readonly #limits: SlotLimits;
  readonly #waiting = new Set<Waiting>();
  readonly #held = new Set<SlotPermit>();
  #bytes = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** Bytes that the current slots count for. */
  get bytes(): number {
    return this.#bytes;
  }

  reserveSlot(_ctx: unknown, signal: AbortSignal): Promise<SlotPermit> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        grant: (permit) => {
          signal.removeEventListener('abort', cancel);
          resolve(permit);
        },
      };
      const cancel = (): void => {
        this.#waiting.delete(waiting);
        reject(signal.reason);
      };
      if (signal.aborted) return cancel();
      signal.addEventListener('abort', cancel, { once: true });
      this.#waiting.add(waiting);
      this.#grantNext();
    });
  }

  tryReserveSlot(): SlotPermit | null {
    return this.#waiting.size === 0 ? this.#take() : null;
  }

  markSlotUsed({
    slotInfo,
    permit,
  }: {
    readonly slotInfo: ActivitySlotInfo;
    readonly permit: SlotPermit;
  }): void {
    this.#weigh(permit, HEAVY.includes(slotInfo.activityType) ? HEAVY_BYTES : LIGHT_BYTES);
    this.#grantNext();
  }

  releaseSlot({ permit }: { readonly permit: SlotPermit }): void {
    this.#weigh(permit, 0);
    this.#held.delete(permit);
    this.#grantNext();
  }

  #weigh(permit: SlotPermit, bytes: number): void {
    if (!(permit instanceof Permit) || !this.#held.has(permit)) return;
    this.#bytes += bytes - permit.bytes;
    permit.bytes = bytes;
  }

  #take(): Permit | null {
    const { maxActivities, memoryBytes } = this.#limits;
    if (this.#held.size >= maxActivities) return null;
    if (this.#held.size > 0 && this.#bytes + HEAVY_BYTES > memoryBytes) return null;
    const permit = new Permit();
    this.#held.add(permit);
    this.#bytes += permit.bytes;
    return permit;
  }

  #grantNext(): void {
    for (const waiting of this.#waiting) {
      const permit = this.#take();
      if (permit === null) return;
      this.#waiting.delete(waiting);
      waiting.grant(permit);
    }
  }
}

/**
 * The memory for activities by default: half of what an idle worker leaves free.
 *
 * @param availableBytes memory of the machine, or of the container if it has a limit
 * @param cacheBytes memory for workflows beyond a small cache
 */
export function defaultMemory(availableBytes: number, cacheBytes: number): number {
  return Math.max(HEAVY_BYTES, Math.floor((availableBytes - IDLE_BYTES - cacheBytes) / 2));
}

/** Memory of this machine, or of the container if it has a limit; bytes. */
export function availableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
