import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { withFileLock } from '../../core/file-lock.js';

interface LockOptions {
  readonly signal: AbortSignal;
  /** Called once with the process id of the holder if the lock is taken. */
  readonly onWait?: (pid: number) => void;
  /** Default: half a second. */
  readonly retryEveryMs?: number;
}

const defaultRetryEveryMs = 500;

/** Runs `work` while holding the lock file, and waits for the lock until `signal` aborts. */
export async function withLock<T>(lock: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const { signal, onWait, retryEveryMs = defaultRetryEveryMs } = options;
  let waited = false;
  return withFileLock(
    lock,
    {
      draft: () => `${lock}.${randomUUID()}`,
      async onBusy(holder) {
        if (!waited && holder !== null) onWait?.(holder.pid);
        waited ||= holder !== null;
        await delay(retryEveryMs, undefined, { signal });
      },
    },
    work,
  );
}
