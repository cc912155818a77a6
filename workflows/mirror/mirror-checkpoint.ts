import type { MirrorState, RecordPurged, RunPublished } from '../../src/core/contract/index.js';
import { nextPageSize } from '../../src/core/page-size.js';

/**
 * The mirror's state after `latest.json` names a run, or a rollback. Only here and after a purge does the checkpoint move
 * (docs/explanation/how-it-works.md#checkpoint).
 */
export function afterPublished(
  { published: before, pageSize: known }: MirrorState,
  { runId, run: published, pageSize: sizes }: RunPublished,
): Partial<MirrorState> {
  const { snapshot, counts, publishedAt, deletes, checks, checkpoint, missed } = published;
  const pageSize = sizes === null ? known : nextPageSize(known, sizes.configured, sizes.used);
  // The table shows neither run yet.
  const tableWarning = before?.tableWarning ?? null;
  const more = { ...(checks && { checks }), ...(missed !== undefined && { missed }) };
  const run = { runId, snapshot, rows: counts.rows, publishedAt, deletes, ...more };
  return { checkpoint, pageSize, displaced: false, resumable: null, published: { ...run, tableWarning } };
}

/** The mirror's state after a purge, which has amended the published snapshot and made the table follow. */
export function afterPurged({ checkpoint, published }: RecordPurged): Partial<MirrorState> {
  return { checkpoint, published: published && { ...published, tableWarning: null }, resumable: null };
}
