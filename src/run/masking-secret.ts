import { ConfigurationError } from '../core/errors.js';
import { resolveSecret } from '../core/secrets.js';
import type { ConnectionSettings, ResourceSettings } from '../core/settings.js';
import { MaskingKey } from '../lake/rows/masking-key.js';
import {
  hashesColumns,
  hasMaskedKey,
  type Profile,
  type ReadyProfile,
  readyProfile,
  unmaskedKeys,
} from '../lake/rows/profile.js';

type Masking = Pick<ConnectionSettings, 'name' | 'masking'>;

/**
 * The secret that cells are masked with, read now; `null` where none is configured.
 *
 * @throws ConfigurationError when it cannot be read
 */
async function readMaskingKey({ name, masking }: Masking): Promise<MaskingKey | null> {
  if (masking === null) return null;
  const path = `connections.${name}.masking.secret`;
  try {
    return new MaskingKey((await resolveSecret(masking.secret, { path })).value, path);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError(`The masking secret of ${name} (${path}) cannot be used: ${error.message}`, {
      path,
      remedy: error.remedy,
      cause: error,
    });
  }
}

/** The settings of a resource with the fingerprint of the secret that its cells are masked with, if they are. */
export async function withMaskingFingerprint(
  connection: Masking,
  resource: ResourceSettings,
): Promise<ResourceSettings> {
  if (connection.masking === null || !hashesColumns(resource)) return resource;
  const { fingerprint } = (await readMaskingKey(connection))!;
  return { ...resource, columns: { ...resource.columns, maskedWith: fingerprint } };
}

/**
 * A profile with the secret that it masks cells with. It is for use in memory: the secret is in no document of a run.
 *
 * @throws ConfigurationError when the secret is missing, or is another one than the profile was fixed with
 */
export async function withMaskingKey<P extends Profile>(
  connection: Masking,
  profile: P,
): Promise<ReadyProfile<P>> {
  const { maskedWith } = profile.columns;
  if (maskedWith === undefined) return readyProfile(profile, null);
  const maskingKey = await readMaskingKey(connection);
  if (maskingKey?.fingerprint === maskedWith) return readyProfile(profile, maskingKey);
  const path = `connections.${connection.name}.masking.secret`;
  throw new ConfigurationError(
    `The masking secret (${path}) is not the one that these rows are masked with (fingerprint ${maskedWith}).`,
    {
      path,
      remedy:
        'All workers need the same secret. If it has changed on purpose, start the run again; a key that is masked needs its earlier secret.',
    },
  );
}

/** A profile for keys alone. Only a key that is masked needs the secret. @throws as `withMaskingKey` */
export function withKeySecret(connection: Masking, profile: Profile): Promise<ReadyProfile> | ReadyProfile {
  return hasMaskedKey(profile) ? withMaskingKey(connection, profile) : unmaskedKeys(profile);
}
