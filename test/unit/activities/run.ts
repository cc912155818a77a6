import type { RunId } from '../../../src/core/brands.js';
import type { WritingRun } from '../../../src/lake/documents/run-file.js';
import { shapeOf } from '../../../src/lake/rows/shapes.js';
import { profileOf } from '../lake/data-plane.js';

/** A full pass over tasks, as far as reading it goes. */
export const RUN = {
  mode: 'full',
  before: null,
  rollback: null,
  runId: '20261121T020000Z-00000001' as RunId,
  startedAt: 0,
  sync: { endCursors: [] },
  shapes: [shapeOf(profileOf(), null)],
  resource: { name: 'tasks', path: 'tasks', params: {}, deleted: null, ...profileOf() },
} as unknown as WritingRun;
