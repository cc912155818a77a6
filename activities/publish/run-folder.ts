import type { ObjectKey } from '../../src/core/brands.js';
import { sha256Of } from '../../src/lake/documents/checksums.js';
import { inFolder, MANIFEST, nameOf, partName, type Tree } from '../../src/lake/documents/lake-layout.js';
import {
  decodeManifest,
  encodeManifest,
  type Manifest,
  type ManifestFields,
  type PublishedPart,
} from '../../src/lake/documents/manifest.js';
import { folderIn, type RunFile } from '../../src/lake/documents/run-file.js';
import type { MergePlan } from '../../src/lake/merge/merge-plan.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { PartWriter } from '../../src/lake/part/part-writer.js';
import { writeIfUnchanged } from '../../src/lake/published/conditional-write.js';
import { isOfLaterPurge } from '../../src/lake/published/purge-rules.js';
import { headerRow } from '../../src/lake/rows/data-columns.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { finalFailure } from '../shared/failures.js';
import type { Staging } from '../shared/staging.js';

/** Lists objects that other attempts left in a run's folder. @param kept those of this attempt */
export async function listStrays(
  { store, isPrivate }: Pick<Staging, 'store' | 'isPrivate'>,
  run: RunFile,
  tree: Tree,
  kept: readonly ObjectKey[],
): Promise<ObjectKey[]> {
  if (isPrivate) return [];
  const folder = folderIn(run, tree);
  // The manifest is kept: an earlier attempt may have written it, and the pointer may name it.
  const accepted = new Set<string>([inFolder(folder, MANIFEST), ...kept]);
  const strays: ObjectKey[] = [];
  for await (const { key } of store.list(`${folder}/`))
    if (!accepted.has(key) && !isOfLaterPurge(nameOf(key), run.runId)) strays.push(key);
  return strays;
}

/** A manifest in the lake. */
interface WrittenManifest {
  readonly key: ObjectKey;
  readonly manifest: Manifest;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
}

/**
 * Writes the manifest, which completes a run's folder. It is written once: if two attempts write it, the first one
 * counts. Both name the same parts, and a late request is rejected (docs/internals/recovery.md#writes).
 *
 * @throws a final failure `VerificationFailed` when a manifest with other parts is there
 */
export async function writeManifest(
  store: ObjectStore,
  run: RunFile,
  input: ManifestFields,
): Promise<WrittenManifest> {
  const folder = folderIn(run, input.tree === 'snapshot' ? 'snapshots' : 'changes');
  const key = inFolder(folder, MANIFEST);
  const body = encodeManifest(input);
  const outcome = await writeIfUnchanged(store, key, body, 'absent');
  const written = outcome === 'written' ? body : await store.read(key);
  const manifest = decodeManifest(written, folder);
  if (namesOf(manifest.parts) === namesOf(input.parts)) return { key, manifest, sha256: sha256Of(written) };
  throw finalFailure(
    'VerificationFailed',
    `${run.resource.name}: ${key} exists and names different parts than run ${run.runId} has written. Nothing was ` +
      'published. The next run reads everything again.',
  );
}

function namesOf(parts: readonly Pick<PublishedPart, 'key'>[]): string {
  return parts.map(({ key }) => key).join('\n');
}

/** Writes the only part of a snapshot or change log without rows: a header, so that readers see the columns (docs/explanation/guarantees.md#header). */
export async function headerOnlyPart(
  store: ObjectStore,
  run: RunFile,
  plan: Pick<MergePlan, 'columns'>,
  tree: Tree,
): Promise<PublishedPart> {
  const framing = framingOf(run.resource.csv);
  const folder = folderIn(run, tree);
  // All attempts of a run write the same bytes, so they can share the name.
  const writer = new PartWriter(store, inFolder(folder, partName(0, '00000000', framing.extension)), {
    framing,
    header: headerRow(plan.columns, run.resource.csv),
    columns: plan.columns.length,
    index: tree === 'snapshots' ? 'beside' : 'none',
  });
  return writer.finish();
}
