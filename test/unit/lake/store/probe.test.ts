import { describe, expect, it } from 'vitest';
import { StoreError, type SwapResult } from '../../../../src/lake/store/index.js';
import { probeConditionalWrites } from '../../../../src/lake/store/probe.js';

/** Answers swaps by a given rule and records removed keys. */
function storeOf(swap: (n: number) => SwapResult) {
  let n = 0;
  const removed: string[] = [];
  return {
    removed,
    swap: async () => swap(++n),
    remove: async (keys: readonly string[]) => {
      removed.push(...keys);
    },
  };
}
const written: SwapResult = { outcome: 'written', etag: '"1"' };
const conflict: SwapResult = { outcome: 'conflict' };

describe('The probe of conditional writes', () => {
  it('detects a store that ignores every condition', async () => {
    const store = storeOf(() => written);
    expect(await probeConditionalWrites(store)).toBe('ignored');
    expect(store.removed).toHaveLength(1);
    expect(store.removed[0]).toMatch(/^_staging\/_probe-[0-9a-f]{16}$/);
  });

  it('detects a store that ignores only If-Match', async () => {
    expect(await probeConditionalWrites(storeOf((n) => (n === 2 ? conflict : written)))).toBe('ignored');
  });

  it('detects a store that rejects a current If-Match', async () => {
    expect(await probeConditionalWrites(storeOf((n) => (n === 1 ? written : conflict)))).toBe('refused');
  });

  it('detects a store that answers 501, and throws other errors after cleaning up', async () => {
    const failing = (status: number) =>
      storeOf(() => {
        throw new StoreError({
          kind: 'other',
          operation: 'swap',
          key: 'x',
          bucket: 's3://lake',
          problem: 'p',
          remedy: 'r',
          cause: { status },
        });
      });
    expect(await probeConditionalWrites(failing(501))).toBe('refused');
    const denied = failing(403);
    await expect(probeConditionalWrites(denied)).rejects.toThrow(StoreError);
    expect(denied.removed).toHaveLength(1);
  });
});
