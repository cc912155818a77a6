import { z } from 'zod';
import type { ObjectKey, RunId } from '../../core/brands.js';
import { folderOf, nameOf, type Tree, treePrefix } from '../layout.js';
import { decodeManifest, type Manifest } from '../manifest.js';
import type { Pointer } from '../pointer.js';
import { isRunId } from '../run-id.js';
import { META_COLUMNS } from '../schema.js';
import { keyProblem } from '../store/key.js';

const count = z.int().min(0);
const runId = z.string().refine(isRunId, { error: 'is no run id' });
const objectKey = z.string().refine((text) => keyProblem(text) === null, { error: 'is no object key' });
const utcSeconds = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, { error: 'is no UTC time' });
const sortKey = z.string().nullable();

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
});

const partShape = z.object({
  path: z.string().regex(/^[^/\\]+$/, { error: 'is not the name of an object in the folder' }),
  bytes: count,
  rawBytes: count,
  rows: count,
  crc32: z.string().regex(/^[0-9a-f]{8}$/, { error: 'is no CRC32' }),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, { error: 'is no SHA-256' }),
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
    previousRunId: runId.nullable(),
    key: z.array(z.string()).min(1),
    counts: z.object(Object.fromEntries(counts.map((name) => [name, count]))),
    csv: z.object({ delimiter: z.string().length(1), compression: z.enum(['gzip', 'none']) }),
    columns: z.array(z.object({ name: z.string(), types: count })),
    parts: z.array(partShape).min(1, { error: 'is empty: even a snapshot without rows has a header' }),
  }),
});

/** A manifest with what only checks need of it. */
export interface CheckedManifest extends Manifest {
  readonly key: readonly string[];
}

export type Decoded<T> = { readonly value: T; readonly problems: string[] } | { readonly problems: string[] };

/** Reads `latest.json` strictly: its shape, and that it names its own resource. Every problem begins with `at`. */
export function checkPointer(body: Buffer, resource: string, at: ObjectKey): Decoded<Pointer> {
  const read = parse(body, pointerShape, at);
  if (!('value' in read)) return read;
  const pointer = read.value as Pointer;
  const problems: string[] = [];
  if (pointer.resource !== resource) problems.push(`${at} is of the resource ${quoted(pointer.resource)}`);
  for (const [tree, key] of [
    ['snapshots', pointer.snapshot],
    ['changes', pointer.changes],
  ] as const) {
    if (key !== null && !isManifestOf(key, resource, tree, pointer.runId)) {
      problems.push(`${at} names ${key}, which is not in the ${tree} of run ${pointer.runId}`);
    }
  }
  return problems.length === 0 ? { value: pointer, problems } : { problems };
}

function isManifestOf(key: ObjectKey, resource: string, tree: Tree, run: RunId): boolean {
  const rest = key.startsWith(treePrefix(resource, tree)) ? key.slice(treePrefix(resource, tree).length) : '';
  return (
    /^dt=\d{4}-\d\d-\d\d$/.test(rest.split('/')[0] ?? '') && rest.slice(14) === `run=${run}/_datapackage.json`
  );
}

/**
 * Reads a `_datapackage.json` strictly: its shape, that it is of the resource, tree and run that its place says,
 * and that what it tells other tools (Frictionless) is what it tells us. A manifest with problems of the second
 * kind still has a value.
 */
export function checkManifest(
  body: Buffer,
  at: ObjectKey,
  expected: { readonly resource: string; readonly tree: 'snapshot' | 'changes'; readonly runId: RunId },
): Decoded<CheckedManifest> {
  const read = parse(body, manifestShape, at);
  if (!('value' in read)) return read;
  const { resources, worktrack } = read.value;
  const problems: string[] = [];
  for (const name of ['resource', 'tree', 'runId'] as const) {
    if (worktrack[name] !== expected[name]) {
      problems.push(`${at} says ${name} ${quoted(worktrack[name])} and not ${quoted(expected[name])}`);
    }
  }
  const header = JSON.stringify([...META_COLUMNS, ...worktrack.columns.map(({ name }) => name)]);
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
    if (!same) problems.push(`${at}: resource ${n} and part ${n} (${part.path}) do not say the same`);
    if (JSON.stringify(other.schema.fields.map(({ name }) => name)) !== header) {
      problems.push(`${at}: the fields of resource ${n} (${other.path}) are not the columns of the manifest`);
    }
  }
  const value = { ...decodeManifest(body, folderOf(at)), key: worktrack.key };
  return { value, problems };
}

function parse<T>(body: Buffer, shape: z.ZodType<T>, at: ObjectKey): Decoded<T> {
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch (error) {
    return { problems: [`${at} is not JSON: ${(error as Error).message}`] };
  }
  const read = shape.safeParse(json);
  if (read.success) return { value: read.data, problems: [] };
  const issues = read.error.issues.map(({ path, message }) => `${path.join('.') || nameOf(at)}: ${message}`);
  return { problems: [`${at} is not as this connector writes it: ${issues.slice(0, 5).join('; ')}`] };
}

function quoted(text: unknown): string {
  return JSON.stringify(text);
}
