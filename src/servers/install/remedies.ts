import type { Environment } from './cache.js';
import type { ServerSpec } from './kinds.js';
import { releaseArchive } from './releases.js';

/** What the user can do if all attempts failed. */
export function remedies(spec: ServerSpec, env: Environment): string[] {
  const archive = releaseArchive(spec);
  return [
    ...(archive === null
      ? []
      : [
          `download and unpack ${archive.url}, and set ${spec.variable} to the path of its \`${spec.command}\``,
        ]),
    spec.installer.remedy,
    ...(env.WORKTRACK_OFFLINE === '1' ? ['unset WORKTRACK_OFFLINE to allow the download'] : []),
    `set ${spec.variable} to the path of an existing executable`,
  ];
}
