import type { Environment } from './cache.js';
import type { ServerSpec } from './kinds.js';

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
