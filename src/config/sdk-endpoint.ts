import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { get, isMap } from '../core/schema/values.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Adds the endpoint that the AWS SDK takes from its variables or profile to each lake in S3 without `endpoint`. Statements,
 * proxies and messages then name the store that runs use.
 *
 * @param tree of the configuration, before it is checked
 */
export function withSdkEndpoints(tree: unknown, env: Environment): unknown {
  const connections = get(tree, 'connections');
  if (!isMap(tree) || !isMap(connections)) return tree;
  const entries = Object.entries(connections).map(([name, one]) => [name, withEndpoint(one, env)]);
  return { ...tree, connections: Object.fromEntries(entries) };
}

function withEndpoint(connection: unknown, env: Environment): unknown {
  const lake = get(connection, 'lake');
  if (!isMap(connection) || !isMap(lake) || Object.hasOwn(lake, 'endpoint')) return connection;
  if (typeof lake.url !== 'string' || !lake.url.startsWith('s3://')) return connection;
  const endpoint = sdkEndpoint(typeof lake.profile === 'string' ? lake.profile : undefined, env);
  return endpoint === null ? connection : { ...connection, lake: { ...lake, endpoint } };
}

/**
 * The endpoint of S3 in `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, or the profile, in this order
 * (https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html).
 *
 * @param profile default: `AWS_PROFILE`, or `default`
 * @returns `null` if none is set
 */
export function sdkEndpoint(profile: string | undefined, env: Environment): string | null {
  const value = (name: string): string | undefined => env[name]?.trim() || undefined;
  if (value('AWS_IGNORE_CONFIGURED_ENDPOINT_URLS')?.toLowerCase() === 'true') return null;
  const named = value('AWS_ENDPOINT_URL_S3') ?? value('AWS_ENDPOINT_URL');
  if (named !== undefined) return named;
  const file = value('AWS_CONFIG_FILE') ?? join(value('HOME') ?? homedir(), '.aws', 'config');
  const sections = readSections(file);
  const name = profile ?? value('AWS_PROFILE') ?? 'default';
  const own = sections.get(`profile ${name}`) ?? sections.get(name);
  if (own === undefined || own.get('ignore_configured_endpoint_urls') === 'true') return null;
  const services = sections.get(`services ${own.get('services') ?? ''}`);
  return services?.get('s3.endpoint_url') ?? own.get('endpoint_url') ?? null;
}

/** Sections of an AWS configuration file, with their settings. A nested setting is `s3.endpoint_url`. No file: none. */
function readSections(file: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let settings: Map<string, string> | null = null;
  let parent = '';
  for (const line of textOf(file).split(/\r?\n/)) {
    const text = line.split(/(?:^|\s)[;#]/)[0]!.trim();
    if (text.startsWith('[') && text.endsWith(']')) {
      settings = new Map();
      parent = '';
      sections.set(text.slice(1, -1).replace(/["']/g, '').trim().replace(/\s+/g, ' '), settings);
      continue;
    }
    const at = text.indexOf('=');
    if (settings === null || at < 1) continue;
    const [name, value] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
    if (value === '') parent = `${name}.`;
    else {
      if (!/^\s/.test(line)) parent = '';
      settings.set(parent + name, value);
    }
  }
  return sections;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The SDK ignores a file that it cannot read.
    return '';
  }
}
