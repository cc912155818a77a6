import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../../src/core/brands.js';
import type { Activities, RunRef } from '../../src/core/contract.js';
import { writeRows } from '../../src/lake/csv.js';
import { folderOf } from '../../src/lake/layout.js';
import { decodeManifest, type Manifest, type PublishedPart } from '../../src/lake/manifest.js';
import { adaptRows } from '../../src/lake/merge/adapt.js';
import { copyRows } from '../../src/lake/part/copy-rows.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { readPartRows } from '../../src/lake/part/rows.js';
import { PartWriter } from '../../src/lake/part/writer.js';
import { profileFingerprint } from '../../src/lake/profile.js';
import type { RunFile } from '../../src/lake/run-file.js';
import { headerCells } from '../../src/lake/schema.js';
import { firstStage, type StagedChunk } from '../../src/lake/stage.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import type { ActivityDeps } from '../deps.js';
import { readRun, stagedKey, writeDocument } from '../documents.js';
import { heartbeating } from '../heartbeat.js';

/**
 * Stages the rows of the change logs that a rollback left behind, as if they had been fetched before everything else.
 * The merge takes those whose keys nobody else has: what left the window since then is in no list any more.
 */
export function createReapply(deps: ActivityDeps): Activities['worktrack.reapply'] {
  return (input) =>
    heartbeating(async () => {
      const { store } = deps.connection(input.connection);
      const run = await readRun(store, input);
      const { info, cancellationSignal: signal } = Context.current();
      const chunks: StagedChunk[] = [];
      for (const key of run.leftBehind) {
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
      const { cursor, pageSize } = stage;
      return { stage: key, done: false, cursor, pages: 0, rows: fetched, pageSize };
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

/** A part of a change log has sorted rows with unique keys, but no block index: it is written anew with one. */
async function stagePart(
  store: ObjectStore,
  { run, input, log, part, name, signal }: PartToStage,
): Promise<StagedChunk> {
  const { resource, columns } = run;
  const framing = framingOf(resource.csv);
  const key: ObjectKey = stagedKey(input, `${name}${framing.extension}`);
  const profile = { key: log.key, csv: log.csv, columns: log.selection };
  const adapt = adaptRows(
    { columns: log.columns.length, profile, fingerprint: log.fingerprint },
    { columns, profile: resource, fingerprint: profileFingerprint(resource) },
  );
  const writer = new PartWriter(store, key, {
    framing,
    header: writeRows([headerCells(columns)], resource.csv.delimiter),
    columns: columns.length,
    signal,
  });
  try {
    await copyRows(readPartRows(store, part, { compression: log.csv.compression, signal }), writer, {
      keyColumns: log.key.length,
      delimiter: log.csv.delimiter,
      each: (row) => (adapt === null ? row : adapt(row)),
    });
    const { rows, bytes, rawBytes, first, last } = await writer.finish();
    return {
      ...{ key, rows, bytes, rawBytes, columns: columns.length },
      first: first!,
      last: last!,
      reapplied: true,
    };
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
