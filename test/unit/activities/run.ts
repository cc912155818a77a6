import type { RunId } from '../../../src/core/brands.js';
import type { BaseSnapshot, WritingRun } from '../../../src/lake/documents/run-file.js';
import { shapeOf } from '../../../src/lake/rows/shapes.js';
import { newWriter } from '../../support/writer.js';
import { profileOf } from '../lake/data-plane.js';

/** A full pass over tasks, as far as reading it goes. */
export const RUN = {
  ...{ connection: 'acme', baseUrl: 'https://tracker.example.com', writer: newWriter() },
  ...{ mode: 'full', updatedSince: null, checkpoint: null, before: null, rollback: null, columns: [] },
  runId: '20261121T020000Z-00000001' as RunId,
  ...{ startedAt: 0, nominalStart: 0, readSince: 0, giveUpAfterMs: 3_600_000, warnings: [] },
  ...{ allowDeletes: false, pageSize: 1000 },
  ...{ sync: { endCursors: [], pageSize: 1000 }, http: {}, retention: {}, tables: null, onPublished: null },
  shapes: [shapeOf(profileOf(), null)],
  ...{ settingsChange: null, earlierList: null, reconcile: false, resumed: null, leftBehind: [] },
  resource: { name: 'tasks', path: 'tasks', params: {}, deleted: null, ...profileOf() },
} as unknown as WritingRun;

/** A base snapshot without rows. */
export const BASE = {
  ...{ runId: '20261120T020000Z-00000001' as RunId, etag: '"1"', manifest: 'tasks/_datapackage.json' },
  ...{ publishedAt: 0, startedAt: 0, rows: 0, columns: [], parts: [], shapes: [], list: { path: 'tasks' } },
  ...{ fingerprint: 'none', checkpoint: '2026-11-20T02:00:00Z', profile: profileOf() },
  readUpTo: { workflow: Date.now(), service: null },
} as unknown as BaseSnapshot;
