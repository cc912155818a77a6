import { quoted } from './short-text.js';

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

/** The units that `formatBytes` writes, largest first. */
const EXACT = ['TiB', 'GiB', 'MiB', 'KiB'] as const;

/**
 * Parses `64MiB` (powers of 1024), `8MB` (powers of 1000), `1.5GiB` or `512B` to whole bytes. One space is allowed before
 * the unit.
 *
 * @throws RangeError whose message names the text and the allowed form.
 */
export function parseBytes(text: string): number {
  const match = /^(\d+(?:\.\d+)?) ?([KMGT]iB|[kKMGT]?B)$/.exec(text);
  const unit = match?.[2] === undefined ? undefined : UNITS[match[2]];
  if (!match || unit === undefined) {
    throw new RangeError(
      `${quoted(text)} is not a size; allowed: a number with a unit, such as 64MiB, 8MB or 512B`,
    );
  }
  const bytes = Number(match[1]) * unit;
  if (!Number.isSafeInteger(bytes)) {
    throw new RangeError(`the size ${quoted(text)} is not a whole number of bytes below 2^53`);
  }
  return bytes;
}

/** The exact text of a number of bytes in the largest binary unit that divides it (`64MiB`, `1000B`). */
export function formatBytes(bytes: number): string {
  for (const unit of EXACT) {
    const size = UNITS[unit] as number;
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return `${bytes}B`;
}
