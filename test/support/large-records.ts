import { DAY_MS } from '../../src/core/duration.js';
import type { Simulator } from '../../src/simulator/index.js';
import { seededRandom } from './random.js';

const LARGE_BYTES = 400_000;
/** Characters. */
const BLOCK = 8;

/** Gives a resource records of 400 kB each: with few of them, a part takes more than one upload. */
export function createLarge(
  { admin }: Simulator,
  resource: string,
  count: number,
  fields: Readonly<Record<string, string>> = {},
): void {
  const random = seededRandom(7);
  const block = (): string =>
    random
      .share()
      .toString(36)
      .slice(2, 2 + BLOCK);
  const blocks = Array.from({ length: LARGE_BYTES / BLOCK }, block);
  const text = blocks.join('');
  for (let n = 0; n < count; n++) {
    // Another text at each place.
    const note = text.slice(n * BLOCK) + text.slice(0, n * BLOCK);
    admin.create(resource, { name: `large ${n}`, note, ...fields });
  }
}

/** Time entries that no increment reads. They fill two parts of 9 MiB, and the first is uploaded in parts. */
export function createLargeEntries(simulator: Simulator): void {
  const ago = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString();
  createLarge(simulator, 'time-entries', 28, { startedAt: ago(1), createdAt: ago(30), updatedAt: ago(30) });
}
