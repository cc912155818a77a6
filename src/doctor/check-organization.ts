import { withTimeout } from '../core/reachability.js';
import { resolveSecret, secretFingerprint } from '../core/secrets.js';
import type { ConnectionSettings } from '../core/settings.js';
import type { Organization } from '../lake/documents/document-schemas.js';
import { readManifest } from '../lake/documents/manifest.js';
import { readPointer } from '../lake/documents/pointer.js';
import { keyIsId } from '../lake/rows/profile.js';
import { type ObjectStore, openStore } from '../lake/store/index.js';
import { type Finding, ok, warning } from './finding.js';

/** What the published snapshot of a resource says about API keys; `null`: an earlier version has written it. */
interface Snapshot {
  readonly name: string;
  readonly organization: Organization | null;
}

/**
 * On what the check of the organization rests (docs/explanation/guarantees.md#organization-check): the configured key, and what the
 * snapshots say. Finds nothing if the key or the lake cannot be read, because other checks report that.
 *
 * @param timeoutMs time limit of reading the lake
 */
export async function checkOrganization(
  connection: ConnectionSettings,
  timeoutMs: number,
): Promise<Finding[]> {
  const { value } = await resolveSecret(connection.apiKey, { form: 'header' });
  const fingerprint = secretFingerprint(value, 'an API key');
  const store = openStore(connection.lake);
  try {
    const snapshots = await withTimeout(readSnapshots(store, connection), timeoutMs);
    return [organizationFinding(connection, snapshots, fingerprint)];
  } finally {
    store.close();
  }
}

async function readSnapshots(store: ObjectStore, { resources }: ConnectionSettings): Promise<Snapshot[]> {
  const found: Snapshot[] = [];
  for (const { name } of resources) {
    const pointer = await readPointer(store, name);
    const manifest = pointer === null ? null : await readManifest(store, pointer.snapshot);
    if (manifest !== null) found.push({ name, organization: manifest.organization ?? null });
  }
  return found;
}

/** @param fingerprint of the configured key */
export function organizationFinding(
  { resources }: Pick<ConnectionSettings, 'resources'>,
  snapshots: readonly Snapshot[],
  fingerprint: string,
): Finding {
  const key = `the API key (fingerprint ${fingerprint})`;
  const names = (are: (keys: readonly string[] | null) => boolean): string =>
    snapshots
      .filter(({ organization }) => are(organization?.keys ?? null))
      .map(({ name }) => name)
      .join(', ');
  const same = names((keys) => keys?.includes(fingerprint) === true);
  const other = names((keys) => keys?.includes(fingerprint) === false);
  const unknown = names((keys) => keys === null);
  const basis = resources.some((resource) => resource.fetchById && keyIsId(resource))
    ? 'known projects are requested by id, too'
    : 'no projects are known that could be requested by id';
  if (other !== '')
    return warning(
      'organization',
      `${key} is not one of those that have read ${other}; the next run compares listed records with those of the lake; ${basis}`,
      'Check that it is a key of the same organization. If it is and a run refuses it, continue with ' +
        '`worktrack export --adopt-organization`.',
    );
  const parts = [
    same === '' ? null : `${key} is one of those that have read ${same}`,
    unknown === ''
      ? null
      : `an earlier version has published ${unknown} without its key, so it is not compared`,
    snapshots.length === 0 ? `nothing is published that ${key} could be compared with` : null,
  ].filter((part) => part !== null);
  return ok('organization', [...parts, basis].join('; '));
}
