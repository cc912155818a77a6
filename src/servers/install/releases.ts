import type { ServerSpec } from './kinds.js';

/** The archive of a release and its checksum. */
export interface ReleaseArchive {
  readonly url: string;
  /** File name of the archive in the list of checksums. */
  readonly file: string;
  /** The URL of the release's list of checksums, or the digest itself if the release has no list. */
  readonly checksum: { readonly listUrl: string } | { readonly sha256: string };
}

/** The official releases of a server. */
export interface Release {
  /** On GitHub. */
  readonly repository: string;
  /** The archive's file name. Each project has its own names for platforms. */
  readonly file: (version: string, machine: Machine) => string;
  /** SHA-256 by file name, for releases without a list of checksums. */
  readonly digests?: Readonly<Record<string, string>>;
}

interface Machine {
  readonly platform: 'linux' | 'darwin';
  readonly cpu: 'amd64' | 'arm64';
}

/** The official archive for a machine, or null if there is none. */
export function releaseArchive(
  { release, version }: ServerSpec,
  { platform, arch }: { readonly platform: string; readonly arch: string } = process,
): ReleaseArchive | null {
  if (!(platform === 'linux' || platform === 'darwin') || !(arch === 'x64' || arch === 'arm64')) return null;
  const folder = `https://github.com/${release.repository}/releases/download/v${version}`;
  const file = release.file(version, { platform, cpu: arch === 'x64' ? 'amd64' : 'arm64' });
  const url = `${folder}/${file}`;
  if (release.digests === undefined) return { url, file, checksum: { listUrl: `${folder}/checksums.txt` } };
  const sha256 = release.digests[file];
  return sha256 === undefined ? null : { url, file, checksum: { sha256 } };
}

/** The digest of a file in a list in the format of `sha256sum`, in lower case; null if the file is not listed. */
export function digestFromList(list: string, file: string): string | null {
  for (const line of list.split('\n')) {
    const match = /^([0-9a-fA-F]{64})\s+\*?(.+?)\s*$/.exec(line);
    if (match?.[2] === file) return (match[1] as string).toLowerCase();
  }
  return null;
}
