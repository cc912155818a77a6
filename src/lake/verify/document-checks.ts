import { z } from 'zod';
import type { ObjectKey, RunId } from '../../core/brands.js';
import { errorMessage } from '../../core/errors.js';
import { isRunId } from '../../core/run-id.js';
import { parseStored } from '../../core/stored-json.js';
import { isUtcSeconds } from '../../core/utc-time.js';
import { DamagedError } from '../damaged-error.js';
import { checksumState, manifestChecksumState, matchesNamedChecksum } from '../published/checksums.js';
import { folderOf, nameOf, type Tree, treePrefix } from '../published/layout.js';
import { LAYOUT_VERSION, LakeLayoutError } from '../published/layout-version.js';
import { decodeUnchecked, type Manifest, PREVIOUS_RUNS } from '../published/manifest.js';
import { decodePointer, encodePointer, type Pointer } from '../published/pointer.js';
import { headerNames } from '../rows/header.js';
import { keyProblem } from '../store/key.js';

const count = z.int().min(0);
const runId = z.string().refine(isRunId, { error: 'is not a run id' });
const objectKey = z.string().refine((text) => keyProblem(text) === null, { error: 'is not an object key' });
const utcSeconds = z.string().refine(isUtcSeconds, { error: 'is not a UTC time' });
const sortKey = z.string().nullable();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, { error: 'is not a SHA-256' });
const crc32 = z.string().regex(/^[0-9a-f]{8}$/, { error: 'is not a CRC32' });

const writer = z.object({ workflow: z.string(), namespace: z.string() });

const rolledBack = z
  .object({
    ...{ runId, changes: objectKey, to: runId, from: runId, keep: z.array(runId), head: runId },
    rollbacks: z.array(z.object({ syncedAt: utcSeconds, changes: objectKey })),
  })
  .nullable();

const pointerShape = z.object({
  resource: z.string(),
  runId,
  snapshot: objectKey,
  changes: objectKey.nullable(),
  publishedAt: z.iso.datetime(),
  checkpoint: z.object({ updatedSince: utcSeconds }),
  rows: count,
  connection: z.string(),
  baseUrl: z.string(),
  layout: z.literal(LAYOUT_VERSION),
  writer,
  rolledBack,
  manifests: z.object({ snapshot: sha256, changes: sha256.nullable() }),
  checksum: sha256,
});

const partShape = z.object({
  path: z.string().regex(/^[^/\\]+$/, { error: 'is not the name of an object in the folder' }),
  bytes: count,
  rawBytes: count,
  rows: count,
  crc32,
  sha256,
  indexCrc32: crc32.optional(),
  lineBreaks: count,
  first: sortKey,
  last: sortKey,
});

const counts = [
  'fetched',
  'duplicates',
  'unchanged',
  'inserted',
  'updated',
  'deleted',
  'retained',
  'rows',
  'restated',
] as const;

const manifestShape = z.object({
  resources: z.array(
    z.object({
      path: z.string(),
      bytes: count,
      hash: z.string(),
      rowCount: count,
      schema: z.object({ fields: z.array(z.object({ name: z.string() })) }),
    }),
  ),
  worktrack: z.object({
    resource: z.string(),
    tree: z.enum(['snapshot', 'changes']),
    runId,
    writer,
    previousRunId: runId.nullable(),
    previousRuns: z.array(z.object({ runId, publishedAt: count })).max(PREVIOUS_RUNS),
    leftBehind: z.array(runId),
    connection: z.string(),
    baseUrl: z.string(),
    mode: z.enum(['full', 'increment', 'rollback']),
    updatedSince: utcSeconds.nullable(),
    checkpoint: z.object({ updatedSince: utcSeconds }),
    startedAt: z.iso.datetime(),
    publishedAt: z.iso.datetime(),
    checksum: sha256,
    key: z.array(z.string()).min(1),
    counts: z.object(Object.fromEntries(counts.map((name) => [name, count]))),
    csv: z.object({
      delimiter: z.string().length(1),
      compression: z.enum(['gzip', 'none']),
      lineBreaks: z.enum(['keep', 'escape']),
    }),
    columns: z.array(z.object({ name: z.string(), types: count })),
    parts: z
      .array(partShape)
      .min(1, { error: 'is empty, but even a snapshot without rows has one part with a header' }),
  }),
});

/** A manifest with additional fields that only the checks need. */
export interface CheckedManifest extends Manifest {
  readonly connection: string;
  readonly baseUrl: string;
  /** The fields that must be equal in both manifests of a run, by name. */
  readonly shared: Readonly<Record<string, unknown>>;
}

/** Fields that differ between the manifests of a snapshot and of a change log. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'tree',
  'measured',
  'uniques',
  'parts',
  'counts',
  'purged',
  'replaces',
  'checksum',
]);

export type Decoded<T> = { readonly value: T; readonly problems: string[] } | { readonly problems: string[] };

/** Checks `latest.json` strictly: its fields, and that it is of its own resource. Every problem begins with `at`. */
export function checkPointer(body: Buffer, resource: string, at: ObjectKey): Decoded<Pointer> {
  checkPointerLayout(body, at);
  const read = parse(body, pointerShape, at);
  if (!('value' in read)) return read;
  const {
    checksum: _,
    layout: __,
    ...pointer
  } = read.value as Pointer & Record<'checksum' | 'layout', unknown>;
  const seal = checksumFieldProblems(body, at);
  const problems: string[] = [];
  if (pointer.resource !== resource) problems.push(`${at} names the resource ${quoted(pointer.resource)}`);
  for (const [tree, key] of [
    ['snapshots', pointer.snapshot],
    ['changes', pointer.changes],
  ] as const) {
    if (key !== null && !isManifestOf(key, resource, tree, pointer.runId)) {
      problems.push(`${at} names ${key}, which is not in the ${tree} of run ${pointer.runId}`);
    }
  }
  // If only the checksum is wrong, the manifests in the pointer can still be read.
  return problems.length === 0 ? { value: pointer, problems: seal } : { problems: [...seal, ...problems] };
}

/** @throws LakeLayoutError if the layout of the lake is of another version; the caller finds all other problems */
function checkPointerLayout(body: Buffer, at: ObjectKey): void {
  try {
    decodePointer(body, at);
  } catch (error) {
    if (error instanceof LakeLayoutError) throw error;
  }
}

function checksumFieldProblems(body: Buffer, at: ObjectKey): string[] {
  const fields = parseStored(body) as object;
  if (checksumState(fields) !== 'intact') return [`${at} is damaged: its fields do not match its checksum`];
  const { checksum: _, layout: __, ...written } = fields as Pointer & Record<'checksum' | 'layout', unknown>;
  return encodePointer(written).equals(body) ? [] : [`${at} is not formatted as this connector writes it`];
}

function isManifestOf(key: ObjectKey, resource: string, tree: Tree, run: RunId): boolean {
  const rest = key.startsWith(treePrefix(resource, tree)) ? key.slice(treePrefix(resource, tree).length) : '';
  return (
    /^dt=\d{4}-\d\d-\d\d$/.test(rest.split('/')[0] ?? '') && rest.slice(14) === `run=${run}/_datapackage.json`
  );
}

/**
 * Checks a `_datapackage.json` strictly: its fields, that resource, tree and run match its key, and that its Frictionless
 * fields match our own. A manifest whose only problems are such mismatches still has a value.
 */
export function checkManifest(
  body: Buffer,
  at: ObjectKey,
  expected: {
    readonly resource: string;
    readonly tree: 'snapshot' | 'changes';
    readonly runId: RunId;
    /** The SHA-256 in `latest.json`, if it has one. */
    readonly sha256?: string | null | undefined;
  },
): Decoded<CheckedManifest> {
  const checksums = checksumProblems(body, at, expected.sha256);
  const read = parse(body, manifestShape, at);
  if (!('value' in read)) return { problems: [...checksums, ...read.problems] };
  const { resources, worktrack } = read.value;
  const problems = checksums;
  for (const name of ['resource', 'tree', 'runId'] as const) {
    if (worktrack[name] !== expected[name]) {
      problems.push(`${at} has ${name} ${quoted(worktrack[name])} instead of ${quoted(expected[name])}`);
    }
  }
  const header = JSON.stringify(headerNames(worktrack.columns, worktrack.csv));
  if (resources.length !== worktrack.parts.length) {
    problems.push(`${at} lists ${resources.length} resources and ${worktrack.parts.length} parts`);
  }
  for (const [n, part] of worktrack.parts.entries()) {
    const other = resources[n];
    if (other === undefined) break;
    const same =
      other.path === part.path &&
      other.bytes === part.bytes &&
      other.hash === `sha256:${part.sha256}` &&
      other.rowCount === part.rows;
    if (!same) problems.push(`${at}: resource ${n} and part ${n} (${part.path}) do not agree`);
    if (JSON.stringify(other.schema.fields.map(({ name }) => name)) !== header) {
      problems.push(
        `${at}: the fields of resource ${n} (${other.path}) do not match the columns of the manifest`,
      );
    }
  }
  try {
    const fields = Object.entries((parseStored(body) as { worktrack: object }).worktrack);
    const shared = Object.fromEntries(fields.filter(([name]) => !OWN_FIELDS.has(name)));
    const { connection, baseUrl } = worktrack;
    return { value: { ...decodeUnchecked(body, folderOf(at)), connection, baseUrl, shared }, problems };
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    return { problems: [...problems, error.message] };
  }
}

function checksumProblems(body: Buffer, at: ObjectKey, sha256: string | null | undefined): string[] {
  const problems: string[] = [];
  if (typeof sha256 === 'string' && !matchesNamedChecksum(sha256, body))
    problems.push(`${at}: its SHA-256 does not match latest.json`);
  try {
    const manifest = parseStored(body) as { worktrack: object };
    if (manifestChecksumState(manifest) === 'broken')
      problems.push(`${at}: its content does not match its checksum`);
  } catch {
    // The caller reports invalid JSON next.
  }
  return problems;
}

function parse<T>(body: Buffer, shape: z.ZodType<T>, at: ObjectKey): Decoded<T> {
  let json: unknown;
  try {
    json = parseStored(body);
  } catch (error) {
    return { problems: [`${at} is not JSON: ${errorMessage(error)}`] };
  }
  const read = shape.safeParse(json);
  if (read.success) return { value: read.data, problems: [] };
  const issues = read.error.issues.map(({ path, message }) => `${path.join('.') || nameOf(at)}: ${message}`);
  return { problems: [`${at} is not a document of this connector: ${issues.slice(0, 5).join('; ')}`] };
}

function quoted(text: unknown): string {
  return JSON.stringify(text);
}
