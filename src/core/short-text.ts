import type { EpochMs, Millis } from './brands.js';

/** Numbers, times and texts in few characters, the same on the command line, in the report and in alerts. */

/** `1,234,567`. Without `toLocaleString`, whose first call in a process takes 20 ms to load the locale. */
export function count(value: number): string {
  const digits = String(Math.abs(Math.round(value)));
  const groups: string[] = [];
  for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end));
  return (value < 0 ? '-' : '') + groups.join(',');
}

/** An age in one unit: `12 s`, `3 min`, `5 h`, `2 d`. */
export function age(ms: Millis): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** `2026-11-21 02:00`, in UTC. */
export function minute(ms: EpochMs): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
}

/** `2026-11-21 02:00 UTC`. */
export function time(ms: EpochMs): string {
  return `${minute(ms)} UTC`;
}

/** At most `width` characters of a line, with the spaces that align columns. */
export function cut(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/** A text from outside, for a message: quoted, and its first 40 characters. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}

/** A word of a command line, quoted if the shell would change it. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
