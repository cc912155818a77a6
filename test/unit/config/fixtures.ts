import { SettingsError } from '../../../src/config/index.js';
import { parseSettings } from '../../../src/config/load.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';

/** The example of docs/reference/configuration.md, with every optional key. */
export const DOCUMENTED_EXAMPLE = `
connections:
  acme:
    baseUrl: https://tracker.example.com          # {base_url}; /api/public/v2 is added
    apiKey: { env: WORKTRACK_API_KEY }            # or { file: /run/secrets/worktrack }
    lake:
      url: s3://company-lake/worktrack
      region: eu-central-1
      endpoint: http://127.0.0.1:9000             # optional: any S3-compatible store
      forcePathStyle: true
    resources:                                    # default: all four
      - projects
      - tasks
      - time-entries
      - name: calendar-entries
        path: calendar-entries                    # the API does not state it, so settable
        key: [source, sourceKey]
        window: 90d
      - { name: members, path: members }          # "and so on": any list endpoint
`;

export const DOCUMENTED_MORE_KEYS = `
    retries: { giveUpAfter: 6h }
    errors: { refused: [401, 402, 403], transient: [408, 425, 429, 5xx] }   # statuses that the API leaves open; 5xx is a class
    sync: { pageSize: 1000, overlap: 5m, clock: earliest, reconcileEvery: 7d, minInterval: 15m }
    deletes: mark                                 # mark, drop or keep
    csv: { compression: gzip, nested: json, lineBreaks: keep, escapeFormulas: false }
    retention: { snapshots: 30d }
    tables: { format: none }                      # or delta
    schedule: { cron: "0 2 * * *", timezone: UTC, jitter: 5m, catchupWindow: 24h, pauseOnFailure: false }
    webhook:
      listen: 127.0.0.1:8080                      # POST /hooks/<connection>
      signature: { header: X-Webhook-Signature, algorithm: hmac-sha256, encoding: hex, prefix: "", secret: { env: WORKTRACK_WEBHOOK_SECRET } }
      resource: /resource                         # JSON pointer to the resource's name in the notice; absent or unknown: all resources
    writeBack:
      time-entries: { path: time-entries }
      calendar-entries: { style: put-path }       # put-path: PUT /calendar-entries/{source}/{sourceKey}; put-body; post-body
`;

/** A configuration that is good but for the lines that a test adds to its connection `acme`. */
export function withLines(
  lines: string,
  replace: Partial<Record<'baseUrl' | 'apiKey' | 'lake', string>> = {},
): string {
  const { baseUrl = 'https://t.example', apiKey = '{ env: KEY }', lake = '{ url: s3://lake }' } = replace;
  const indented = lines.split('\n').map((line) => `    ${line}`);
  return [
    'connections:',
    '  acme:',
    `    baseUrl: ${baseUrl}`,
    `    apiKey: ${apiKey}`,
    `    lake: ${lake}`,
    ...indented,
    '',
  ].join('\n');
}

/** The only connection of a text that must be good. */
export function connectionOf(text: string): ConnectionSettings {
  const [connection] = parseSettings(text, 'test.yaml').connections;
  if (!connection) throw new Error('the text has no connection');
  return connection;
}

/** The error of a text that must be bad. */
export function errorOf(text: string): SettingsError {
  try {
    parseSettings(text, 'test.yaml');
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
  throw new Error('the text has no problem');
}
