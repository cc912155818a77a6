import { stat } from 'node:fs';

const EVERY_MS = 1_000;
let isKeptAwake = false;

/**
 * Gives Node's thread pool a small task each second. The pool reads files, compresses and looks up names. With glibc before 2.41, a
 * thread of the pool may not be woken for a task, which then waits until the next task comes
 * (https://sourceware.org/bugzilla/show_bug.cgi?id=25847). Idempotent; keeps no process alive.
 */
export function keepThreadPoolAwake(): void {
  if (isKeptAwake || process.platform !== 'linux') return;
  isKeptAwake = true;
  setInterval(() => stat('/', () => {}), EVERY_MS).unref();
}
