import { errorMessage } from '../../src/core/errors.js';
import { pointerKey } from '../../src/lake/published/layout.js';
import { type Manifest, readManifest } from '../../src/lake/published/manifest.js';
import { decodePointer, type Pointer } from '../../src/lake/published/pointer.js';
import { REPORTED_RUNS, shortened, toReportedRun } from '../../src/lake/published/recent-runs.js';
import { type Claim, checkFence } from '../../src/lake/run/fence.js';
import type { BaseSnapshot } from '../../src/lake/run/run-file.js';
import type { ClockTimes } from '../../src/lake/run/watermark.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { finalFailure } from './failures.js';

export interface FoundPointer {
  readonly pointer: Pointer;
  readonly etag: string;
}

/** A pointer that this mirror may replace. */
export interface PassedFence {
  /** `null`: nothing is published. */
  readonly found: FoundPointer | null;
  readonly outcome: 'ours' | 'adopted' | 'empty';
  /** The service's earlier address; `null`: it has not moved. */
  readonly movedFrom: string | null;
  /** The connection's earlier name; `null`: it is the same. */
  readonly renamedFrom: string | null;
}

/**
 * Reads the pointer and checks that this mirror may write (docs/explanation/architecture.md#one-writer).
 *
 * @throws a final failure: `Displaced` when this mirror may not write, `Lake` when `latest.json` is not a valid pointer
 */
export async function passFence(store: ObjectStore, claim: Claim): Promise<PassedFence> {
  const found = await readPointer(store, claim.resource);
  const fence = checkFence(found?.pointer ?? null, claim);
  if ('message' in fence) throw finalFailure('Displaced', fence.message);
  const { movedFrom = null, renamedFrom = null } = fence.outcome === 'adopted' ? fence : {};
  return { found, outcome: fence.outcome, movedFrom, renamedFrom };
}

async function readPointer(store: ObjectStore, resource: string): Promise<FoundPointer | null> {
  const found = await store.readIfExists(pointerKey(resource));
  if (found === null) return null;
  try {
    return { pointer: decodePointer(found.body), etag: found.etag };
  } catch (error) {
    throw finalFailure('Lake', `${store.url}/${pointerKey(resource)}: ${errorMessage(error)}`);
  }
}

/** Reads the manifest of the snapshot that the pointer names. @throws a final failure `Lake` when it is missing */
export async function readSnapshot(
  store: ObjectStore,
  { snapshot, manifests }: Pick<Pointer, 'snapshot' | 'manifests'>,
): Promise<Manifest> {
  const manifest = await readManifest(store, snapshot, manifests?.snapshot);
  if (manifest !== null) return manifest;
  throw finalFailure(
    'Lake',
    `${store.url}/${snapshot}, the snapshot that latest.json names, is missing. Restore it, or return to an ` +
      'earlier run with `worktrack rollback`.',
  );
}

/** The manifest's run and the runs before it. A manifest of an earlier version does not have those. */
function recentRunsOf(manifest: Manifest): Pick<BaseSnapshot, 'recentRuns'> {
  const before = manifest.previousRunId === null ? [] : manifest.recentRuns;
  if (before === undefined) return {};
  const run = shortened(toReportedRun(manifest, undefined));
  return { recentRuns: [run, ...before].slice(0, REPORTED_RUNS - 1) };
}

/** A manifest of an earlier version does not say it. Then it is the start of the run. */
function readUpToOf({ readUpTo, startedAt }: Manifest): ClockTimes {
  const { workflow, service } = readUpTo ?? { workflow: startedAt, service: null };
  return { workflow: Date.parse(workflow), service: service === null ? null : Date.parse(service) };
}

export async function readBaseSnapshot(
  store: ObjectStore,
  { pointer, etag }: FoundPointer,
): Promise<BaseSnapshot> {
  const manifest = await readSnapshot(store, pointer);
  return {
    runId: pointer.runId,
    etag,
    manifest: pointer.snapshot,
    checkpoint: pointer.checkpoint.updatedSince,
    startedAt: Date.parse(manifest.startedAt),
    readUpTo: readUpToOf(manifest),
    rows: manifest.counts.rows,
    fingerprint: manifest.fingerprint,
    columns: manifest.columns,
    parts: manifest.parts,
    profile: { key: manifest.key, csv: manifest.csv, columns: manifest.selection },
    list: manifest.list,
    shapes: manifest.shapes,
    fullRead: manifest.fullRead ?? null,
    deletes: manifest.deletes ?? null,
    changesLineBreaks: manifest.changesLineBreaks ?? null,
    ...recentRunsOf(manifest),
    ...(manifest.checkedTypes === undefined ? {} : { checkedTypes: manifest.checkedTypes }),
  };
}
