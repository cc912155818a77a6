import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { collectGarbage } from '../../../src/cli/worker/heap.js';

describe('collectGarbage', () => {
  it('frees what nothing refers to', async () => {
    // Only a full collection clears a weak reference, and nothing else here causes one.
    const freed = new WeakRef({ rows: 3 });
    await collectGarbage();
    for (let tries = 0; tries < 100 && freed.deref() !== undefined; tries++) await delay(20);
    expect(freed.deref()).toBeUndefined();
  });
});
