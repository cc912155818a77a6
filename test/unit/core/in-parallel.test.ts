import { describe, expect, it } from 'vitest';
import { allDone, inParallel, inTurns } from '../../../src/core/in-parallel.js';

const turn = () => new Promise(setImmediate);

describe('parallel work', () => {
  it('respects the width and returns results in the order of the items', async () => {
    let running = 0;
    let most = 0;
    const results = await inParallel([3, 1, 2, 0], 2, async (turns) => {
      most = Math.max(most, ++running);
      for (let n = 0; n < turns; n++) await turn();
      running--;
      return turns * 10;
    });
    expect(results).toEqual([30, 10, 20, 0]);
    expect(most).toBe(2);
  });

  it('starts no further item after a failure', async () => {
    const started: number[] = [];
    const failing = inParallel([0, 1, 2, 3], 1, async (item) => {
      started.push(item);
      if (item === 1) throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(started).toEqual([0, 1]);
  });

  it('lets results count in the order of the items, whichever task is done first', async () => {
    const counted: number[] = [];
    let running = 0;
    let most = 0;
    await inTurns([3, 0, 2, 0, 1], 2, async (turns, ofTheOneBefore) => {
      most = Math.max(most, ++running);
      for (let n = 0; n < turns; n++) await turn();
      running--;
      await ofTheOneBefore;
      await turn();
      counted.push(turns);
    });
    expect(counted).toEqual([3, 0, 2, 0, 1]);
    expect(most).toBe(2);
  });

  it('ends the turn of a task that fails', async () => {
    const failing = inTurns([0, 1], 2, async (item, ofTheOneBefore) => {
      await ofTheOneBefore;
      if (item === 0) throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
  });

  it('waits for running tasks before it throws', async () => {
    let ended = false;
    const slow = (async () => {
      for (let n = 0; n < 5; n++) await turn();
      ended = true;
    })();
    await expect(allDone([Promise.reject(new Error('no')), slow])).rejects.toThrow('no');
    expect(ended).toBe(true);
  });

  it('returns the result of each promise', async () => {
    const [number, text] = await allDone([Promise.resolve(1), Promise.resolve('a')]);
    expect([number.toFixed(1), text.toUpperCase()]).toEqual(['1.0', 'A']);
  });
});
