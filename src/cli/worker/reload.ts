import { closeSync, openSync, unwatchFile, watchFile } from 'node:fs';
import { resolve } from 'node:path';
import type { Logger } from '@temporalio/worker';
import { errorMessage, WorktrackError } from '../../core/errors.js';
import type { Settings } from '../../core/settings.js';
import { runnableHere } from '../shared/runnable.js';
import { configChanges } from '../shared/worker-config.js';

interface ReloadOptions {
  /** The configuration in use. */
  readonly settings: Settings;
  /** Reads the file again. @throws ConfigurationError */
  readonly read: () => Settings;
  /** Uses another configuration from the next run on. */
  readonly apply: (settings: Settings) => void;
  /** Called on SIGHUP, after the file has been read. */
  readonly onHangUp?: (() => void) | undefined;
  readonly watch: boolean;
  readonly logger: Pick<Logger, 'info' | 'error'>;
}

const WATCH_EVERY_MS = 2_000;

/**
 * Loads the configuration again on SIGHUP and, if wanted, whenever the file changes. An invalid file is rejected, and the
 * configuration in use stays active.
 */
export function reloadOnChange(options: ReloadOptions): { close(): void } {
  const { read, apply, watch, logger } = options;
  let active = options.settings;
  const hadTerminal = hasTerminal();
  const reload = (why: string): void => {
    let next: Settings;
    try {
      next = read();
    } catch (error) {
      // Several problems have a line each; then the remedy has one, too.
      const reason =
        error instanceof WorktrackError
          ? error.describe(error.message.includes('\n') ? '\n' : ' ')
          : errorMessage(error);
      logger.error(`configuration rejected (${why}); the one in use stays active: ${runnableHere(reason)}`);
      return;
    }
    const changes = configChanges(active, next);
    active = next;
    if (changes.length === 0) {
      logger.info(`configuration read again (${why}): nothing that a worker uses has changed`);
      return;
    }
    apply(next);
    logger.info(`configuration loaded (${why}); runs in progress keep the earlier one`, {
      file: resolve(next.source),
      changes: changes.join(' | '),
    });
  };
  const onHangUp = (): void => {
    // A terminal that was closed sends SIGHUP, too. A worker that was started in it must not outlive it.
    if (hadTerminal && !hasTerminal()) process.kill(process.pid, 'SIGTERM');
    else {
      reload('SIGHUP');
      options.onHangUp?.();
    }
  };
  const file = resolve(active.source);
  const onChange = (): void => reload('the file has changed');
  process.on('SIGHUP', onHangUp);
  // Polls, because a Kubernetes ConfigMap and many editors replace the file instead of writing to it.
  if (watch) watchFile(file, { interval: WATCH_EVERY_MS, persistent: false }, onChange);
  return {
    close() {
      process.off('SIGHUP', onHangUp);
      if (watch) unwatchFile(file, onChange);
    },
  };
}

/** Whether the process has a controlling terminal. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
