import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import type { RunFile } from '../../../src/lake/documents/run-file.js';
import { hookedToOf } from '../../../src/run/prepare/prepare-run.js';

const FIRST = '20261121T010000Z-00000001' as RunId;
const SECOND = '20261122T020000Z-00000002' as RunId;
const onPublished = { workflow: 'loadWarehouse', taskQueue: 'warehouse' };

describe('the workflows of onPublished begin', () => {
  it.each([
    ['with the first run of a lake', { hookedTo: null }, { onPublished, before: null }, 'beginning'],
    [
      'after the run on which a new mirror is based',
      { hookedTo: null },
      { onPublished, before: { runId: FIRST } },
      FIRST,
    ],
    [
      'after the last run that has one',
      { hookedTo: FIRST },
      { onPublished, before: { runId: SECOND } },
      FIRST,
    ],
    [
      'with the first run, whose result was lost',
      { hookedTo: 'beginning' },
      { onPublished, before: { runId: FIRST } },
      'beginning',
    ],
    [
      'nowhere without configuration',
      { hookedTo: FIRST },
      { onPublished: null, before: { runId: SECOND } },
      null,
    ],
  ] as const)('%s', (_, state, run, expected) => {
    expect(hookedToOf(state, run as unknown as RunFile)).toBe(expected);
  });
});
