const UNITS: readonly (readonly [unit: string, ms: number])[] = [
  ['w', 604_800_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];

/** `s` for seconds is left to `ms` by trying the longer unit first. */
const STEP = /(\d+)(ms|w|d|h|m|s)/y;

/**
 * Reads `90d`, `6h`, `5m`, `30s`, `500ms`, `2w` or a chain of them from the largest unit to the smallest, `1h30m`;
 * answers whole milliseconds. A day is 24 hours.
 *
 * @throws RangeError whose message says what was found and what is allowed.
 */
export function parseDuration(text: string): number {
  let total = 0;
  let last = -1;
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const step = STEP.exec(text);
    const rank = step ? UNITS.findIndex(([unit]) => unit === step[2]) : -1;
    const unit = UNITS[rank];
    // A unit that comes twice or out of order (`5m1h`) is a slip of the pen more often than a wish.
    if (!step || !unit || rank <= last) throw notADuration(text);
    last = rank;
    total += Number(step[1]) * unit[1];
  }
  if (last === -1) throw notADuration(text);
  if (!Number.isSafeInteger(total)) throw new RangeError(`the duration ${shown(text)} is too long`);
  return total;
}

/**
 * The shortest exact text of a span in milliseconds, in days and smaller (`90d`, `1h30m`, `0s`); fractions of a
 * millisecond are rounded. `parseDuration` reads back every span that is not negative.
 *
 * @throws RangeError when the span is not finite.
 */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) throw new RangeError(`${ms} is not a span of time`);
  let rest = Math.round(Math.abs(ms));
  if (rest === 0) return '0s';
  let text = ms < 0 ? '-' : '';
  for (const [unit, size] of UNITS) {
    // Weeks are read but not written: a window is known as 90d, not as 12w6d.
    if (unit === 'w' || rest < size) continue;
    text += `${Math.floor(rest / size)}${unit}`;
    rest %= size;
  }
  return text;
}

function notADuration(text: string): RangeError {
  return new RangeError(
    `${shown(text)} is not a duration; allowed: whole numbers with units, such as 90d, 6h, 5m, 30s, 500ms, 2w or 1h30m`,
  );
}

function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
