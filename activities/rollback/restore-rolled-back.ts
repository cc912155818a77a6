import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../../src/core/brands.js';
import type { Activities, RunRef } from '../../src/core/contract/index.js';
import { toChunk } from '../../src/lake/chunk/write.js';
import { adaptRows } from '../../src/lake/merge/adapt.js';
import { copyRows } from '../../src/lake/part/copy-rows.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { readPartRows } from '../../src/lake/part/rows.js';
import { PartWriter } from '../../src/lake/part/writer.js';
import { folderOf } from '../../src/lake/published/layout.js';
import { decodeManifest, type Manifest, type PublishedPart } from '../../src/lake/published/manifest.js';
import { headerRow } from '../../src/lake/rows/header.js';
import { profileFingerprint } from '../../src/lake/rows/profile.js';
import type { RunFile } from '../../src/lake/run/run-file.js';
import { firstStage, type StagedChunk, toExtractResult } from '../../src/lake/run/stage.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { withHeartbeat } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { readRun, stagedKey, writeDocument } from '../shared/documents.js';
import { withMaskingKey } from '../shared/masking.js';

/**
 * Stages the rows from the change logs of rolled-back runs, oldest first, before any page is fetched. These rows are
 * newer than the target snapshot of the rollback, and older than what the service returns now. So a correction or a
 * delete of a record that the service no longer lists is kept (docs/explanation/semantics.md#newest-wins).
 */
export function createRestoreRolledBack(deps: ActivityDeps): Activities['worktrack.restoreRolledBack'] {
  return (input) =>
    withHeartbeat(async () => {
      const { store, settings } = deps.connection(input.connection);
      const fixed = await readRun(store, input);
      const run = { ...fixed, resource: await withMaskingKey(settings, fixed.resource) };
      const { info, cancellationSignal: signal } = Context.current();
      const chunks: StagedChunk[] = [];
      for (const key of run.rolledBackRuns) {
        const log = decodeManifest(await store.read(key), folderOf(key));
        for (const part of log.parts.filter(({ rows }) => rows > 0)) {
          const name = `left-${info.attempt}-${chunks.length}`;
          chunks.push(await stagePart(store, { run, input, log, part, name, signal }));
        }
      }
      const fetched = chunks.reduce((sum, chunk) => sum + chunk.rows, 0);
      const stage = { ...firstStage(run, null), chunks, fetched };
      const key = stagedKey(input, `left-${info.attempt}.json`);
      await writeDocument(store, key, stage);
      return toExtractResult(key, stage);
    });
}

interface PartToStage {
  readonly run: RunFile;
  readonly input: RunRef;
  readonly log: Manifest;
  readonly part: PublishedPart;
  readonly name: string;
  readonly signal: AbortSignal;
}

/** Rewrites a change log part with a block index. Its rows are sorted and its keys unique, but a change log has no index. */
async function stagePart(
  store: ObjectStore,
  { run, input, log, part, name, signal }: PartToStage,
): Promise<StagedChunk> {
  const { resource, columns } = run;
  const framing = framingOf(resource.csv);
  const key: ObjectKey = stagedKey(input, `${name}${framing.extension}`);
  const profile = { key: log.key, csv: log.csv, columns: log.selection };
  const adapt = adaptRows(
    { columns: log.columns.length, profile, fingerprint: log.fingerprint, shapes: log.shapes },
    { columns, profile: resource, fingerprint: profileFingerprint(resource) },
  );
  const writer = new PartWriter(store, key, {
    framing,
    header: headerRow(columns, resource.csv),
    columns: columns.length,
    signal,
  });
  try {
    await copyRows(readPartRows(store, part, { compression: log.csv.compression, signal }), writer, {
      keyColumns: log.key.length,
      delimiter: log.csv.delimiter,
      each: (row) => (adapt === null ? row : adapt(row)),
    });
    return { ...toChunk(await writer.finish(), columns.length), reapplied: true };
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
