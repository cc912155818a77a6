import type { Environment } from './cache.js';
import { goCommand } from './go-install.js';
import type { ServerSpec } from './kinds.js';
import { releaseArchive } from './releases.js';

/** What the user can do if all attempts failed. */
export function remedies(spec: ServerSpec, env: Environment): string[] {
  const archive = releaseArchive(spec);
  const go = goCommand(spec);
  return [
    ...(archive === null
      ? []
      : [
          `download and unpack ${archive.url}, and set ${spec.variable} to the path of its \`${spec.command}\``,
        ]),
    ...(go === null
      ? [
          'install Java 11 or newer and Maven 3.6 or newer, allow access to repo.maven.apache.org (or a mirror in settings.xml), and run this again',
        ]
      : [
          `install Go ${go.needsGo} or newer (https://go.dev/dl), allow access to proxy.golang.org (or a GOPROXY), and run this again`,
        ]),
    ...(env.WORKTRACK_OFFLINE === '1' ? ['unset WORKTRACK_OFFLINE to allow the download'] : []),
    `set ${spec.variable} to the path of an existing executable`,
  ];
}
