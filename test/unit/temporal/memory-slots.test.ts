import { describe, expect, it } from 'vitest';
import { defaultMemory, MemorySlots } from '../../../src/temporal/worker/memory-slots.js';

const MIB = 2 ** 20;
const { signal } = new AbortController();
const reserve = (slots: MemorySlots) => slots.reserveSlot(null, signal);
const use = (slots: MemorySlots, permit: object, activityType: string): void =>
  slots.markSlotUsed({ permit, slotInfo: { type: 'activity', activityType } });

describe('slots of activities', () => {
  it('are limited by memory: heavy activities take more of it than others', async () => {
    const slots = new MemorySlots({ maxActivities: 16, memoryBytes: 128 * MIB });
    const first = await reserve(slots);
    await reserve(slots);
    expect(slots.tryReserveSlot()).toBeNull();
    use(slots, first, 'worktrack.mergeParts');
    expect(slots.tryReserveSlot()).toBeNull();
    slots.releaseSlot({ permit: first });
    const light = slots.tryReserveSlot()!;
    use(slots, light, 'worktrack.planExport');
    expect(slots.bytes).toBe(72 * MIB);
    expect(slots.tryReserveSlot()).toBeNull();
  });

  it('are limited by number, and are granted in turn', async () => {
    const slots = new MemorySlots({ maxActivities: 1, memoryBytes: 2 ** 40 });
    const first = await reserve(slots);
    const granted: string[] = [];
    const second = reserve(slots).then((permit) => {
      granted.push('second');
      return permit;
    });
    const third = reserve(slots).then(() => void granted.push('third'));
    expect(slots.tryReserveSlot()).toBeNull();
    slots.releaseSlot({ permit: first });
    slots.releaseSlot({ permit: await second });
    await third;
    expect(granted).toEqual(['second', 'third']);
  });

  it('let one activity run however little memory there is, and forget a reservation that is aborted', async () => {
    const slots = new MemorySlots({ maxActivities: 16, memoryBytes: 1 });
    const only = await reserve(slots);
    const abort = new AbortController();
    const aborted = slots.reserveSlot(null, abort.signal);
    abort.abort(new Error('stop'));
    await expect(aborted).rejects.toThrow('stop');
    slots.releaseSlot({ permit: only });
    expect(slots.bytes).toBe(0);
    expect(slots.tryReserveSlot()).not.toBeNull();
  });

  it('get half of what an idle worker leaves free by default', () => {
    expect(defaultMemory(1024 * MIB, 0)).toBe(416 * MIB);
    expect(defaultMemory(1024 * MIB, 64 * MIB)).toBe(384 * MIB);
    expect(defaultMemory(256 * MIB, 0)).toBe(64 * MIB);
  });
});
