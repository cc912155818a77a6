import { stringify } from 'yaml';
import { DEFAULT_RESOURCES } from '../core/schema/schema-resource.js';
import { get, isMap, itemName } from '../core/schema/values.js';
import { applyDefaults } from './defaults.js';
import { readDocument } from './document.js';

/** The values of a first configuration; everything else has a default. */
export interface StarterAnswers {
  readonly connection: string;
  readonly baseUrl: string;
  readonly lake: string;
  /** Endpoint of an S3-compatible store. Default: AWS. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Name of the environment variable with the key, never the key itself. */
  readonly apiKeyEnv: string;
  readonly resources: readonly string[];
  /** The field that dates the window of a list, by resource, as far as the service shows it. Default: none. */
  readonly windowFields?: Readonly<Record<string, string>> | undefined;
}

export const STARTER_DEFAULTS = {
  connection: 'main',
  apiKeyEnv: 'WORKTRACK_API_KEY',
  resources: DEFAULT_RESOURCES,
} as const;

/**
 * The text of a first `worktrack.yaml` with comments. The answers are not checked; `parseSettings` reports invalid ones.
 *
 * @param schema path of the JSON Schema for editors, relative to the file
 */
export function starterConfig(answers: StarterAnswers, schema: string): string {
  const { connection, baseUrl, lake, endpoint, region, apiKeyEnv, resources, windowFields = {} } = answers;
  const where = [
    `      url: ${scalar(lake)}`,
    ...(endpoint === undefined ? [] : [`      endpoint: ${scalar(endpoint)}`, '      forcePathStyle: true']),
    ...(region === undefined ? [] : [`      region: ${scalar(region)}`]),
  ];
  return `# yaml-language-server: $schema=${schema}
# Configuration of temporal-worktrack. \`worktrack config check\` validates it, \`worktrack doctor\` tests it, and
# \`worktrack config schema\` prints all keys.
connections:
  ${scalar(connection)}:
    # URL of the service, without /api/public/v2.
    baseUrl: ${scalar(baseUrl)}
    # Source of the API key: an environment variable, or { file: /run/secrets/worktrack }. Never the key itself.
    apiKey: { env: ${scalar(apiKeyEnv)} }
    # S3 credentials do not belong here. The AWS SDK finds them (AWS_ACCESS_KEY_ID, a profile, a role).
    lake:
${where.join('\n')}
    # Any list endpoint of the service: a name, or { name: members, path: members, key: [id], window: 90d }.
    resources:${resources.length === 0 ? ' []' : resources.map((name) => `\n      - ${item(name, windowFields)}`).join('')}
    # The nightly run; apply changes with \`worktrack schedule apply\`. These are the defaults.
    # schedule: { cron: "0 2 * * *", timezone: UTC }
    # retention: { snapshots: 30d }
`;
}

/** A resource, with the date of its window if it is known. */
function item(name: string, windowFields: Readonly<Record<string, string>>): string {
  const field = Object.hasOwn(windowFields, name) ? windowFields[name] : undefined;
  if (field === undefined) return scalar(name);
  return `{ name: ${scalar(name)}, windowField: ${JSON.stringify(field)} } # found in the list; check it`;
}

/** One value, quoted if YAML would read it as another type. */
function scalar(text: string): string {
  return stringify(text, { lineWidth: 0, defaultStringType: 'PLAIN' }).trimEnd();
}

/** Keys of a connection's `sync` and of its resources, by name, as they are written in the file. */
interface SettingsToPaste {
  readonly sync: Readonly<Record<string, string | number | readonly string[]>>;
  readonly resources: Readonly<Record<string, Readonly<Record<string, string | boolean | object>>>>;
}

/**
 * The keys `sync` and `resources` of a connection with some settings added, and with those of `defaults`, as YAML that replaces these keys in the file. All
 * other settings of the two keys stay. A key without additions is left out.
 *
 * @param text the configuration file
 * @returns lines with the indentation of a connection's keys; empty without additions
 */
export function settingsToPaste(text: string, connection: string, added: SettingsToPaste): string {
  const raw = get(applyDefaults(readDocument(text).tree).tree, 'connections', connection);
  const sync = get(raw, 'sync');
  const list = get(raw, 'resources') ?? DEFAULT_RESOURCES;
  const keys = {
    ...(Object.keys(added.sync).length === 0
      ? {}
      : { sync: { ...(isMap(sync) ? sync : {}), ...added.sync } }),
    ...(Object.keys(added.resources).length === 0 || !Array.isArray(list)
      ? {}
      : { resources: withSettings(list, added.resources) }),
  };
  if (Object.keys(keys).length === 0) return '';
  const yaml = stringify(keys, { lineWidth: 0, flowCollectionPadding: true });
  return yaml.replaceAll(/^(?=.)/gm, '    ');
}

/** A list of resources, as a file has it, with more settings of some of them, by name. A value that is no list stays. */
export function withSettings(list: unknown, added: SettingsToPaste['resources']): unknown {
  return Array.isArray(list) ? list.map((item: unknown) => withAdded(item, added)) : list;
}

function withAdded(item: unknown, added: SettingsToPaste['resources']): unknown {
  const name = itemName(item);
  const more = typeof name === 'string' && Object.hasOwn(added, name) ? added[name] : undefined;
  if (more === undefined) return item;
  return isMap(item) ? { ...item, ...more } : { name, ...more };
}
