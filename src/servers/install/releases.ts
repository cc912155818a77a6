import type { ServerKind, ServerSpec } from './kinds.js';
import { serverSpec } from './kinds.js';

/** The archive of a release and its checksum. */
export interface ReleaseArchive {
  readonly url: string;
  /** File name of the archive in the list of checksums. */
  readonly file: string;
  /** The URL of the release's list of checksums, or the digest itself if the release has no list. */
  readonly checksum: { readonly listUrl: string } | { readonly sha256: string };
}

/**
 * Digests of the test server's archives, whose releases have no list of checksums. They are from a public Nix package
 * for the same version. After a mismatch, Maven is tried.
 */
const testServerDigests: Readonly<Record<string, string>> = {
  linux_amd64: '987f375a8d4290a8378a998dccfaba6b31b3b99ad3757af283c6955a6afd829f',
  linux_arm64: 'd8d56ef74e450f9cdbbfe6570e34b8167651dfdff3590d592619dab446055b17',
  macOS_amd64: '26601c8b27c9834cb3ffd17bd63bf90126b38dcf308dbccdfb2667fb92aacaf8',
  macOS_arm64: '85edd53045910bec350dd0d9afbffc56797fa33810a5a07763f3a14a8e9300a3',
};

interface Machine {
  readonly platform: string;
  readonly arch: string;
}

/** Each project has its own names for platforms. */
function archiveOf(
  kind: ServerKind,
  machine: Machine,
): { repository: string; file: (version: string) => string } {
  const linux = machine.platform === 'linux';
  const cpu = machine.arch === 'x64' ? 'amd64' : machine.arch;
  switch (kind) {
    case 'temporal':
      return {
        repository: 'temporalio/cli',
        file: (version) => `temporal_cli_${version}_${machine.platform}_${cpu}.tar.gz`,
      };
    case 'test-server':
      return {
        repository: 'temporalio/sdk-java',
        file: (version) => `temporal-test-server_${version}_${linux ? 'linux' : 'macOS'}_${cpu}.tar.gz`,
      };
    case 'versitygw':
      return {
        repository: 'versity/versitygw',
        file: (version) =>
          `versitygw_v${version}_${linux ? 'Linux' : 'Darwin'}_${cpu === 'amd64' ? 'x86_64' : cpu}.tar.gz`,
      };
  }
}

/** The official archive for a machine, or null if there is none. */
export function releaseArchive(
  spec: ServerSpec,
  machine: Machine = { platform: process.platform, arch: process.arch },
): ReleaseArchive | null {
  if (!['linux', 'darwin'].includes(machine.platform) || !['x64', 'arm64'].includes(machine.arch))
    return null;
  const { repository, file: fileOf } = archiveOf(spec.kind, machine);
  const folder = `https://github.com/${repository}/releases/download/v${spec.version}`;
  const file = fileOf(spec.version);
  const url = `${folder}/${file}`;
  if (spec.kind !== 'test-server') return { url, file, checksum: { listUrl: `${folder}/checksums.txt` } };
  const sha256 =
    testServerDigests[file.slice(`temporal-test-server_${spec.version}_`.length, -'.tar.gz'.length)];
  return sha256 === undefined || spec.version !== serverSpec('test-server').version
    ? null
    : { url, file, checksum: { sha256 } };
}

/** The digest of a file in a list in the format of `sha256sum`, in lower case; null if the file is not listed. */
export function digestFromList(list: string, file: string): string | null {
  for (const line of list.split('\n')) {
    const match = /^([0-9a-fA-F]{64})\s+\*?(.+?)\s*$/.exec(line);
    if (match?.[2] === file) return (match[1] as string).toLowerCase();
  }
  return null;
}
