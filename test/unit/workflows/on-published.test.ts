import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { hookedToOf } from '../../../workflows/mirror/on-published.js';

const FIRST = '20261121T020000Z-00000001' as RunId;
const SECOND = '20261122T020000Z-00000002' as RunId;
const onPublished = { workflow: 'loadWarehouse', taskQueue: 'warehouse' };

describe('the workflows of onPublished begin', () => {
  it.each([
    ['with the first run of a lake', { hookedTo: null }, { onPublished, base: null }, 'beginning'],
    ['after the run on which a new mirror is based', { hookedTo: null }, { onPublished, base: FIRST }, FIRST],
    ['after the last run that has one', { hookedTo: FIRST }, { onPublished, base: SECOND }, FIRST],
    [
      'with the first run, whose result was lost',
      { hookedTo: 'beginning' },
      { onPublished, base: FIRST },
      'beginning',
    ],
    ['nowhere without configuration', { hookedTo: FIRST }, { onPublished: null, base: SECOND }, null],
  ] as const)('%s', (_, state, prepared, expected) => {
    expect(hookedToOf(state, prepared)).toBe(expected);
  });
});
