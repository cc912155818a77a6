import { DAY_MS } from '../core/duration.js';
import type {
  ConnectionSettings,
  CsvSettings,
  ResourceSettings,
  SuccessRule,
  WriteBackSettings,
} from '../core/settings.js';

/** Settings of `csv`, before the size of a part is known. */
type CsvKeys = Omit<CsvSettings, 'partBytes'> & { readonly partBytes?: number };

/** A resource with its own keys; the others are settings of its connection. */
export type OwnResource = Omit<ResourceSettings, 'deletes' | 'csv'> & {
  readonly deletes?: ResourceSettings['deletes'];
  readonly csv?: { readonly [Key in keyof CsvKeys]?: CsvKeys[Key] };
};

type OwnWrite<Write extends SuccessRule & { readonly path: string }> = Omit<Write, 'path' | 'idField'> & {
  readonly path?: string;
  readonly idField?: string;
};

/** A connection as the file has it: some settings apply to all resources, and some depend on another one. */
interface OwnConnection
  extends Omit<ConnectionSettings, 'name' | 'resources' | 'writeBack'>,
    Pick<ResourceSettings, 'deletes'> {
  readonly csv: CsvKeys;
  readonly resources: readonly OwnResource[];
  readonly writeBack: Omit<WriteBackSettings, 'time-entries' | 'calendar-entries' | 'escapeFormulas'> & {
    readonly [Resource in 'time-entries' | 'calendar-entries']: OwnWrite<WriteBackSettings[Resource]>;
  };
}

const MiB = 1024 ** 2;
/** Enough for good compression and few requests. */
const PART_BYTES = 64 * MiB;
/** Smaller with a table, because a change rewrites the data file of its part, which costs more than the part. */
const TABLE_PART_BYTES = 16 * MiB;

/** Gives each resource the settings of its connection that it does not have itself, and writes the paths of lists. */
export function completeConnection({
  csv,
  deletes,
  ...connection
}: OwnConnection): Omit<ConnectionSettings, 'name'> {
  const partBytes = connection.tables === null ? PART_BYTES : TABLE_PART_BYTES;
  const resources = connection.resources.map((resource) => ({
    ...{ deletes, ...resource },
    csv: { partBytes, ...csv, ...resource.csv },
  }));
  return { ...connection, resources, writeBack: completeWriteBack(connection.writeBack, resources, csv) };
}

/** By default, a write uses the path and the id of the resource's list. */
function completeWriteBack(
  writeBack: OwnConnection['writeBack'],
  resources: readonly ResourceSettings[],
  csv: CsvKeys,
): WriteBackSettings {
  const of = <Write extends OwnWrite<SuccessRule & { readonly path: string }>>(
    name: string,
    write: Write,
  ) => {
    const mirrored = resources.find((resource) => resource.name === name);
    return { path: mirrored?.path ?? name, idField: idFieldOf(mirrored), ...write };
  };
  const escapes = (name: string) =>
    (resources.find((resource) => resource.name === name)?.csv ?? csv).escapeFormulas;
  return {
    ...writeBack,
    'time-entries': of('time-entries', writeBack['time-entries']),
    'calendar-entries': of('calendar-entries', writeBack['calendar-entries']),
    escapeFormulas: {
      'time-entries': escapes('time-entries'),
      'calendar-entries': escapes('calendar-entries'),
    },
  };
}

/** The key of a mirrored resource, if it is one field. The key of calendar entries is the pair, which they need not return. */
function idFieldOf(resource: ResourceSettings | undefined): string {
  const [field, ...others] = resource?.key ?? [];
  if (resource === undefined || field === undefined || others.length > 0) return 'id';
  // A flattened key is nested in the response.
  const isNested = resource.csv.nested === 'flatten' && field.includes('.');
  return isNested ? `/${field.split('.').map(escapeToken).join('/')}` : field;
}

/** RFC 6901, section 3. */
function escapeToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The resources in the API, mirrored if the file names none. */
export const DEFAULT_RESOURCES = ['projects', 'tasks', 'time-entries', 'calendar-entries'];

type NameDefaults = Pick<ResourceSettings, 'key' | 'windowMs' | 'fetchById'>;

const USUAL: NameDefaults = { key: ['id'], windowMs: null, fetchById: false };

/** From the API: windows of 90 days, the compound key of calendar entries, and fetch by id for projects only. */
const BY_NAME: ReadonlyMap<string, NameDefaults> = new Map([
  ['projects', { ...USUAL, fetchById: true }],
  ['time-entries', { ...USUAL, windowMs: 90 * DAY_MS }],
  ['calendar-entries', { ...USUAL, windowMs: 90 * DAY_MS, key: ['source', 'sourceKey'] }],
]);

/** The settings of a resource whose defaults depend on its name. */
export function defaultsOf(name: string): NameDefaults {
  return BY_NAME.get(name) ?? USUAL;
}
