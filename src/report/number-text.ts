import type { EpochMs, Millis } from '../core/brands.js';
import { count } from '../core/short-text.js';

/** `1.2M` for a number that is too long otherwise. */
export function short(value: number): string {
  if (value < 100_000) return count(value);
  return Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 4 }).format(value);
}

/** Cached, because creating one takes a millisecond. */
let dayFormat: Intl.DateTimeFormat | null = null;

/** `21 Nov`. */
export function day(ms: EpochMs): string {
  dayFormat ??= new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
  return dayFormat.format(ms);
}

/** `0.8 s`, `12 s`, `3 min 5 s`, `2 h 10 min`. */
export function length(ms: Millis): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
