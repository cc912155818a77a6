import type { Environment } from './cache.js';
import { goCommand } from './go-install.js';
import type { ServerSpec } from './kinds.js';
import { releaseArchive } from './releases.js';

/** What a person can do when nothing worked: sentences that can be followed as they stand. */
export function remedies(spec: ServerSpec, env: Environment): string[] {
  const archive = releaseArchive(spec);
  const go = goCommand(spec);
  return [
    ...(archive === null
      ? []
      : [
          `download ${archive.url}, unpack it and set ${spec.variable} to the path of \`${spec.command}\` in it`,
        ]),
    ...(go === null
      ? [
          'install Java 11 or newer and Maven 3.6 or newer, have repo.maven.apache.org (or a mirror in settings.xml) in reach, and run this again',
        ]
      : [
          `install Go ${go.needsGo} or newer (https://go.dev/dl), have proxy.golang.org (or a GOPROXY) in reach, and run this again`,
        ]),
    ...(env.WORKTRACK_OFFLINE === '1' ? ['unset WORKTRACK_OFFLINE to allow the download'] : []),
    `or set ${spec.variable} to an executable that you have`,
  ];
}
