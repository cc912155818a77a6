import { maskOf, nameAndAncestors } from '../core/column-selection.js';
import { formatDuration } from '../core/duration.js';
import { isLoopback } from '../core/notify-url.js';
import { baseUrl, errors, lake, overlap } from '../core/schema/config-schema.js';
import { isLoopbackAddress, type LakePlace, lakesOverlap, readName } from '../core/schema/readers.js';
import { type CsvKeys, csvSection } from '../core/schema/schema-output.js';
import { DEFAULT_RESOURCES, type OwnResource, resource } from '../core/schema/schema-resource.js';
import { signedByPreset } from '../core/schema/schema-signature.js';
import { listen } from '../core/schema/schema-webhook.js';
import { get, isMap, itemName } from '../core/schema/values.js';
import { formatPath, type RawProblem } from './problems.js';

type Path = RawProblem['path'];

/**
 * Checks the rules that compare two parts of the file. They read the raw tree and skip parts that are invalid, so that
 * a mistake elsewhere does not hide them: all problems are reported together.
 */
export function crossCheck(tree: unknown): RawProblem[] {
  const connections = get(tree, 'connections');
  if (!isMap(connections)) return [];
  const names = Object.keys(connections);
  if (names.length === 0)
    return [{ path: ['connections'], message: 'found no connections; allowed: at least one' }];
  return [
    ...names.flatMap((name) => checkConnection(name, connections[name])),
    ...lakeConflicts(connections),
  ];
}

function checkConnection(name: string, raw: unknown): RawProblem[] {
  const path = ['connections', name];
  return [
    ...nameProblem(name, path),
    ...plainHttp(raw, path),
    ...statusConflicts(raw, path),
    ...unsignedOnNetwork(raw, path),
    ...tokenWithDigest(raw, path),
    ...signatureKeys(raw, path),
    ...modeOfBucket(raw, path),
    ...unknownInKinds(raw, path),
    ...checkResources(raw, path),
    ...unknownInTypes(raw, path),
  ];
}

function nameProblem(name: string, path: Path): RawProblem[] {
  try {
    readName(name);
    return [];
  } catch (error) {
    return [{ path, message: `as the name of a connection, ${(error as RangeError).message}`, at: 'key' }];
  }
}

function plainHttp(raw: unknown, path: Path): RawProblem[] {
  const url = baseUrl.safeParse(get(raw, 'baseUrl')).data;
  if (url === undefined || !url.startsWith('http:') || isLoopback(new URL(url).hostname)) return [];
  if (get(raw, 'http', 'allowPlainHttp') === true) return [];
  const message = `found plain http to ${new URL(url).host}, which would send the key unencrypted; allowed: https, or http to this machine, or http.allowPlainHttp: true`;
  return [{ path: [...path, 'baseUrl'], message }];
}

function statusConflicts(raw: unknown, path: Path): RawProblem[] {
  const { transient = [], refused = [] } = errors.safeParse(get(raw, 'errors') ?? {}).data ?? {};
  const both = transient.filter((status) => refused.includes(status));
  // Point at a list that is in the file; the other list may be a default.
  const list = get(raw, 'errors', 'transient') === undefined ? 'refused' : 'transient';
  return both.map((status) => ({
    path: [...path, 'errors', list],
    message: `found ${status} in both refused and transient; allowed: only one of them`,
  }));
}

function checkResources(raw: unknown, connection: Path): RawProblem[] {
  const list = get(raw, 'resources');
  if (!Array.isArray(list)) return [];
  const overlapMs = overlap.safeParse(get(raw, 'sync', 'overlap') ?? '5m').data;
  const csv = csvSection.safeParse(get(raw, 'csv') ?? {}).data ?? csvSection.parse({});
  const names = list.map(itemName);
  const firstAt = new Map(names.map((name, i) => [name, i] as const).reverse());
  return list.flatMap((item, i): RawProblem[] => {
    const path = [...connection, 'resources', i];
    const name = names[i];
    const problems: RawProblem[] = [];
    if (typeof name === 'string' && firstAt.get(name) !== i) {
      const at = formatPath([...connection, 'resources', firstAt.get(name)!]);
      const message = `found the resource ${JSON.stringify(name)} again; names are unique within a connection, and ${at} already has it`;
      problems.push({ path: typeof item === 'string' ? path : [...path, 'name'], message });
    }
    const parsed = resource.safeParse(item).data;
    return parsed
      ? [...problems, ...windowConflicts(parsed, overlapMs, path), ...columnConflicts(parsed, csv, path)]
      : problems;
  });
}

/** The names of a connection's resources, as they are written; `null` for another value than a list. */
function resourceNames(raw: unknown): readonly unknown[] | null {
  const list = get(raw, 'resources') ?? DEFAULT_RESOURCES;
  return Array.isArray(list) ? list.map(itemName) : null;
}

function unknownInTypes(raw: unknown, path: Path): RawProblem[] {
  const types = get(raw, 'tables', 'types');
  const names = resourceNames(raw);
  if (!isMap(types) || names === null) return [];
  return Object.keys(types)
    .filter((name) => !names.includes(name))
    .map((name) => ({
      path: [...path, 'tables', 'types', name],
      message: `found types for ${JSON.stringify(name)}, which is not a resource of the connection; allowed: ${names.join(', ')}`,
      at: 'key' as const,
    }));
}

function windowConflicts(
  { windowMs, windowField }: OwnResource,
  overlapMs: number | undefined,
  path: Path,
): RawProblem[] {
  if (windowMs === null && windowField !== null) {
    const message = 'found a windowField but no window; windowField requires window';
    return [{ path: [...path, 'windowField'], message }];
  }
  if (windowMs === null || overlapMs === undefined || windowMs > overlapMs) return [];
  const message = `found a window of ${formatDuration(windowMs)}; allowed: longer than sync.overlap, which is ${formatDuration(overlapMs)}`;
  return [{ path: [...path, 'window'], message }];
}

/**
 * Checks a resource's `columns` for contradictions. The key identifies records, and `updatedAt` and `windowField` are
 * compared with the snapshot, so these fields must be mirrored and readable, like the field of `deleted`.
 */
function columnConflicts(resource: OwnResource, ofConnection: CsvKeys, path: Path): RawProblem[] {
  const { include, exclude, mask } = resource.columns;
  const problems: RawProblem[] = [];
  // Settings of an object apply to its flattened fields.
  const namesOf = (field: string): string[] => nameAndAncestors({ ...ofConnection, ...resource.csv }, field);
  const add = (list: string, message: string) => problems.push({ path: [...path, 'columns', list], message });

  for (const field of resource.key) {
    if (exclude.includes(field))
      add('exclude', `found ${JSON.stringify(field)}, which is part of the key; the key cannot be excluded`);
    if (maskOf({ mask }, namesOf(field)) === 'redact') {
      add(
        'mask',
        `found ${JSON.stringify(field)}: redact, which would make all keys equal; allowed for a key field: hash`,
      );
    }
  }
  const fields = {
    updatedAt: resource.updatedAtField,
    windowField: resource.windowField,
    'deleted.field': resource.deleted?.field ?? null,
  };
  for (const [option, field] of Object.entries(fields)) {
    if (field === null) continue;
    const needed = `the ${option} field, which later runs need`;
    const names = namesOf(field);
    if (names.some((one) => exclude.includes(one)))
      add('exclude', `found ${JSON.stringify(field)}, ${needed}; it cannot be excluded`);
    if (include && !names.some((one) => include.includes(one)))
      add('include', `${JSON.stringify(field)} is missing: it is ${needed}`);
    if (maskOf({ mask }, names) !== undefined)
      add('mask', `found ${JSON.stringify(field)}, ${needed}; it cannot be masked`);
  }
  for (const field of exclude) {
    if (include?.includes(field))
      add('exclude', `found ${JSON.stringify(field)} in both include and exclude; allowed: only one of them`);
  }
  return [...problems, ...checkConflicts(resource, path)];
}

/** Checks see what is published, so their fields must be mirrored, and most need values that are not masked. */
function checkConflicts({ columns, key, checks }: OwnResource, path: Path): RawProblem[] {
  const { include, exclude, mask } = columns;
  return checks.flatMap((check): RawProblem[] => {
    if (!('field' in check)) return [];
    const { field, kind } = check;
    const add = (message: string) => [
      { path: [...path, 'checks'], message: `found ${kind} of ${JSON.stringify(field)}, ${message}` },
    ];
    // A flattened object is included by its own name.
    const isIncluded =
      !include || key.includes(field) || include.some((one) => field === one || field.startsWith(one));
    if (exclude.includes(field))
      return add('which columns.exclude leaves out; allowed: fields that are mirrored');
    if (!isIncluded)
      return add(
        `which columns.include leaves out; allowed: ${[...key, ...include].map((one) => JSON.stringify(one)).join(', ')}`,
      );
    if (!Object.hasOwn(mask, field) || kind === 'notNull') return [];
    if (kind === 'unique')
      return mask[field] === 'hash'
        ? []
        : add('which columns.mask makes equal (redact); allowed: hash, or no mask');
    return add(
      'which columns.mask replaces, so its values cannot be checked; allowed: fields without a mask',
    );
  });
}

function lakeConflicts(connections: Readonly<Record<string, unknown>>): RawProblem[] {
  const lakes: { name: string; place: LakePlace }[] = [];
  return Object.entries(connections).flatMap(([name, raw]): RawProblem[] => {
    const place = lake.safeParse(get(raw, 'lake')).data;
    if (!place) return [];
    const rival = lakes.find((other) => lakesOverlap(other.place, place));
    lakes.push({ name, place });
    if (!rival) return [];
    const message = `found ${place.url}, which equals, is inside, or contains the lake of ${rival.name}, ${rival.place.url}; allowed: separate lakes`;
    return [{ path: ['connections', name, 'lake', 'url'], message }];
  });
}

function unsignedOnNetwork(raw: unknown, path: Path): RawProblem[] {
  if (get(raw, 'webhook', 'signature') !== 'none') return [];
  const address = listen.safeParse(get(raw, 'webhook', 'listen') ?? '127.0.0.1:8080').data;
  if (!address || isLoopbackAddress(address.host)) return [];
  const message =
    'found none with a listen address that other machines can reach; allowed: a signature, or listen on 127.0.0.1';
  return [{ path: [...path, 'webhook', 'signature'], message }];
}

/** `timestamp` has no effect with a token. Without this error, a user could believe that it prevents replays. */
function tokenWithDigest(raw: unknown, path: Path): RawProblem[] {
  const signature = get(raw, 'webhook', 'signature');
  if (get(signature, 'algorithm') !== 'token') return [];
  return ['preset', 'encoding', 'format', 'signs', 'key', 'tolerance', 'timestamp']
    .filter((key) => get(signature, key) !== undefined)
    .map((key) => ({
      path: [...path, 'webhook', 'signature', key],
      at: 'key',
      message: `found ${key} with algorithm: token, which does not sign; ${key} requires one of the hmac algorithms`,
    }));
}

/** A bucket has no mode. */
function modeOfBucket(raw: unknown, path: Path): RawProblem[] {
  const isBucket = String(get(raw, 'lake', 'url') ?? '').startsWith('s3:');
  if (!isBucket || get(raw, 'lake', 'mode') === undefined) return [];
  const message = 'found mode with a lake in S3; allowed: with a folder only';
  return [{ path: [...path, 'lake', 'mode'], at: 'key', message }];
}

/** Keys of a signature that exclude or require another one. */
function signatureKeys(raw: unknown, path: Path): RawProblem[] {
  const signature = get(raw, 'webhook', 'signature');
  if (!isMap(signature)) return [];
  const at = (key: string, message: string): RawProblem[] => [
    { path: [...path, 'webhook', 'signature', key], at: 'key', message },
  ];
  const has = (key: string): boolean => get(signature, key) !== undefined;
  const signs = get(signature, 'signs') ?? signedByPreset(get(signature, 'preset'));
  const needsUrl = typeof signs === 'string' && signs.includes('{url}');
  return [
    ...(has('secret') && has('secrets')
      ? at('secrets', 'found both secret and secrets; one of them is enough')
      : []),
    ...(needsUrl && get(raw, 'webhook', 'publicUrl') === undefined
      ? at(has('signs') ? 'signs' : 'preset', 'the URL is signed, so webhook.publicUrl is required')
      : []),
  ];
}

function unknownInKinds(raw: unknown, path: Path): RawProblem[] {
  const kinds = get(raw, 'webhook', 'kinds');
  if (!isMap(kinds)) return [];
  const known = resourceNames(raw);
  if (known === null) return [];
  return Object.entries(kinds).flatMap(([kind, named]) =>
    [named]
      .flat()
      .filter((name) => typeof name === 'string' && !known.includes(name))
      .map((name) => ({
        path: [...path, 'webhook', 'kinds', kind],
        message: `found the resource ${JSON.stringify(name)}; allowed: ${known.join(', ')}`,
      })),
  );
}
