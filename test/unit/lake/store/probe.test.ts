import { describe, expect, it } from 'vitest';
import { StoreError, type SwapResult } from '../../../../src/lake/store/index.js';
import {
  conditionProblem,
  probeConditionalWrites,
  raceConditionalWrites,
} from '../../../../src/lake/store/probe-conditions.js';

const ETAG = '"1"';

/** Answers swaps by a given rule, shows readers an ETag, and records removed keys. */
function storeOf(
  swap: (n: number, etag: string | null) => SwapResult,
  shown = ETAG,
  plain: StoreError | null = null,
) {
  let n = 0;
  const removed: string[] = [];
  return {
    removed,
    swap: async (_key: string, _body: Uint8Array, expected: 'absent' | { readonly etag: string }) =>
      swap(++n, expected === 'absent' ? null : expected.etag),
    write: async () => {
      if (plain !== null) throw plain;
      return undefined as never;
    },
    readIfExists: async () => ({ body: Buffer.from('{}'), etag: shown }),
    remove: async (keys: readonly string[]) => {
      removed.push(...keys);
      return { refused: 0, said: null };
    },
  };
}
const written: SwapResult = { outcome: 'written', etag: ETAG };
const conflict: SwapResult = { outcome: 'conflict' };
/** A store that checks conditions: the object has the ETag `ETAG` after the first write, and another one after the third. */
const good = (n: number, etag: string | null): SwapResult =>
  n === 1 || (n === 3 && etag === ETAG) ? written : conflict;

describe('The probe of conditional writes', () => {
  it('accepts a store that checks the conditions, with the ETag that a reader sees', async () => {
    expect(await probeConditionalWrites(storeOf(good))).toEqual({ outcome: 'supported', said: null });
  });

  it('detects a store that ignores every condition', async () => {
    const store = storeOf(() => written);
    expect((await probeConditionalWrites(store)).outcome).toBe('ignored');
    expect(store.removed).toHaveLength(1);
    expect(store.removed[0]).toMatch(/^_staging\/_probe-[0-9a-f]{16}$/);
  });

  it('detects a store that ignores only If-Match', async () => {
    const store = storeOf((n) => (n === 2 ? conflict : written));
    expect((await probeConditionalWrites(store)).outcome).toBe('ignored');
  });

  it('detects a store that rejects a current If-Match', async () => {
    const store = storeOf((n) => (n === 1 ? written : conflict));
    expect((await probeConditionalWrites(store)).outcome).toBe('refused');
  });

  it.each([['"1-gzip"'], ['']])('detects that a reader sees another ETag, such as %s', async (shown) => {
    const found = await probeConditionalWrites(storeOf(good, shown));
    expect(found.outcome).toBe('changed-etag');
    expect(conditionProblem(found)).toContain('changes the ETag');
  });

  it.each([501, 405, 400])('shows the words of a store that answers %s', async (status) => {
    const store = storeOf(() => {
      throw failed(status);
    });
    const found = await probeConditionalWrites(store);
    expect(found).toEqual({ outcome: 'refused', said: `${status} NotImplemented: no headers of this kind` });
    expect(conditionProblem(found)).toContain(`${status} NotImplemented: no headers of this kind`);
  });

  it.each([400, 405, 501])(
    'does not blame the conditions if a write without them fails as well: %s',
    async (status) => {
      const store = storeOf(
        () => {
          throw failed(status);
        },
        ETAG,
        failed(status),
      );
      await expect(probeConditionalWrites(store)).rejects.toThrow(StoreError);
      expect(store.removed).toHaveLength(1);
    },
  );

  it('throws other errors after cleaning up', async () => {
    const denied = storeOf(() => {
      throw failed(403);
    });
    await expect(probeConditionalWrites(denied)).rejects.toThrow(StoreError);
    expect(denied.removed).toHaveLength(1);
  });
});

function failed(status: number): StoreError {
  return new StoreError({
    ...{ kind: 'other', operation: 'swap', key: 'x', bucket: 's3://lake', problem: 'p', remedy: 'r' },
    said: `${status} NotImplemented: no headers of this kind`,
    cause: { status },
  });
}

describe('The race of conditional writes', () => {
  /** A store whose check and write are one step, except for writers that arrive while `slow` others wait between the two. */
  function racing(slow: number) {
    let etag: string | null = null;
    let writes = 0;
    const removed: string[] = [];
    return {
      removed,
      async swap(
        _key: string,
        _body: Uint8Array,
        expected: 'absent' | { readonly etag: string },
      ): Promise<SwapResult> {
        if (etag !== (expected === 'absent' ? null : expected.etag)) return conflict;
        if (expected !== 'absent' && writes++ < slow) await new Promise((done) => setImmediate(done));
        etag = `"${Math.random()}"`;
        return { outcome: 'written', etag };
      },
      readIfExists: async () => (etag === null ? null : { body: Buffer.from('{}'), etag }),
      async remove(keys: readonly string[]) {
        removed.push(...keys);
        return { refused: 0, said: null };
      },
    };
  }

  it('is won by one of eight writers in a store that checks and writes in one step', async () => {
    const store = racing(0);
    expect(await raceConditionalWrites(store)).toEqual({ outcome: 'supported', said: null });
    expect(store.removed).toHaveLength(1);
  });

  it('finds a store that lets several writers win', async () => {
    const store = racing(2);
    const found = await raceConditionalWrites(store);
    expect(found).toEqual({ outcome: 'raced', said: '3 of 8' });
    expect(conditionProblem(found)).toMatch(/exactly one may succeed, but the store accepted 3 of 8$/);
    expect(store.removed).toHaveLength(1);
  });

  it('fails with the error of the store if no writer wins because of it', async () => {
    const store = { ...racing(0), swap: () => Promise.reject(new Error('out of service')) };
    await expect(raceConditionalWrites(store)).rejects.toThrow('out of service');
  });
});
