import type { Environment } from '../../core/home-folder.js';

/** The input of an installer, which puts the executable into `target` under the name in the server's spec. */
export interface InstallContext {
  readonly env: Environment;
  /** The cache folder. Tools without a usable home store their files in it. */
  readonly root: string;
  /** An empty folder. It is renamed to the versioned folder later, so its files must not contain its path. */
  readonly target: string;
  readonly signal: AbortSignal;
  /** Shows the current step, with the elapsed time. */
  report(step: string): void;
}

/** One method of installation. */
export interface Installer {
  /** Its name in messages, such as `go install`. */
  readonly source: string;
  run(spec: ServerSpec, context: InstallContext): Promise<void>;
}

/** An installer that needs tools of this machine. */
export interface BuildInstaller extends Installer {
  /** What the user can do so that it succeeds. */
  readonly remedy: string;
}

/** The servers of the demo and of `export --local`. */
export type ServerKind = 'temporal' | 'versitygw';

/** How to find, install and probe a server. */
export interface ServerSpec {
  /** Name in progress lines and errors. */
  readonly title: string;
  /** The tested version. */
  readonly version: string;
  /** The environment variable with the path of an executable to use. */
  readonly variable: string;
  /** File name of the executable on PATH and in the cache. */
  readonly command: string;
  /** Arguments that make the executable print something and exit; null if there are none. */
  readonly probeArgs: readonly string[] | null;
  readonly release: Release;
  /** Installs the server if its release cannot be downloaded. */
  readonly installer: BuildInstaller;
}

interface Release {
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
