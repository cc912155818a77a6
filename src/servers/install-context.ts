import type { Environment } from './cache.js';

/** What an installer is given. It puts the executable, named as in the server's spec, into `target`. */
export interface InstallContext {
  readonly env: Environment;
  /** Our cache; tools without a usable home keep their own files under it. */
  readonly root: string;
  /** An empty folder that becomes the versioned folder by a rename: nothing in it may name its own path. */
  readonly target: string;
  readonly signal: AbortSignal;
  /** Says what is being done now; the elapsed time is added to it. */
  say(what: string): void;
}
