import { stringify } from 'yaml';
import { DEFAULT_RESOURCES } from './default-resources.js';

/** What a first configuration says; everything else has a default. */
export interface StarterAnswers {
  readonly connection: string;
  readonly baseUrl: string;
  readonly lake: string;
  /** Of an S3-compatible store; absent: AWS. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Name of the environment variable that will hold the key. Never the key. */
  readonly apiKeyEnv: string;
  readonly resources: readonly string[];
}

export const STARTER_DEFAULTS = {
  connection: 'main',
  apiKeyEnv: 'WORKTRACK_API_KEY',
  resources: DEFAULT_RESOURCES,
} as const;

/**
 * The text of a first `worktrack.yaml`, with the hints that a first reader needs. It is not checked: give it to
 * `parseSettings`, which says what of the answers is wrong.
 *
 * @param schema path of the JSON Schema relative to the file, for editors
 */
export function starterConfig(answers: StarterAnswers, schema: string): string {
  const { connection, baseUrl, lake, endpoint, region, apiKeyEnv, resources } = answers;
  const where = [
    `      url: ${scalar(lake)}`,
    ...(endpoint === undefined ? [] : [`      endpoint: ${scalar(endpoint)}`, '      forcePathStyle: true']),
    ...(region === undefined ? [] : [`      region: ${scalar(region)}`]),
  ];
  return `# yaml-language-server: $schema=${schema}
# The configuration of temporal-worktrack. \`worktrack config check\` reads it as a worker would, \`worktrack doctor\`
# tries it, and \`worktrack config schema\` prints every key there is.
connections:
  ${scalar(connection)}:
    # The service's address; /api/public/v2 is added.
    baseUrl: ${scalar(baseUrl)}
    # Where the worker reads the key from: a variable, or { file: /run/secrets/worktrack }. Never the key itself.
    apiKey: { env: ${scalar(apiKeyEnv)} }
    # S3 credentials are not written here: the AWS SDK finds them (AWS_ACCESS_KEY_ID, a profile, a role).
    lake:
${where.join('\n')}
    # Any list of the service: a name, or { name: members, path: members, key: [id], window: 90d }.
    resources:${resources.length === 0 ? ' []' : resources.map((name) => `\n      - ${scalar(name)}`).join('')}
    # The nightly run, which \`worktrack schedule apply\` sets up. These are the defaults.
    # schedule: { cron: "0 2 * * *", timezone: UTC }
    # retention: { snapshots: 30d }
`;
}

/** One value, quoted where YAML would read it as something else. */
function scalar(text: string): string {
  return stringify(text, { lineWidth: 0, defaultStringType: 'PLAIN' }).trimEnd();
}
