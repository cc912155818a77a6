import { setTimeout as delay } from 'node:timers/promises';

/** Calls `look` repeatedly until stopped. @returns the distinct texts that it found */
export function watch(look: () => Promise<Iterable<string>>): { stop(): Promise<string[]> } {
  const seen = new Set<string>();
  let isStopped = false;
  const watching = (async () => {
    while (!isStopped) {
      for (const text of await look()) seen.add(text);
      await delay(50);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await watching;
      return [...seen];
    },
  };
}
