import type { z } from 'zod';
import type { ObjectKey, RunId } from '../../core/brands.js';
import { errorMessage } from '../../core/errors.js';
import { parseStored } from '../../core/stored-json.js';
import { DamagedError } from '../damaged-error.js';
import { checksumState, manifestChecksumState, matchesNamedChecksum } from '../documents/checksums.js';
import { manifestSchema, pointerSchema, type StoredPointer } from '../documents/document-schemas.js';
import { folderOf, LakeLayoutError, manifestKey, nameOf, type Tree } from '../documents/lake-layout.js';
import { decodeManifest, type Manifest } from '../documents/manifest.js';
import { decodePointer, encodePointer, type Pointer } from '../documents/pointer.js';
import { headerNames } from '../rows/data-columns.js';

/** A manifest with additional fields that only the checks need. */
export interface CheckedManifest extends Manifest {
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

/** `value`: absent if the document cannot be used. */
export interface Decoded<T> {
  readonly value?: T;
  readonly problems: string[];
}

/** A manifest of a run with its expected values. */
export interface NamedManifest {
  readonly key: ObjectKey;
  readonly resource: string;
  readonly tree: 'snapshot' | 'changes';
  readonly runId: RunId;
  /** The SHA-256 in `latest.json`, if it names this manifest. */
  readonly sha256?: string | null | undefined;
}

/**
 * Checks all fields of `latest.json`, and that it is of its own resource. Every problem begins with `at`.
 *
 * @throws LakeLayoutError if the layout of the lake is of another version
 */
export function checkPointer(body: Buffer, resource: string, at: ObjectKey): Decoded<Pointer> {
  try {
    decodePointer(body, at);
  } catch (error) {
    // All other problems are found below.
    if (error instanceof LakeLayoutError) throw error;
  }
  const read = parse(body, pointerSchema, at);
  if (read.value === undefined) return { problems: read.problems };
  const { checksum: _, layout: __, ...pointer } = read.value as StoredPointer;
  const seal = checksumFieldProblems(body, read.json as object, at);
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

function checksumFieldProblems(body: Buffer, fields: object, at: ObjectKey): string[] {
  if (checksumState(fields) !== 'intact') return [`${at} is damaged: its fields do not match its checksum`];
  const { checksum: _, layout: __, ...written } = fields as StoredPointer;
  return encodePointer(written).equals(body) ? [] : [`${at} is not formatted as this connector writes it`];
}

function isManifestOf(key: ObjectKey, resource: string, tree: Tree, run: RunId): boolean {
  const date = /\/dt=(\d{4}-\d\d-\d\d)\//.exec(key)?.[1];
  return date !== undefined && key === manifestKey(resource, tree, date, run);
}

/**
 * Checks all fields of a `_datapackage.json`, that resource, tree and run match its key, and that its Frictionless
 * fields match our own. A manifest whose only problems are such mismatches still has a value.
 */
export function checkManifest(
  body: Buffer,
  { key: at, sha256, ...expected }: NamedManifest,
): Decoded<CheckedManifest> {
  const read = parse(body, manifestSchema, at);
  const json = read.json as { readonly worktrack?: object } | null;
  const problems: string[] = [];
  if (typeof sha256 === 'string' && !matchesNamedChecksum(sha256, body))
    problems.push(`${at}: its SHA-256 does not match latest.json`);
  if (json?.worktrack && manifestChecksumState({ ...json, worktrack: json.worktrack }) === 'broken')
    problems.push(`${at}: its content does not match its checksum`);
  if (read.value === undefined) return { problems: [...problems, ...read.problems] };
  const { resources, worktrack } = read.value;
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
    const fields = Object.entries(json!.worktrack!);
    const shared = Object.fromEntries(fields.filter(([name]) => !OWN_FIELDS.has(name)));
    return { value: { ...decodeManifest(body, folderOf(at), 'unchecked'), shared }, problems };
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    return { problems: [...problems, error.message] };
  }
}

/** `json`: the document as it is; `null` if it is not JSON. */
function parse<T>(body: Buffer, shape: z.ZodType<T>, at: ObjectKey): Decoded<T> & { readonly json: unknown } {
  let json: unknown;
  try {
    json = parseStored(body);
  } catch (error) {
    return { json: null, problems: [`${at} is not JSON: ${errorMessage(error)}`] };
  }
  const read = shape.safeParse(json);
  if (read.success) return { json, value: read.data, problems: [] };
  const issues = read.error.issues.map(({ path, message }) => `${path.join('.') || nameOf(at)}: ${message}`);
  return { json, problems: [`${at} is not a document of this connector: ${issues.slice(0, 5).join('; ')}`] };
}

function quoted(text: unknown): string {
  return JSON.stringify(text);
}
