import type { ObjectKey, RunId } from '../../core/brands.js';
import { inParallel } from '../../core/in-parallel.js';
import type { CheckSettings } from '../../core/settings.js';
import { planChecks } from '../checks/check-plan.js';
import { DamagedError } from '../damaged-error.js';
import { pointerKey } from '../documents/lake-layout.js';
import type { PublishedPart } from '../documents/manifest.js';
import type { Pointer } from '../documents/pointer.js';
import { readPublishedIds } from '../published/chain.js';
import { listRuns } from '../published/run-folders.js';
import { type ObjectStore, StoreError } from '../store/index.js';
import { DocumentTooLargeError } from '../too-large-error.js';
import { type CheckedManifest, checkManifest, type Decoded, type NamedManifest } from './document-checks.js';
import { type PartRules, type ReadPart, verifyPart } from './part.js';
import type { Findings, Problem } from './problem-list.js';
import { isOutage, readEvenIfDamaged } from './read-body.js';

export interface VerifyOptions {
  readonly signal?: AbortSignal | undefined;
  /** Number of parts that are read at the same time. Each needs a few MiB. Default: 2. */
  readonly partsAtOnce?: number | undefined;
  /** Called after each part with its size in bytes. */
  readonly onPart?: ((bytes: number) => void) | undefined;
  /** The checks of the resource, whose counts are compared with the rows as far as their definition is the same. Default: none. */
  readonly checks?: readonly CheckSettings[] | undefined;
}

type TreeOptions = VerifyOptions & Pick<PartRules, 'index'>;

/** Reads an object again if it has problems: damage in the store persists, damage in transit does not. */
async function readTwice<T extends { readonly problems: readonly Problem[] } | null>(
  key: ObjectKey,
  { notes }: Findings,
  read: () => Promise<T>,
  onDamage: (first: NonNullable<T>, second: T) => void = () => {},
): Promise<T> {
  const first = await read();
  if (first === null || first.problems.length === 0) return first;
  const second = await read();
  if (second?.problems.length === 0)
    notes.push(
      `${key} was damaged in transit; a second read was intact. Check the network and the memory of this machine.`,
    );
  else onDamage(first, second);
  return second;
}

/** Reads and checks a document. `null`: it cannot be read; `undefined`: it does not exist. */
export async function readCheckedDocument<T>(
  store: ObjectStore,
  key: ObjectKey,
  check: (body: Buffer) => Decoded<T>,
  findings: Findings,
): Promise<T | null | undefined> {
  const read = await readTwice(key, findings, async () => {
    const found = await readEvenIfDamaged(store, key);
    if (found === null) return null;
    if (found.isUnread) return { value: null, problems: [{ key, text: found.damaged!, isUnread: true }] };
    const { value = null, problems } = check(found.body);
    const texts = [...(found.damaged === null ? [] : [found.damaged]), ...problems];
    return { value, problems: texts.map((text) => ({ key, text })) };
  });
  findings.problems.push(...(read?.problems ?? []));
  return read === null ? undefined : read.value;
}

export async function readNamedManifest(
  store: ObjectStore,
  named: NamedManifest,
  findings: Findings,
): Promise<CheckedManifest | null> {
  const { key } = named;
  const manifest = await readCheckedDocument(store, key, (body) => checkManifest(body, named), findings);
  if (manifest !== undefined) return manifest;
  findings.problems.push({ key, text: `${key} is missing, and ${pointerKey(named.resource)} names it` });
  return null;
}

/** Reads all parts that a manifest lists. Keys must be in ascending order across parts, which makes them unique. */
export async function readParts(
  store: ObjectStore,
  manifest: CheckedManifest | null,
  { index, signal, partsAtOnce = 2, onPart, checks = [] }: TreeOptions,
  findings: Findings,
): Promise<{ readonly rows: number; readonly bytes: number }> {
  if (manifest === null) return { rows: 0, bytes: 0 };
  const { csv, key: fields, parts, selection } = manifest;
  const measures = planChecks({ checks, key: fields, csv, columns: selection })?.measures.snapshot ?? [];
  const rules: PartRules = { manifest, index, signal, measures };
  const read = await inParallel(parts, partsAtOnce, async (part: PublishedPart) => {
    signal?.throwIfAborted();
    const found = await readTwice(
      part.key,
      findings,
      () => verifyPart(store, part, rules),
      (first, second) => {
        if (second.sha256 !== first.sha256)
          findings.notes.push(`${part.key}: two reads returned different bytes`);
      },
    );
    onPart?.(found.bytes);
    return found;
  });
  let last: ReadPart['last'] = null;
  for (const [at, part] of read.entries()) {
    findings.problems.push(...part.problems);
    const { key } = parts[at]!;
    if (last !== null && part.first !== null && part.first <= last) {
      const text = `${key}: its first key is not greater than the last key of the previous part`;
      findings.problems.push({ key, text });
    }
    last = part.last ?? last;
  }
  const sum = (of: 'rows' | 'bytes') => read.reduce((total, part) => total + part[of], 0);
  return { rows: sum('rows'), bytes: sum('bytes') };
}

/** Earlier runs whose snapshots still exist, newest first. */
export interface EarlierRuns {
  /** Completely read without a problem. `worktrack rollback` can roll back to them. */
  readonly intact: readonly RunId[];
  readonly damaged: readonly RunId[];
  /** Not read, because an intact run was found and reading more would take long. */
  readonly unchecked: readonly RunId[];
}

/** After an intact run is found, further runs are read until this many bytes are read in total. */
const MAX_EXTRA_BYTES = 4 * 1024 ** 3;

/** Reads the snapshots of earlier runs, to find an intact one. Called if the published snapshot is damaged. */
export async function verifyEarlierRuns(
  store: ObjectStore,
  pointer: Pointer,
  options: VerifyOptions,
): Promise<EarlierRuns> {
  const intact: RunId[] = [];
  const damaged: RunId[] = [];
  const unchecked: RunId[] = [];
  let bytes = 0;
  for (const named of await keptRuns(store, pointer)) {
    if (intact.length > 0 && bytes > MAX_EXTRA_BYTES) {
      unchecked.push(named.runId);
      continue;
    }
    const findings: Findings = { problems: [], notes: [] };
    const manifest = await readNamedManifest(store, named, findings);
    const read = await readParts(store, manifest, { ...options, index: 'beside' }, findings);
    bytes += read.bytes;
    (findings.problems.length === 0 ? intact : damaged).push(named.runId);
  }
  return { intact, damaged, unchecked };
}

/** Lists the earlier runs, as a rollback does. */
async function keptRuns(store: ObjectStore, pointer: Pointer): Promise<NamedManifest[]> {
  const { resource } = pointer;
  const kept: NamedManifest[] = [];
  try {
    const folders = await listRuns(store, resource, 'snapshots');
    for (const runId of (await readPublishedIds(store, pointer)).runs) {
      const key = folders.get(runId);
      if (key !== undefined && runId !== pointer.runId) kept.push({ key, resource, tree: 'snapshot', runId });
    }
  } catch (error) {
    // What is too large is among the problems, as the published manifests and all change logs are.
    const isDamage =
      error instanceof DamagedError ||
      error instanceof DocumentTooLargeError ||
      (error instanceof StoreError && !isOutage(error));
    if (!isDamage) throw error;
  }
  return kept;
}
